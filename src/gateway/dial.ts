/**
 * A connection to somewhere: directly, or through the proxy that the operator's own environment asks for.
 *
 * A name that somebody has resolved is not resolved again, because its second answer may lead elsewhere. A proxy gets the
 * name all the same: it has a network and a DNS of its own.
 */
import { request } from 'node:http';
import { BlockList, connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { authorityOf, type Destination } from '../core/access/network.ts';

/**
 * `addresses`: where the host's name leads; none: nobody here knows, so only a proxy is asked. Without them the name is
 * resolved here. Rejects in words for a person. The connection is the caller's, who has to listen for its errors.
 */
export type Dial = (to: Destination & { addresses?: readonly string[] }) => Promise<Socket>;

type Environment = Readonly<Record<string, string | undefined>>;

export function dialer(operator: Environment, timeoutMs = 30_000): Dial {
  return async (to) => {
    try {
      const proxy = proxyFor(operator, to);
      return await (proxy ? throughProxy(proxy, to, timeoutMs) : directly(to, timeoutMs));
    } catch (error) {
      throw new Error(`could not connect to ${authorityOf(to)}: ${wordOf(error as Error)}`, { cause: error });
    }
  };
}

/** Of several addresses that failed, only the code says something. */
const wordOf = (error: NodeJS.ErrnoException): string => error.code ?? error.message;

/** Long enough for a slow host: the attempt is given up, not only overtaken, when the next address is tried. */
const ATTEMPT_MS = 5_000;

function directly({ host, port, addresses }: Parameters<Dial>[0], timeoutMs: number): Promise<Socket> {
  if (addresses?.length === 0) throw new Error('its name could not be resolved');
  const lookup: LookupFunction = (_host, _options, done) =>
    done(
      null,
      addresses!.map((address) => ({ address, family: isIP(address) })),
    );
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      allowHalfOpen: true,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
      ...(addresses && { lookup }),
    });
    const timer = setTimeout(() => socket.destroy(tooSlow(timeoutMs)), timeoutMs);
    // Its error is listened for until the caller does.
    socket.once('error', reject).once('close', () => clearTimeout(timer));
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}

const tooSlow = (timeoutMs: number): Error => new Error(`no answer within ${timeoutMs / 1000} s`);

function throughProxy(proxy: URL, to: Destination, timeoutMs: number): Promise<Socket> {
  const authority = authorityOf(to);
  return new Promise((resolve, reject) => {
    const asked = request({
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...credentialsIn(proxy) },
      createConnection: () =>
        connect({ host: hostIn(proxy), port: Number(proxy.port || 80), allowHalfOpen: true }),
    });
    const timer = setTimeout(() => asked.destroy(tooSlow(timeoutMs)), timeoutMs);
    asked.once('close', () => clearTimeout(timer));
    asked.once('error', (error) => reject(new Error(`the proxy ${proxy.host}: ${wordOf(error)}`)));
    asked.once('connect', ({ statusCode = 0 }, socket: Socket, head: Buffer) => {
      clearTimeout(timer);
      socket.once('error', reject);
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy();
        reject(new Error(`the proxy ${proxy.host} answered ${statusCode}`));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    asked.end();
  });
}

function credentialsIn({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const both = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(both).toString('base64')}` };
}

const hostIn = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1');

/** As most programs read these variables: small letters first, empty is unset, and nobody else's loopback is ours. */
function proxyFor(operator: Environment, to: Destination): URL | null {
  const said = (name: string): string => operator[name.toLowerCase()] || operator[name] || '';
  const proxy = said(to.port === 80 ? 'HTTP_PROXY' : 'HTTPS_PROXY') || said('ALL_PROXY');
  if (proxy === '' || isLoopback(to.host) || isExcluded(said('NO_PROXY'), to)) return null;
  const text = proxy.includes('://') ? proxy : `http://${proxy}`;
  // Without its text, which may have a password.
  if (!URL.canParse(text)) throw new Error('the proxy of your environment is no URL');
  const url = new URL(text);
  if (url.protocol !== 'http:')
    throw new Error(`the proxy of your environment is of the kind ${url.protocol}//, and only http:// works`);
  return url;
}

const isLoopback = (host: string): boolean => /^(127\.\d+\.\d+\.\d+|::1|(.*\.)?localhost)$/.test(host);

/** `example.org` and what is below it, with or without a dot or `*.` before it; a port; an address, a range; `*`. */
function isExcluded(noProxy: string, { host, port }: Destination): boolean {
  const entries = noProxy.toLowerCase().split(/[\s,]+/);
  return entries.some((entry) => {
    const [, base = '', bits] = /^(.+)\/(\d+)$/.exec(entry) ?? [];
    if (bits !== undefined) return isInRange(host, base, Number(bits));
    const [, bare = entry, only] = isIP(entry) ? [] : (/^\[?(.*?)\]?(?::(\d+))?$/.exec(entry) ?? []);
    if (only !== undefined && Number(only) !== port) return false;
    const name = bare.replace(/^\*?\./, '');
    return name === '*' || host === name || host.endsWith(`.${name}`);
  });
}

function isInRange(host: string, base: string, bits: number): boolean {
  if (isIP(base) === 0 || isIP(base) !== isIP(host)) return false;
  const family = isIP(base) === 6 ? 'ipv6' : 'ipv4';
  const range = new BlockList();
  range.addSubnet(base, bits, family);
  return range.check(host, family);
}
