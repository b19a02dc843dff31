/**
 * A call of a model: what it asks for is looked at, the credential put in, the answer passed on as it comes and read on
 * its way. What must not be passed on is answered here, in the provider's own form.
 */
import { randomBytes } from 'node:crypto';
import { type IncomingMessage, request as plainRequest, type ServerResponse } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { PassThrough } from 'node:stream';
import { type SecureContext, connect as secure } from 'node:tls';
import type { Usage } from '../core/money/prices.ts';
import { type Bodies, bodyOf } from './bodies.ts';
import type { Dial } from './dial.ts';
import { errandIn } from './errands.ts';
import { METERED, type Refusal, type Refused, type Route } from './gateway.ts';
import { type Given, givenBy } from './given.ts';
import { withoutHops } from './hops.ts';
import { type Reading, readAnswer } from './reading.ts';
import type { Amount, Reservations } from './reservations.ts';
import { withoutUsageChunk } from './usage-chunk.ts';
import { type Asked, askedBy, NOTHING_TOLD, type Told, type Wire } from './wires.ts';

export interface Calls {
  /** `path` is what follows the route's own address. */
  pass(path: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** When no call is under way any more, and nothing of them counts. */
  settled(): Promise<void>;
}

/** What the doors of a gateway have in common. */
interface Shared {
  dial: Dial;
  trust(): SecureContext;
  reservations: Reservations;
  bodies: Bodies;
}

const LONG_MS = 1000;
const BYTES_A_TOKEN = 4;
const NONE = { cacheRead: 0, cacheWrite: 0, reasoning: 0 };
/** Who pays is nothing that a program says. */
const OWN = [
  // Nor how long what is sent on is: a provider takes what comes after it for the next request.
  'content-length',
  ...['authorization', 'x-api-key', 'x-goog-api-key', 'api-key', 'cookie', 'chatgpt-account-id'],
  ...['openai-organization', 'openai-project', 'x-goog-user-project'],
];

/** One call: what it may use, and after it what nobody knows whether it did. */
interface Call {
  id: symbol;
  key: string;
  held: Amount | null;
}

export function calls(route: Route, { dial, trust, reservations, bodies }: Shared): Calls {
  const name = randomBytes(6).toString('hex');
  const agent = agentOf(dial, trust);
  const underWay = new Set<Promise<void>>();
  const known: symbol[] = [];

  return {
    pass(path, request, response) {
      const call: Call = { id: Symbol('call'), key: `${METERED}${name}:${known.length + 1}`, held: null };
      known.push(call.id);
      const passing = passOn(path, request, response, call).finally(() => {
        reservations.end(call.id, call.held);
        underWay.delete(passing);
      });
      underWay.add(passing);
      return passing;
    },
    async settled() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
      reservations.forget(known);
      agent.destroy();
    },
  };

  async function passOn(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    call: Call,
  ): Promise<void> {
    const url = new URL(path, 'http://gateway');
    const asks = askedBy(route.speaks, request.method ?? '', url.pathname);
    if (!asks) {
      route.onRefused({ reason: 'path', why: `${request.method} ${url.pathname.slice(0, 200)}` });
      return answer(response, 403, { error: { message: `forge-loop lets no program ask for this path` } });
    }
    const refuse = (status: number, type: string, refusal: Refusal, text = refusal.why): void => {
      route.onRefused(refusal);
      answer(response, status, asks.speaks.refusal(status, type, `forge-loop: ${text}`));
    };
    const body = await bodyOf(request, bodies);
    if (typeof body === 'string') {
      const status = body === 'too large' ? 413 : 503;
      return answer(
        response,
        status,
        asks.speaks.refusal(status, 'request_too_large', `forge-loop: ${body}`),
      );
    }
    try {
      const given = request.method === 'GET' ? null : givenBy(asks.speaks.name, body);
      const unfit = request.method === 'GET' ? null : unfitting(given, asks);
      if (unfit) return refuse(400, 'invalid_request_error', unfit);
      const model = asks.modelInBody ? (given?.model ?? null) : asks.model;
      const named = [model, ...(given?.otherModels ?? [])];
      const strange = named.find((one) => one === null || !mayAsk(route.models, one));
      if (asks.wire && strange !== undefined) {
        const why = strange === null ? 'a call that names no model' : `the model ${strange.slice(0, 200)}`;
        return refuse(404, 'not_found_error', { reason: 'model', why }, `${why} is not granted here`);
      }
      const reserved = given && model !== null ? reservedFor(given, model) : null;
      if (asks.wire && reserved) {
        const spent = await reservations.admit(call.id, route.task, reserved, route.room);
        const status = asks.wire.spentStatus;
        if (spent !== null) return refuse(status, 'budget_spent', spent);
        call.held = reserved;
      }
      // Whoever asked may have gone while it waited.
      if (response.destroyed) call.held = null;
      else await carry(url, request, given, response, { ...asks, model }, call);
    } finally {
      bodies.give(body.length);
    }
  }

