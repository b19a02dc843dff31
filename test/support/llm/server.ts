/**
 * A model on loopback that follows a script, in the words of several protocols. Real agents are pointed at it.
 *
 * It keeps a journal of every request with the usage it told, so a test can compare an account with what was served,
 * to the token; and it refuses what the script did not foresee, so no test passes by accident.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Usage } from '../../../src/agent/agent.ts';
import { chatWire } from './chat.ts';
import { frameOf } from './event-stream.ts';
import { generateContentPath, generateContentWire } from './generate-content.ts';
import { cloudPath, messagesWire } from './messages.ts';
import { promptCache, tokensIn } from './prompt-cache.ts';
import { ANSWERED, type ProviderError } from './provider-errors.ts';
import { responsesWire } from './responses.ts';
import { type Reply, type Scenario, scriptOf } from './scenario.ts';
import { type Answer, NO_USAGE, type Part, type Request, type ServerEvent, type Wire } from './wire.ts';

export interface Entry {
  at: number;
  request: Request;
  headers: Record<string, string>;
  /** `unscripted`: no rule had an answer, and it got an error. */
  outcome: 'answered' | 'failed' | 'dropped' | 'hung' | 'unscripted';
  status: number;
  /** What was told about usage by the events that were sent. */
  told: Usage;
}

export interface Llm {
  readonly url: string;
  /** Every request for an answer, in order; asides of the agent's own included. */
  readonly journal: readonly Entry[];
  /** Every other path that was asked for: counting tokens, listing models. */
  readonly others: readonly string[];
  /** The sum of all usage told. */
  told(which?: (entry: Entry) => boolean): Usage;
  /** Rules that go before the ones there are. */
  play(scenario: Scenario): void;
  /** From the first request that says this on, every request gets this error, until told otherwise; null ends it. */
  refuse(error: ProviderError | null, from?: string): void;
  /** Breaks off the answers that hang. For when they were heard so far: a connection that ends takes what is unread with it. */
  cut(): void;
  close(): Promise<void>;
}

/** Whether the script answers what an agent asks on the side; if not, whether it uses anything. */
export type Asides = 'scripted' | 'counted' | 'free';

const WIRES: readonly { path: RegExp; wire: Wire }[] = [
  { path: /\/v1\/messages$/, wire: messagesWire },
  { path: cloudPath, wire: messagesWire },
  { path: /\/responses$/, wire: responsesWire },
  { path: /\/chat\/completions$/, wire: chatWire },
  { path: generateContentPath, wire: generateContentWire },
];

const pem = (name: string): string => fileURLToPath(new URL(`./tls/${name}.pem`, import.meta.url));
/** Whom a program has to trust that talks to a model with TLS; its key is in the open, and proves nothing. */
export const AUTHORITY = pem('authority');
const identity = () => ({ key: readFileSync(pem('key')), cert: readFileSync(pem('certificate')) });

