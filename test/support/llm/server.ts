/**
 * A model on loopback that follows a script, in the words of several protocols. Real agents are pointed at it.
 *
 * It keeps a journal of every request with the usage it told, so a test can compare an account with what was served,
 * to the token; and it refuses what the script did not foresee, so no test passes by accident.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Usage } from '../../../src/agent/agent.ts';
import { chatWire } from './chat.ts';
import { generateContentPath, generateContentWire } from './generate-content.ts';
import { messagesWire } from './messages.ts';
import { promptCache, tokensIn } from './prompt-cache.ts';
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
  /** Breaks off the answers that hang. For when they were heard so far: a connection that ends takes what is unread with it. */
  cut(): void;
  close(): Promise<void>;
}

const WIRES: readonly { path: RegExp; wire: Wire }[] = [
  { path: /\/v1\/messages$/, wire: messagesWire },
  { path: /\/responses$/, wire: responsesWire },
  { path: /\/chat\/completions$/, wire: chatWire },
  { path: generateContentPath, wire: generateContentWire },
];

export async function startLlm(
  scenario: Scenario,
  {
    now = Date.now,
    port = 0,
    asides = 'scripted',
  }: { now?: () => number; port?: number; asides?: 'scripted' | 'free' } = {},
): Promise<Llm> {
  const script = scriptOf(scenario);
  const cache = promptCache(now);
  const journal: Entry[] = [];
  const others: string[] = [];
  const hanging = new Set<ServerResponse>();
  let ids = 0;
  const newId = (): string => {
    ids += 1;
    return `${String(ids).padStart(6, '0')}`;
  };

  const server = createServer((request, response) => {
    // An agent that was killed leaves its request behind.
    response.on('error', () => {});
    serve(request, response).catch((error: Error) => {
      if (!response.headersSent)
        sendJson(response, 500, {}, { error: { type: 'api_error', message: error.message } });
      else response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { port: listening } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${listening}`,
    journal,
    others,
    told: (which = () => true) => journal.filter(which).reduce((sum, { told }) => plus(sum, told), NO_USAGE),
    play: (more) => script.prepend(more),
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
    const wire = incoming.method === 'POST' ? WIRES.find((one) => one.path.test(path))?.wire : undefined;
    if (!wire) {
      others.push(`${incoming.method} ${path}`);
      return answerOther(path, given, response);
    }
    const request = wire.read(given, headers, path);
    const entry: Entry = { at: now(), request, headers, outcome: 'answered', status: 200, told: NO_USAGE };
    journal.push(entry);
    const free = request.aside && asides === 'free';
    const reply = free ? FREE : (script.next(request) ?? (request.aside ? ASIDE : null));
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
    await stream(response, wire.events(answer), reply, entry);
    if (reply.hang) hanging.add(response);
  }

  function answerTo(request: Request, reply: Reply, parts: Part[]): Answer {
    const said = parts.map((part) => (part.kind === 'tool' ? JSON.stringify(part.input) : part.text));
    const counted = {
      ...cache.charge(request.model, request.segments),
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

async function stream(
  response: ServerResponse,
  events: readonly ServerEvent[],
  reply: Reply,
  entry: Entry,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const cut = reply.drop === 'middle' || reply.hang === 'middle';
  for (const { event, data, tells } of cut ? events.slice(0, Math.ceil(events.length / 2)) : events) {
    if (tells) entry.told = tells;
    const text = `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
    if (!response.write(text))
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
  if (entry.request.protocol === 'chat') response.write('data: [DONE]\n\n');
  response.end();
}

function answerOther(path: string, given: unknown, response: ServerResponse): void {
  if (path.endsWith('/count_tokens'))
    sendJson(response, 200, {}, { input_tokens: tokensIn(JSON.stringify(given)) });
  else if (path.endsWith('/models')) sendJson(response, 200, {}, { object: 'list', data: [], models: [] });
  else sendJson(response, 404, {}, { error: { type: 'not_found_error', message: `nothing at ${path}` } });
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
