/**
 * Who may ask. Three strangers are kept out: a page of another site in the operator's browser (`Origin`, `Sec-Fetch-Site`), a
 * name that was pointed at this machine so that such a page counts as ours (`Host`), and everybody who has no proof of being the
 * operator. That includes programs on this machine: an agent may be one of them, and it can send any header.
 */
import { isIP } from 'node:net';

/** What was shown: the token, as a header; or the cookie, which only a login gives. */
export type Proof = 'token' | 'cookie' | null;

/** What is known of a request before it is looked at any further. */
export interface Asking {
  method: string;
  /** A page is what a link of anybody's may open; `mcp` is for programs. */
  what: 'login' | 'page' | 'call' | 'mcp';
  host: string | null;
  origin: string | null;
  /** The browser's own word on where a request comes from; null of programs. */
  fetchSite: string | null;
  proof: Proof;
}

interface Refusal {
  status: 401 | 403 | 421;
  code: string;
  message: string;
  hint: string | null;
}

/** Null when it may go on. `hosts`: names under which the server is reached, beside addresses and `localhost`. */
export function refusalOf(asking: Asking, hosts: readonly string[]): Refusal | null {
  if (!isOurName(asking.host, hosts))
    return {
      status: 421,
      code: 'unknown_host',
      message: `This server does not answer as ${asking.host ?? 'nobody'}.`,
      hint: 'Add the name to `server.hosts`.',
    };
  if (isForeignPage(asking))
    return {
      status: 403,
      code: 'foreign_origin',
      message: 'This server takes no requests from pages of other sites.',
      hint: null,
    };
  if (asking.what === 'login' || asking.proof === 'token') return null;
  if (asking.what === 'mcp')
    return { ...TOKEN_NEEDED, hint: 'Send `Authorization: Bearer` with the token of `server.token`.' };
  return asking.proof === null ? TOKEN_NEEDED : null;
}

const TOKEN_NEEDED: Refusal = {
  status: 401,
  code: 'token_needed',
  message: 'You are not logged in.',
  hint: 'Open the link that was printed at the start, or send `Authorization: Bearer` with the token of `server.token`.',
};

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
function isForeignPage({ method, what, host, origin, fetchSite }: Asking): boolean {
  if (origin !== null && originHost(origin) !== host) return true;
  if ((what === 'page' || what === 'login') && isReading(method)) return false;
  return fetchSite !== null && !['same-origin', 'none'].includes(fetchSite);
}

function originHost(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