  /** What may not be asked, whoever pays for it; null when it may. */
  function unfitting(given: Given | null, { speaks }: Asked): Refusal | null {
    if (!given) return { reason: 'setting', why: 'a call that is not JSON, or has too many parts' };
    if (given.isBackground)
      return { reason: 'setting', why: 'a call in the background, which nobody can count' };
    const errand = route.isOpen ? null : errandIn(speaks.name, given.call);
    if (!errand) return null;
    const why = `${errand.what} would let the provider go where this role may not`;
    return { reason: 'errand', why, url: errand.url };
  }

  function reservedFor({ body, output }: Given, model: string): Amount {
    const input = body.length / BYTES_A_TOKEN;
    return { tokens: input + output, usd: route.mostOf(model, { input, output, ...NONE }) };
  }

  async function carry(
    { pathname, searchParams }: URL,
    request: IncomingMessage,
    given: Given | null,
    response: ServerResponse,
    { wire, model }: Asked,
    call: Call,
  ): Promise<void> {
    const body = given?.body ?? Buffer.alloc(0);
    const to = new URL(route.upstream);
    const query = [...searchParams].filter(([name]) => name !== 'key');
    to.pathname = `${to.pathname.replace(/\/+$/, '')}${pathname}`;
    for (const [name, value] of query) to.searchParams.append(name, value);
    const headers = {
      ...withoutHops(request.headers, OWN),
      ...route.headers,
      host: to.host,
      // What is read on its way need not be unpacked first.
      'accept-encoding': 'identity',
      ...(body.length > 0 && { 'content-length': String(body.length) }),
    };
    const ask = to.protocol === 'https:' ? secureRequest : plainRequest;
    const account = wire && accountOf(wire, model ?? 'unknown', call);

    await new Promise<void>((resolve) => {
      const asking = ask(to, {
        method: request.method ?? 'POST',
        headers,
        ...(to.protocol === 'https:' && { agent }),
        ...(to.protocol === 'http:' && { agent: false }),
      });
      let reading: Reading | null = null;
      let isOver = false;
      const over = async (): Promise<void> => {
        if (isOver) return;
        isOver = true;
        await account?.close(reading);
        resolve();
      };
      const cut = (): void => {
        asking.destroy();
        // As it would be without anybody between: the connection breaks.
        response.destroy();
        void over();
      };
      asking.once('response', (answered) => {
        const status = answered.statusCode ?? 502;
        if (account && status < 300) reading = account.read(answered);
        else account?.failed();
        const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = answered.headers;
        const isFiltered = given?.asksNoUsage && /^text\/event-stream/.test(type) && encoding === 'identity';
        const filter = isFiltered ? withoutUsageChunk() : new PassThrough();
        response.writeHead(status, withoutHops(answered.headers, isFiltered ? ['content-length'] : []));
        const heard = wire && status >= 400 ? refusedBy(answered) : null;
        answered.on('data', (chunk: Buffer) => reading?.see(chunk));
        answered.pipe(filter).pipe(response, { end: false });
        filter.once('end', () => {
          if (wire) route.onAnswered?.(heard?.() ?? null);
          response.end();
          void over();
        });
        answered.once('error', cut);
        answered.once('close', () => {
          if (!answered.complete) cut();
        });
      });
      asking.once('error', (error: NodeJS.ErrnoException) => {
        const { code = (error.cause as NodeJS.ErrnoException | undefined)?.code ?? '' } = error;
        if (NEVER_REACHED.has(code)) account?.failed();
        cut();
      });
      response.once('close', () => {
        if (!response.writableFinished) cut();
      });
      asking.end(body);
    });
  }

  /** What is left of it. */
  function beyondTold(held: Amount, model: string, used: Usage): Amount {
    const tokens = Object.values(used).reduce((sum, amount) => sum + amount, 0);
    return {
      tokens: Math.max(0, held.tokens - tokens),
      usd: Math.max(0, held.usd - route.mostOf(model, used)),
    };
  }

