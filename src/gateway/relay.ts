/**
 * One plain request, passed on over a connection of its own. Its host is the one that was granted, whatever its header says;
 * what concerns only the connection to the client stays here (RFC 9110, 7.6.1).
 */
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { COMMAND_LEFT, HOST_LEFT } from './tunnel.ts';

interface Route {
  socket: Socket;
  /** As the header has it. */
  host: string;
  /** With its query. */
  path: string;
}

export async function relay(
  request: IncomingMessage,
  response: ServerResponse,
  { socket, host, path }: Route,
): Promise<{ verdict: 'allowed' | 'failed'; why: string | null }> {
  const ended: { verdict: 'allowed' | 'failed'; why: string | null } = { verdict: 'allowed', why: null };
  if (response.destroyed) {
    socket.destroy();
    return { ...ended, why: COMMAND_LEFT };
  }
  const closed = [socket, response].map((one) => new Promise((resolve) => one.once('close', resolve)));
  const encoding = request.headers['transfer-encoding'];
  const onward = httpRequest({
    createConnection: () => socket,
    method: request.method ?? 'GET',
    path: path.startsWith('/') ? path : `/${path}`,
    headers: [
      ...['Host', host],
      ...passedOn(request.rawHeaders, ['host', 'expect']),
      ...(encoding ? ['Transfer-Encoding', encoding] : []),
    ],
  });
  let problem: string | null = null;
  onward.on('error', (error: NodeJS.ErrnoException) => {
    problem ??= error.code ?? error.message;
  });
  onward.once('response', (incoming) => {
    const { statusCode = 0 } = incoming;
    // Node passes on what it would refuse to send.
    if (statusCode < 200) {
      onward.destroy(new Error(`its status was ${statusCode}`));
      return;
    }
    incoming.once('error', () => {
      ended.why ??= HOST_LEFT;
    });
    response.writeHead(statusCode, passedOn(incoming.rawHeaders));
    pipeline(incoming, response, () => {});
  });
  onward.once('close', () => {
    if (!response.headersSent && !response.destroyed) {
      ended.verdict = 'failed';
      ended.why = `${host} did not answer: ${problem ?? 'it hung up'}`;
      response.writeHead(502, { 'content-type': 'text/plain; charset=utf-8' }).end(`${ended.why}\n`);
    }
    // The rest of what the host did not want to hear.
    request.unpipe(onward).resume();
  });
  response.once('close', () => {
    if (!response.writableFinished) ended.why ??= COMMAND_LEFT;
    onward.destroy();
  });
  request.pipe(onward);
  await Promise.all(closed);
  return ended;
}

const OF_CONNECTION = [
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
];

/** Names and values by turns, as Node has them. A `Connection` header names more that are not passed on. */
export function passedOn(raw: readonly string[], besides: readonly string[] = []): string[] {
  const pairs = raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as const] : []));
  const named = pairs.flatMap(([name, value]) => (/^connection$/i.test(name) ? value.split(',') : []));
  const dropped = new Set(named.map((name) => name.trim().toLowerCase()));
  // Without its length, a body would be the next request.
  dropped.delete('content-length');
  for (const name of [...OF_CONNECTION, ...besides]) dropped.add(name);
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase()) && !/^proxy-/i.test(name)).flat();
}
