/**
 * The services that channels talk to, on loopback, each as strict as its own documentation: what they would refuse is refused
 * here, with their words. `asked` is everything they were sent.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ChannelKind } from '../../../src/core/tell/notify.ts';

export interface Asked {
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body: string;
}

export interface Service {
  url: string;
  asked: Asked[];
  /** Answers of the next requests, in place of its own; null never answers. */
  next: (Answer | null)[];
  close(): Promise<void>;
}

export async function startService(kind: ChannelKind, path: string): Promise<Service> {
  const asked: Asked[] = [];
  const next: (Answer | null)[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const one = { path: request.url ?? '', headers: request.headers, body };
    asked.push(one);
    const answer = next.length > 0 ? next.shift()! : (JUDGES[kind] ?? (() => OK))(one, path);
    if (answer) response.writeHead(answer.status, answer.headers ?? {}).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${path}`,
    asked,
    next,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const OK: Answer = { status: 200, body: 'ok' };
const bad = (body: string): Answer => ({ status: 400, body });

const JUDGES: Partial<Record<ChannelKind, (asked: Asked, path: string) => Answer>> = {
  webhook: ({ headers }) =>
    headers['webhook-id'] && headers['webhook-timestamp'] && headers['webhook-signature']
      ? { status: 204, body: '' }
      : bad('unsigned'),
  slack({ path, body }, own) {
    if (path !== own) return { status: 404, body: 'no_service' };
    const { text, blocks } = JSON.parse(body) as Slack;
    if (typeof text !== 'string' || text.length > 40_000) return bad('invalid_payload');
    if (blocks.length > 50) return bad('invalid_blocks');
    const isTooLong = blocks.some((block) => block.type === 'section' && block.text!.text.length > 3000);
    return isTooLong ? bad('invalid_blocks') : OK;
  },
  discord({ path, body }, own) {
    if (path !== own) return { status: 404, body: '{"message": "Unknown Webhook", "code": 10015}' };
    const { content } = JSON.parse(body) as { content: string };
    return content === '' || content.length > 2000
      ? bad('{"content": ["Must be 2000 or fewer in length."]}')
      : { status: 204, body: '' };
  },
  ntfy({ path, body }, own) {
    const { topic, message } = JSON.parse(body) as { topic: string; message: string };
    if (path !== '/' || own !== `/${topic}`)
      return bad('{"code":40009,"http":400,"error":"invalid request: topic invalid"}');
    return Buffer.byteLength(message) > 4096
      ? bad('{"code":40004}')
      : { status: 200, body: '{"event":"message"}' };
  },
};

interface Slack {
  text: string;
  blocks: { type: string; text?: { text: string } }[];
}
