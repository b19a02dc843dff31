/**
 * The way out of a confined command: every request is granted by name, and one that is not granted never leaves.
 *
 * A name that may only lead to public addresses is resolved once, and exactly what it led to is dialled. Behind a proxy of
 * the operator's own the last word is the proxy's: it resolves the name itself.
 *
 * What passes is counted and not looked at, but for what goes to the host of a secret (secured.ts): a report never has
 * anything of a header or a body.
 */
import { lookup } from 'node:dns/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import {
  authorityOf,
  type Destination,
  destinationOf,
  grantOf,
  isPublicAddress,
  type Network,
} from '../core/access/network.ts';
import type { Dial } from './dial.ts';
import type { NetworkRequest } from './gateway.ts';
import { relay } from './relay.ts';
import type { SecretHost } from './secured.ts';
import { tunnel } from './tunnel.ts';

export interface EgressOptions {
  network: Exclude<Network, 'host'>;
  /** What the command is told to do about a refusal: "… is not in the network of this command: <advice>". */
  advice: string;
  dial: Dial;
  resolve(host: string): Promise<string[]>;
  /** Whether it is an address of this machine, or on a network that it is on. */
  isNear(address: string): boolean;
  /** Of a place that a secret is sent to, which is granted by that. */
  secretHost?(to: Destination): SecretHost | null;
  /** Called once, when it is over. Must not throw. */
  onRequest(request: NetworkRequest): void;
}

interface Egress {
  /** For a server's `connect` event. */
  connect(request: IncomingMessage, client: Duplex, head: Buffer): void;
  /** For a request with an absolute URL. */
  forward(request: IncomingMessage, response: ServerResponse): void;
}

export function egress(options: EgressOptions): Egress {
  return {
    connect(request, client, head) {
      void connected(options, request, client, head).then(options.onRequest);
    },
    forward(request, response) {
      void forwarded(options, request, response).then(options.onRequest);
    },
  };
}

export const systemResolve: EgressOptions['resolve'] = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/** What a firewall keeps from the internet may be open from here, under a public address too. */
export function systemIsNear(address: string, interfaces = networkInterfaces()): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  const near = new BlockList();
  for (const { cidr, family } of Object.values(interfaces).flatMap((one) => one ?? [])) {
    const [base = '', bits] = cidr?.split('/') ?? [];
    if (isIP(base) !== 0) near.addSubnet(base, Number(bits), family === 'IPv6' ? 'ipv6' : 'ipv4');
  }
  return near.check(address, family);
}

async function connected(
  options: EgressOptions,
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
): Promise<NetworkRequest> {
  // The server does not listen any more. What follows from an error is decided when its connection has closed.
  client.on('error', () => {});
  // At once: a client that has said everything may have ended before the host is there.
  if (head.length > 0) client.unshift(head);
  const asked = request.url ?? '';
  const to = destinationOf(asked);
  const held = (to && options.secretHost?.(to)) ?? null;
  const way = to ? await wayTo(to, options, held) : malformed('a host and a port, as in example.org:443');
  if (!('socket' in way)) {
    client.end(wholeAnswer(way), () => client.destroy());
    client.resume();
    return { ...(to ?? nobody(asked)), ...notGone(way) };
  }
  const bytes = [counted(way.socket)];
  const again = async (): Promise<Socket> => {
    const next = await wayTo(to!, options, held);
    if (!('socket' in next)) throw new Error(next.why);
    bytes.push(counted(next.socket));
    return next.socket;
  };
  if (held) await held.serve(client, way.socket, again);
  const why = held ? null : await tunnel(client, way.socket);
  return { ...to!, verdict: 'allowed', why, ...summed(bytes) };
}

async function forwarded(
  options: EgressOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<NetworkRequest> {
  const [, asked = '', path = ''] = /^http:\/\/([^/?#]*)([^#]*)/i.exec(request.url ?? '') ?? [];
  const to = destinationOf(asked, 80);
  const way = to ? await wayTo(to, options) : malformed('a URL, as in http://example.org/');
  if (!('socket' in way)) {
    response.writeHead(way.status, PHRASES[way.status], { 'content-type': PLAIN }).end(way.text);
    request.resume();
    return { ...(to ?? nobody(asked)), ...notGone(way) };
  }
  const bytes = counted(way.socket);
  const host = authorityOf(to!).replace(/:80$/, '');
  const ended = await relay(request, response, { socket: way.socket, host, path });
  return { ...to!, ...ended, ...bytes() };
}

/** No way, and what the command is told of it. */
interface Refusal {
  status: 400 | 403 | 502;
  why: string;
  text: string;
}

async function wayTo(
  to: Destination,
  options: EgressOptions,
  held: SecretHost | null = null,
): Promise<{ socket: Socket } | Refusal> {
  const { network, advice, dial, resolve, isNear } = options;
  const refused = (what: string): Refusal => {
    const why = `${authorityOf(to)} ${what}`;
    return { status: 403, why, text: `${why}: ${advice}\n` };
  };
  const grant = held ? 'named' : grantOf(network, to);
  if (grant === null) return refused('is not in the network of this command');
  try {
    if (held) return { socket: await held.secured(await dial(to)) };
    if (grant === 'named') return { socket: await dial(to) };
    const addresses = await resolve(to.host).catch(() => []);
    if (!addresses.every(isPublicAddress)) return refused('does not lead to a public address');
    if (addresses.some(isNear)) return refused('leads to this machine, or to a network that it is on');
    return { socket: await dial({ ...to, addresses }) };
  } catch (error) {
    const why = (error as Error).message;
    return { status: 502, why, text: `${why}\n` };
  }
}

const malformed = (wanted: string): Refusal => ({
  status: 400,
  why: 'not a destination',
  text: `This is not ${wanted}.\n`,
});

/** Many programs show only this of an answer to CONNECT, and "Forbidden" alone sounds like the host's own word. */
const PHRASES: Readonly<Record<Refusal['status'], string>> = {
  400: 'Bad Request',
  403: 'Forbidden by the network of this command',
  502: 'Bad Gateway',
};
const PLAIN = 'text/plain; charset=utf-8';

const wholeAnswer = ({ status, text }: Refusal): string =>
  [
    `HTTP/1.1 ${status} ${PHRASES[status]}`,
    `Content-Type: ${PLAIN}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
    '',
    text,
  ].join('\r\n');

const notGone = ({ status, why }: Refusal): Omit<NetworkRequest, keyof Destination> => ({
  verdict: status === 502 ? 'failed' : 'refused',
  why,
  sentBytes: 0,
  receivedBytes: 0,
});

const nobody = (asked: string): Destination => ({
  host: asked.replace(/\p{C}/gu, '').slice(0, 255),
  port: 0,
});

type Bytes = Pick<NetworkRequest, 'sentBytes' | 'receivedBytes'>;

const summed = (connections: readonly (() => Bytes)[]): Bytes =>
  connections.reduce(
    (sum, bytes) => ({
      sentBytes: sum.sentBytes + bytes().sentBytes,
      receivedBytes: sum.receivedBytes + bytes().receivedBytes,
    }),
    { sentBytes: 0, receivedBytes: 0 },
  );

/** From now on: a proxy of the operator's was spoken to before, and what it sent too early is not read yet. */
function counted(socket: Socket): () => Bytes {
  const sent = socket.bytesWritten;
  const received = socket.bytesRead - socket.readableLength;
  return () => ({ sentBytes: socket.bytesWritten - sent, receivedBytes: socket.bytesRead - received });
}