  /**
   * What one call used: all of it at its end. Of one that takes longer, its first figures are told before: whatever kills
   * the loop meanwhile, they were paid for.
   */
  function accountOf(wire: Wire, asked: string, call: Call) {
    let before: Usage | null = null;
    let early: NodeJS.Timeout | undefined;
    let isFailed = false;
    const tell = (suffix: string, told: Told, usage: Usage): void => {
      const model = told.model ?? asked;
      const id = told.id === null ? '' : `:${told.id.slice(0, 100)}`;
      route.onUsage({
        key: `${call.key}${id}${suffix}`,
        model,
        ...usage,
        costUsd: route.costOf(model, usage),
      });
    };
    return {
      read: (answered: IncomingMessage): Reading =>
        readAnswer(
          wire,
          {
            type: answered.headers['content-type'] ?? '',
            encoding: answered.headers['content-encoding'] ?? '',
          },
          (told) => {
            early = setTimeout(() => {
              if (told.usage) tell('', told, told.usage);
              before = told.usage;
            }, LONG_MS);
          },
        ),
      /** Refused by the provider, which charges nothing for that, or never asked. */
      failed(): void {
        isFailed = true;
      },
      async close(reading: Reading | null): Promise<void> {
        const told = (await reading?.end()) ?? NOTHING_TOLD;
        clearTimeout(early);
        const { held } = call;
        if (isFailed || (told.isWhole && told.usage !== null)) call.held = null;
        else route.onUntold();
        if (isFailed || told.usage === null) return;
        if (call.held && held) call.held = beyondTold(held, told.model ?? asked, told.usage);
        const more = before ? beyond(told.usage, before) : told.usage;
        if (Object.values(more).some((amount) => amount > 0)) tell(before ? ':end' : '', told, more);
      },
    };
  }
}

const LONGEST_REFUSAL = 64 * 1024;
const OF_LIMITS = /^(retry-after|(anthropic|x)-ratelimit-.*)$/;

/** What a provider says instead of an answer, while it passes. */
function refusedBy(answered: IncomingMessage): () => Refused {
  const chunks: Buffer[] = [];
  let left = LONGEST_REFUSAL;
  answered.on('data', (chunk: Buffer) => {
    if (left > 0) chunks.push(chunk.subarray(0, left));
    left -= chunk.length;
  });
  const headers = Object.entries(answered.headers).filter(([name]) => OF_LIMITS.test(name));
  return () => ({
    status: answered.statusCode ?? 502,
    body: Buffer.concat(chunks).toString('utf8'),
    headers: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
  });
}

const NEVER_REACHED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** A word like `sonnet` stands for every model that has it in its name; `…[1m]` names a window. */
function mayAsk(models: Route['models'], asked: string): boolean {
  if (models === 'any') return true;
  const plain = (name: string): string => name.toLowerCase().replace(/\[[^\]]*\]$/, '');
  const wanted = plain(asked);
  const undated = (name: string): string => name.replace(/-\d{8}$/, '');
  return models.some((model) => {
    const known = plain(model);
    // Some are chosen with their provider's name before them.
    const names = [known, known.slice(known.indexOf('/') + 1)].map(undated);
    if (names.includes(undated(wanted))) return true;
    return /^[a-z]+$/.test(known) && wanted.split(/[^a-z]+/).includes(known);
  });
}

const beyond = (all: Usage, before: Usage): Usage => ({
  input: Math.max(0, all.input - before.input),
  output: Math.max(0, all.output - before.output),
  cacheRead: Math.max(0, all.cacheRead - before.cacheRead),
  cacheWrite: Math.max(0, all.cacheWrite - before.cacheWrite),
  reasoning: Math.max(0, all.reasoning - before.reasoning),
});

function agentOf(dial: Dial, trust: () => SecureContext): SecureAgent {
  const agent = new SecureAgent({ keepAlive: true });
  return Object.assign(agent, {
    createConnection(
      { host = '', port = 443, servername }: { host?: string; port?: number; servername?: string },
      made: (error: Error | null, socket?: unknown) => void,
    ): void {
      dial({ host, port: Number(port) }).then(
        (socket) => made(null, secure({ socket, secureContext: trust(), ...(servername && { servername }) })),
        (error: Error) => made(error),
      );
    },
  });
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
