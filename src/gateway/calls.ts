/**
 * A call of a model: what it asks for is looked at, the credential put in, the answer passed on as it comes and read on
 * its way. What must not be passed on is answered here, in the provider's own form.
 */
import { randomBytes } from 'node:crypto';
import { type IncomingMessage, request as plainRequest, type ServerResponse } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { type SecureContext, connect as secure } from 'node:tls';
import { z } from 'zod';
import type { Usage } from '../core/prices.ts';
import type { Dial } from './dial.ts';
import { METERED, type Route } from './gateway.ts';
import { withoutHops } from './hops.ts';
import { type Reading, readAnswer } from './reading.ts';
import { type Asked, askedBy, NOTHING_TOLD, type Told, type Wire } from './wires.ts';

export interface Calls {
  /** `path` is what follows the route's own address. */
  pass(path: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** When no call is under way any more. */
  settled(): Promise<void>;
}

const LARGEST_BODY = 128 * 1024 * 1024;
const LONG_MS = 1000;
/** Of a call that names no limit of its own. */
const USUAL_OUTPUT = 32_000;
const BYTES_A_TOKEN = 4;
const OWN = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key', 'cookie', 'chatgpt-account-id'];

export function calls(route: Route, dial: Dial, trust: () => SecureContext): Calls {
  const name = randomBytes(6).toString('hex');
  const agent = agentOf(dial, trust);
  const underWay = new Map<symbol, { usd: number; tokens: number }>();
  let ended = wakeable();
  let numbers = 0;

  return {
    async pass(path, request, response) {
      const own = Symbol('call');
      numbers += 1;
      const key = `${METERED}${name}:${numbers}`;
      underWay.set(own, { usd: 0, tokens: 0 });
      try {
        await passOn(path, request, response, own, key);
      } finally {
        underWay.delete(own);
        ended.wake();
        ended = wakeable();
      }
    },
    async settled() {
      while (underWay.size > 0) await ended.promise;
      agent.destroy();
    },
  };

  async function passOn(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    own: symbol,
    key: string,
  ): Promise<void> {
    const url = new URL(path, 'http://gateway');
    const asks = askedBy(request.method ?? '', url.pathname);
    if (!asks) {
      route.onRefused({ reason: 'path', why: `${request.method} ${url.pathname.slice(0, 200)}` });
      return answer(response, 403, { error: { message: `forge-loop lets no program ask for this path` } });
    }
    const body = await bodyOf(request);
    const given = bodyFields.safeParse(parsed(body)).data;
    const model = asks.modelInBody ? (given?.model ?? null) : asks.model;
    if (asks.wire && (model === null || !mayAsk(route.models, model))) {
      const why = model === null ? 'a call that names no model' : `the model ${model.slice(0, 200)}`;
      route.onRefused({ reason: 'model', why });
      const text = `forge-loop: ${why} is not granted here`;
      return answer(response, 404, asks.speaks.refusal(404, 'not_found_error', text));
    }
    const reserved = { input: body.length / BYTES_A_TOKEN, output: given?.limit ?? USUAL_OUTPUT };
    const spent = asks.wire && model !== null ? await admitted(own, model, reserved) : null;
    if (spent !== null && asks.wire) {
      route.onRefused({ reason: 'budget', why: spent });
      const text = `forge-loop: ${spent}`;
      const { spentStatus, refusal } = asks.wire;
      return answer(response, spentStatus, refusal(spentStatus, 'budget_spent', text));
    }
    // Whoever asked may have gone while it waited.
    if (!response.destroyed) await carry(url, request, body, response, { ...asks, model }, key);
  }

  /** Null when it may go on. Of several at once that could pass a limit together, the later ones wait for the others. */
  async function admitted(
    own: symbol,
    model: string,
    { input, output }: { input: number; output: number },
  ): Promise<string | null> {
    const none = { cacheRead: 0, cacheWrite: 0, reasoning: 0 };
    for (;;) {
      const room = await route.room();
      if (room.spent !== null) return room.spent;
      const others = [...underWay].filter(([one]) => one !== own).map(([, held]) => held);
      const held = (kind: 'usd' | 'tokens'): number => others.reduce((sum, one) => sum + one[kind], 0);
      const fits = (['usd', 'tokens'] as const).every((kind) => {
        const left = room[kind];
        return left === null || held(kind) < left;
      });
      if (fits || held('tokens') === 0) {
        underWay.set(own, {
          tokens: input + output,
          usd: route.costOf(model, { input, output, ...none }) ?? 0,
        });
        return null;
      }
      await ended.promise;
    }
  }

  async function carry(
    { pathname, searchParams }: URL,
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
    { wire, model }: Asked,
    key: string,
  ): Promise<void> {
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
    const account = wire && accountOf(wire, model ?? 'unknown', key);

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
        response.writeHead(status, withoutHops(answered.headers));
        answered.on('data', (chunk: Buffer) => {
          reading?.see(chunk);
          if (!response.write(chunk)) {
            answered.pause();
            response.once('drain', () => answered.resume());
          }
        });
        answered.once('end', () => {
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

  /**
   * What one call used: all of it at its end. Of one that takes longer, its first figures are told before: whatever kills
   * the loop meanwhile, they were paid for.
   */
  function accountOf(wire: Wire, asked: string, key: string) {
    let before: Usage | null = null;
    let early: NodeJS.Timeout | undefined;
    let isFailed = false;
    const tell = (suffix: string, told: Told, usage: Usage): void => {
      const model = told.model ?? asked;
      const id = told.id === null ? '' : `:${told.id.slice(0, 100)}`;
      route.onUsage({ key: `${key}${id}${suffix}`, model, ...usage, costUsd: route.costOf(model, usage) });
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
        if (isFailed) return;
        if (!told.isWhole || told.usage === null) route.onUntold();
        if (told.usage === null) return;
        const more = before ? beyond(told.usage, before) : told.usage;
        if (Object.values(more).some((amount) => amount > 0)) tell(before ? ':end' : '', told, more);
      },
    };
  }
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

const bodyFields = z
  .object({
    model: z.string().nullish().catch(null),
    max_tokens: z.number().nullish().catch(null),
    max_output_tokens: z.number().nullish().catch(null),
    max_completion_tokens: z.number().nullish().catch(null),
  })
  .transform((given) => ({
    model: given.model ?? null,
    limit: given.max_tokens ?? given.max_output_tokens ?? given.max_completion_tokens ?? null,
  }));

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

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LARGEST_BODY) throw new Error('the request is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

function wakeable(): { promise: Promise<void>; wake(): void } {
  let wake = () => {};
  const promise = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return { promise, wake: () => wake() };
}
