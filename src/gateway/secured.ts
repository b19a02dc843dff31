/**
 * The way to a host of a secret: the door answers in its place, with a certificate of the command's own authority, and goes
 * on over a connection whose certificate it has checked itself. What is asked for there is the host's, whatever the
 * command says, so that the value can't be sent past it.
 */
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { type SecureContext, connect as secure } from 'node:tls';
import { authorityOf, type Destination } from '../core/access/network.ts';
import type { Exchange } from './exchange.ts';
import { DECODERS } from './reading.ts';
import { passedOn } from './relay.ts';

/** A host that a secret is sent to. */
export interface SecretHost {
  /** Checked by the name that was granted. Rejects in words for a person. */
  secured(socket: Socket): Promise<Socket>;
  /** Speaks for the host on a connection that asked for it, until that is over; `dial` makes another one to the host. */
  serve(client: Duplex, first: Socket, dial: () => Promise<Socket>): Promise<void>;
}

/** The certificate of a server, and its key. */
interface Shown {
  key: string;
  cert: string;
}

/** A program keeps its connection for as long as it likes. */
const IDLE_MS = 6 * 3_600_000;
const LARGEST_BODY = 4 * 1024 * 1024;

export function secretHost(
  to: Destination,
  { trust, shown, exchange }: { trust(): SecureContext; shown: Shown; exchange: Exchange },
): SecretHost {
  return {
    secured: (socket) => securedTo(to, socket, trust()),
    async serve(client, first, dial) {
      const onward = agentOf(first, dial);
      const server = createServer({ ...shown, ALPNProtocols: ['http/1.1'], keepAliveTimeout: IDLE_MS });
      server.on('request', (request, response) => {
        response.on('error', () => {});
        passOn(request, response, { onward, to, exchange }).catch(() => response.destroy());
      });
      server.on('tlsClientError', () => client.destroy());
      const closed = new Promise((resolve) => client.once('close', resolve));
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      server.emit('connection', client);
      await closed;
      onward.destroy();
      first.destroy();
    },
  };
}

function securedTo({ host }: Destination, socket: Socket, secureContext: SecureContext): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const made = secure({ socket, host, secureContext, ...(isIP(host) === 0 && { servername: host }) });
    made.on('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(`no TLS connection to ${host}: ${error.code ?? error.message}`)),
    );
    made.once('secureConnect', () => resolve(made));
  });
}

/** One connection to the host for one of the command's, as it would be without anybody between. */
function agentOf(first: Socket, dial: () => Promise<Socket>): Agent {
  let ready: Socket | null = first;
  return Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), {
    createConnection(_: object, made: (error: Error | null, socket?: Socket) => void): void {
      const kept = ready;
      ready = null;
      if (kept && !kept.destroyed) made(null, kept);
      else
        dial().then(
          (socket) => made(null, socket),
          (error: Error) => made(error),
        );
    },
  });
}

async function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  { onward, to, exchange }: { onward: Agent; to: Destination; exchange: Exchange },
): Promise<void> {
  const host = authorityOf(to).replace(/:443$/, '');
  const { url = '', headers } = request;
  if (!url.startsWith('/'))
    return answer(request, response, 400, `only paths of ${host} can be asked for here`);
  if (headers.upgrade) return answer(request, response, 501, `${host} has a secret, and no other protocol`);
  const fill = headers['content-encoding'] ? null : exchange.body(headers['content-type'] ?? '');
  const begun = fill ? await beginningOf(request) : null;
  const whole = begun?.isWhole && fill ? fill(begun.bytes) : null;
  const encoding = headers['transfer-encoding'];
  const asking = httpRequest({
    agent: onward,
    method: request.method ?? 'GET',
    path: exchange.target(url),
    headers: [
      ...['Host', host],
      ...exchange.headers(passedOn(request.rawHeaders, whole ? [...OWN, 'content-length'] : OWN)),
      ...['Accept-Encoding', 'identity'],
      ...(whole && hasBody(headers) ? ['Content-Length', String(whole.length)] : []),
      ...(!whole && encoding ? ['Transfer-Encoding', encoding] : []),
    ],
  });
  asking.once('response', (answered) => hand(answered, request, response, exchange, host));
  asking.on('error', (error: NodeJS.ErrnoException) => {
    // A connection that the host closed under a request: the command knows best whether to ask again.
    if (response.headersSent || asking.reusedSocket) response.destroy();
    else answer(request, response, 502, `${host} did not answer: ${error.code ?? error.message}`);
  });
  response.once('close', () => response.writableFinished || asking.destroy());
  if (whole) asking.end(whole);
  else {
    if (begun) asking.write(begun.bytes);
    request.pipe(asking);
  }
}

/** The host is the one that was granted. What is read on its way comes unpacked, and not in parts. */
const OWN = ['host', 'expect', 'accept-encoding', 'range', 'if-range'];

const hasBody = (headers: IncomingMessage['headers']): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;

/** All of a body, or as much of it as is held in memory at most. */
async function beginningOf(request: IncomingMessage): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  const bytes = (): Buffer => Buffer.concat(chunks);
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > LARGEST_BODY) return { bytes: bytes(), isWhole: false };
  }
  return { bytes: bytes(), isWhole: true };
}

function hand(
  answered: IncomingMessage,
  request: IncomingMessage,
  response: ServerResponse,
  exchange: Exchange,
  host: string,
): void {
  const { statusCode = 502 } = answered;
  const isEmpty = request.method === 'HEAD' || statusCode === 204 || statusCode === 304;
  const encoding = isEmpty ? '' : (answered.headers['content-encoding'] ?? '').trim().toLowerCase();
  const unpack = encoding === '' || encoding === 'identity' ? null : DECODERS[encoding];
  if (unpack === undefined) {
    answered.destroy();
    answer(request, response, 502, `${host} answered in the encoding ${encoding}, which nobody asked for`);
    return;
  }
  const dropped = unpack ? ['content-encoding', 'content-length'] : [];
  response.writeHead(statusCode, exchange.masked(passedOn(answered.rawHeaders, dropped)));
  response.flushHeaders();
  const done = (): void => {};
  if (unpack) pipeline(answered, unpack(), exchange.masking(), response, done);
  else pipeline(answered, exchange.masking(), response, done);
}

function answer(request: IncomingMessage, response: ServerResponse, status: number, text: string): void {
  request.resume();
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`forge-loop: ${text}\n`);
}
