/**
 * Who may ask. Three strangers are kept out: a page of another site in the operator's browser (`Origin`, `Sec-Fetch-Site`), a
 * name that was pointed at this machine so that such a page counts as ours (`Host`), and everybody else on the network,
 * where the server listens to it (the token).
 */
import { timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';

/** What is known of a request before it is looked at any further. */
export interface Asking {
  method: string;
  /** It is a page that is asked for, which a link of anybody's may open. */
  page: boolean;
  host: string | null;
  origin: string | null;
  /** The browser's own word on where a request comes from; null of programs. */
  fetchSite: string | null;
  /** What the request brought along, as a header or as a cookie. */
  tokens: readonly string[];
}

export interface Door {
  /** Names under which the server is reached, beside addresses and `localhost`. */
  hosts: readonly string[];
  token: string | null;
  /** Only this machine reaches it. */
  loopback: boolean;
}

interface Refusal {
  status: 401 | 403 | 421;
  code: string;
  message: string;
}

/** Null when it may go on. */
export function refusalOf(asking: Asking, door: Door): Refusal | null {
  if (!isOurName(asking.host, door.hosts))
    return {
      status: 421,
      code: 'unknown_host',
      message: `This server does not answer as ${asking.host ?? 'nobody'}. Add the name to \`server.hosts\`.`,
    };
  if (isForeignPage(asking))
    return { status: 403, code: 'foreign_origin', message: 'Pages of other sites may not ask this server.' };
  const known = asking.tokens.some((given) => isSame(given, door.token));
  if (known) return null;
  if (!door.loopback) return { status: 401, code: 'token_needed', message: 'A token is needed here.' };
  if (isReading(asking.method) || isOwnPage(asking)) return null;
  return {
    status: 401,
    code: 'token_needed',
    message: 'Changes are made from the dashboard, or with the token of `server.token`.',
  };
}

const isReading = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** An address can't be pointed elsewhere, a name can. */
function isOurName(host: string | null, hosts: readonly string[]): boolean {
  const name = nameIn(host);
  return name !== null && (isIP(name) !== 0 || name === 'localhost' || hosts.includes(name));
}

function nameIn(host: string | null): string | null {
  if (host === null) return null;
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(host)?.[1] ?? /^([^:]+)(?::\d+)?$/.exec(host)?.[1];
  return bare?.toLowerCase() ?? null;
}

/** Asking costs something, too: an image of a stranger's page must not start a look at the whole machine. */
function isForeignPage({ method, page, host, origin, fetchSite }: Asking): boolean {
  if (origin !== null && originHost(origin) !== host) return true;
  if (page && isReading(method)) return false;
  return fetchSite !== null && !['same-origin', 'none'].includes(fetchSite);
}

const isOwnPage = ({ host, origin }: Asking): boolean => origin !== null && originHost(origin) === host;

function originHost(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

/** In the same time, however much of it is right. */
export function isSame(given: string, token: string | null): boolean {
  if (token === null) return false;
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}