export async function startLlm(
  scenario: Scenario,
  {
    now = Date.now,
    port = 0,
    asides = 'scripted',
    tls = false,
    cacheKeys = 'apart',
  }: {
    now?: () => number;
    port?: number;
    asides?: Asides;
    tls?: boolean;
    /** `shared`: as if every key led to the same server. */
    cacheKeys?: 'apart' | 'shared';
  } = {},
): Promise<Llm> {
  const script = scriptOf(scenario);
  const cache = promptCache(now);
  const journal: Entry[] = [];
  const others: string[] = [];
  const hanging = new Set<ServerResponse>();
  let refusing: { error: ProviderError; from: string; hasBegun: boolean } | null = null;
  let ids = 0;
  const newId = (): string => {
    ids += 1;
    return `${String(ids).padStart(6, '0')}`;
  };

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    // An agent that was killed leaves its request behind.
    response.on('error', () => {});
    serve(request, response).catch((error: Error) => {
      if (!response.headersSent)
        sendJson(response, 500, {}, { error: { type: 'api_error', message: error.message } });
      else response.destroy();
    });
  };
  const server = tls ? createSecureServer(identity(), answer) : createServer(answer);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { port: listening } = server.address() as AddressInfo;
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${listening}`;

  return {
    url,
    journal,
    others,
    told: (which = () => true) => journal.filter(which).reduce((sum, { told }) => plus(sum, told), NO_USAGE),
    play: (more) => script.prepend(more),
    refuse(error, from = '') {
      refusing = error && { error, from, hasBegun: from === '' };
    },
    cut() {
      for (const response of hanging) response.socket?.end();
      hanging.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(incoming.url ?? '/', 'http://localhost').pathname;
    const headers = plainHeaders(incoming);
    const given = await bodyOf(incoming);
    const wire =
      incoming.method === 'POST'
        ? WIRES.find((one) => one.path.test(decodeURIComponent(path)))?.wire
        : undefined;
    if (!wire) {
      others.push(`${incoming.method} ${path}`);
      return answerOther(path, given, response, url);
    }
    const request = wire.read(given, headers, path);
    const entry: Entry = { at: now(), request, headers, outcome: 'answered', status: 200, told: NO_USAGE };
    journal.push(entry);
    const apart = request.aside && APART[asides];
    const reply = refused(request) ?? (apart || (script.next(request) ?? (request.aside ? ASIDE : null)));
    if (reply === null) {
      entry.outcome = 'unscripted';
      entry.status = 500;
      const message = `the script has no answer to request ${journal.length}`;
      return sendJson(
        response,
        500,
        { 'x-should-retry': 'false' },
        { error: { type: 'api_error', message } },
      );
    }
    if (reply.fail) {
      const { status, headers: more, body } = wire.failure(reply.fail, now());
      Object.assign(entry, { outcome: 'failed', status });
      return sendJson(response, status, more, body);
    }
    const error = reply.error && ANSWERED[wire.protocol][reply.error];
    if (error && !(error.midStream && request.stream)) {
      Object.assign(entry, { outcome: 'failed', status: error.status });
      return sendJson(response, error.status, error.headers, error.body);
    }
    if (reply.page !== undefined) {
      entry.outcome = 'failed';
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(reply.page);
      return;
    }
    if (reply.drop === 'before') {
      entry.outcome = 'dropped';
      response.destroy();
      return;
    }
    if (reply.hang === 'before') {
      entry.outcome = 'hung';
      return;
    }
    const answer = answerTo(request, reply, wire.parts(reply, request, newId));
    if (!request.stream) {
      entry.told = answer.usage;
      return sendJson(response, 200, {}, wire.whole(answer));
    }
    const framed = path.endsWith('-with-response-stream');
    await stream(response, wire.events(answer), reply, entry, { framed, error: error?.midStream });
    if (reply.hang) hanging.add(response);
  }

  function refused({ texts }: Request): Reply | null {
    if (!refusing) return null;
    const { from, error } = refusing;
    refusing.hasBegun ||= texts.some((text) => text.includes(from));
    return refusing.hasBegun ? { error, times: 'always' } : null;
  }

  function answerTo(request: Request, reply: Reply, parts: Part[]): Answer {
    const said = parts.map((part) => (part.kind === 'tool' ? JSON.stringify(part.input) : part.text));
    const key = cacheKeys === 'apart' ? request.cacheKey : null;
    const counted = {
      ...cache.charge(request.model, request.segments, key),
      output: Math.max(1, tokensIn(said.join(''))),
      reasoning: 0,
    };
    // Only Anthropic charges for writing to its cache.
    const charged =
      request.protocol === 'messages'
        ? counted
        : { ...counted, input: counted.input + counted.cacheWrite, cacheWrite: 0 };
    const usage = reply.usage === undefined ? charged : { ...NO_USAGE, ...definedIn(reply.usage) };
    return { id: `answer_${newId()}`, model: request.model, parts, stop: reply.stop, usage };
  }
}

/** What an agent asks on the side (a title, whether there is quota) is answered with a word, and it is counted. */
const ASIDE: Reply = { say: 'ok', times: 'always' };
/** For agents that ask for a title before anything else: it takes nothing from the script, and uses nothing. */
const FREE: Reply = { ...ASIDE, usage: NO_USAGE };
const APART: Record<Asides, Reply | null> = { scripted: null, counted: ASIDE, free: FREE };

async function stream(
  response: ServerResponse,
  events: readonly ServerEvent[],
  reply: Reply,
  entry: Entry,
  { framed, error }: { framed: boolean; error: readonly ServerEvent[] | undefined },
): Promise<void> {
  const type = framed ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' });
  const cut = reply.drop === 'middle' || reply.hang === 'middle' || error;
  const sent = cut ? events.slice(0, Math.ceil(events.length / 2)) : events;
  for (const { event, data, tells } of [...sent, ...(error ?? [])]) {
    if (tells) entry.told = tells;
    const text = `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
    if (!response.write(framed ? frameOf(data) : text))
      await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
  }
  if (reply.hang === 'middle') {
    entry.outcome = 'hung';
    return;
  }
  if (reply.drop === 'middle') {
    entry.outcome = 'dropped';
    // Closed, not reset: what was said has to arrive, or it would count as told and never have been heard.
    response.socket?.end();
    return;
  }
  if (error) entry.outcome = 'failed';
  if (entry.request.protocol === 'chat') response.write('data: [DONE]\n\n');
  response.end();
}

function answerOther(path: string, given: unknown, response: ServerResponse, url: string): void {
  if (path.endsWith('/count_tokens'))
    sendJson(response, 200, {}, { input_tokens: tokensIn(JSON.stringify(given)) });
  else if (path.endsWith('/models')) sendJson(response, 200, {}, { object: 'list', data: [], models: [] });
  else if (path.endsWith('/wham/accounts/check')) {
    // Where Codex is to send what it asks with a ChatGPT login; it takes no origin without TLS.
    const account = {
      id: 'account-1',
      workspace_backend_origin: url,
      account_routing_override: 'NO_CONSTRAINT',
    };
    sendJson(response, 200, {}, { accounts: [account] });
  } else sendJson(response, 404, {}, { error: { type: 'not_found_error', message: `nothing at ${path}` } });
}

function sendJson(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: unknown,
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

async function bodyOf(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? null : JSON.parse(text);
}

const plainHeaders = (incoming: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );

/** Keys without a value would count as one. */
const definedIn = (given: Partial<Record<keyof Usage, number | undefined>>): Partial<Usage> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

const plus = (one: Usage, other: Usage): Usage => ({
  input: one.input + other.input,
  output: one.output + other.output,
  cacheRead: one.cacheRead + other.cacheRead,
  cacheWrite: one.cacheWrite + other.cacheWrite,
  reasoning: one.reasoning + other.reasoning,
});
