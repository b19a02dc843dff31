/**
 * Where GitHub reports that something happened. A delivery only wakes: nothing in it is believed, and nothing of it is
 * kept but its number, by which a repeated one is known. The body is not even read, only signed.
 *
 * Several deliveries of one moment lead to one wake. They are taken at a path of the HTTP server, and at a port that has nothing else.
 */
import { createHmac, type Hmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Endpoint {
  /** What is entered at GitHub, as seen from this machine. */
  readonly url: string;
  /** What was heard and not passed on yet is passed on first. */
  close(): Promise<void>;
}

export interface Hearing {
  secret: string;
  /** The kinds of events that were reported since the last call. Must not throw. */
  heard(kinds: string[]): Promise<void>;
  /** How long deliveries are gathered before they wake. */
  gatherMs?: number;
}

interface Deliveries {
  /** The status to answer. */
  receive(request: IncomingMessage): Promise<number>;
  /** What was heard and not passed on yet is passed on. */
  settle(): Promise<void>;
}

export const WEBHOOK_PATH = '/webhook';

/** GitHub sends no more than this in one delivery. */
const MOST_BYTES = 25 * 1024 * 1024;
/** GitHub repeats a delivery at once or by hand; that many others lie between them at most. */
const REMEMBERED = 2000;
const GATHER_MS = 500;
const PATIENCE_MS = 10_000;
const MOST_CONNECTIONS = 100;

/** What may change anything about an issue, a pull request or its checks. */
const WAKING: ReadonlySet<string> = new Set([
  'issues',
  'issue_comment',
  'issue_dependencies',
  'sub_issues',
  'label',
  'pull_request',
  'pull_request_review',
  'pull_request_review_comment',
  'pull_request_review_thread',
  'check_run',
  'check_suite',
  'workflow_run',
  'status',
  'push',
  'delete',
  'merge_group',
  'repository',
  'member',
]);

export function takeDeliveries({ secret, heard, gatherMs = GATHER_MS }: Hearing): Deliveries {
  const known = new Set<string>();
  const { gather, settle } = gathering(heard, gatherMs);

  /** Signed: only now may it be remembered, or anybody could have true ones taken for repeated. */
  const take = ({ headers }: IncomingMessage): number => {
    const [id, kind] = [String(headers['x-github-delivery'] ?? ''), String(headers['x-github-event'] ?? '')];
    if (known.has(id) || !WAKING.has(kind)) return 200;
    if (id !== '') known.add(id);
    if (known.size > REMEMBERED) known.delete(known.values().next().value!);
    gather(kind);
    return 202;
  };

  return {
    receive: (request) =>
      judge(request, secret)
        .then((status) => (status === 202 ? take(request) : status))
        .catch(() => 400),
    settle,
  };
}

/** At a port of its own, which may be open to the world. */
export async function startWebhook(options: Hearing & { port: number; bind: string }): Promise<Endpoint> {
  const deliveries = takeDeliveries(options);
  const server = createServer((request, response) => {
    const isHere = new URL(request.url ?? '/', 'http://here').pathname === WEBHOOK_PATH;
    void (isHere ? deliveries.receive(request) : Promise.resolve(404)).then((status) => {
      response.writeHead(status, status === 413 ? { connection: 'close' } : {}).end();
      if (status === 413) request.destroy();
    });
  });
  server.requestTimeout = PATIENCE_MS;
  server.headersTimeout = PATIENCE_MS;
  server.maxConnections = MOST_CONNECTIONS;

  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(options.port, options.bind, done);
  });
  const { port, family, address } = server.address() as AddressInfo;
  const host = family === 'IPv6' ? `[${address}]` : address;
  return {
    url: `http://${host}:${port}${WEBHOOK_PATH}`,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
      await deliveries.settle();
    },
  };
}

/** 202 when it is what it says: whole, and signed with our secret. */
async function judge(request: IncomingMessage, secret: string): Promise<number> {
  if (request.method !== 'POST') return 405;
  const given = /^sha256=([0-9a-f]{64})$/.exec(String(request.headers['x-hub-signature-256'] ?? ''))?.[1];
  if (given === undefined) return 401;
  if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) return 413;
  const signed = await signatureOf(request, createHmac('sha256', secret));
  if (signed === null) return 413;
  return timingSafeEqual(signed, Buffer.from(given, 'hex')) ? 202 : 401;
}

/** Null when it is longer than anything GitHub sends. */
async function signatureOf(request: IncomingMessage, hmac: Hmac): Promise<Buffer | null> {
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) return null;
    hmac.update(chunk);
  }
  return hmac.digest();
}

function gathering(heard: (kinds: string[]) => Promise<void>, ms: number) {
  let kinds = new Set<string>();
  let timer: NodeJS.Timeout | null = null;
  let passing: Promise<void> = Promise.resolve();
  const passOn = (): void => {
    if (timer) clearTimeout(timer);
    timer = null;
    if (kinds.size === 0) return;
    const gathered = [...kinds].sort();
    kinds = new Set();
    passing = passing.then(() => heard(gathered)).catch(() => {});
  };
  return {
    gather(kind: string): void {
      kinds.add(kind);
      timer ??= setTimeout(passOn, ms);
    },
    async settle(): Promise<void> {
      passOn();
      await passing;
    },
  };
}
