/** The whole way of a call: a program, a door, and a provider that keeps a journal. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type ClientRequest, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo, connect } from 'node:net';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Llm, startLlm } from '../../test/support/llm/server.ts';
import type { UsageReport } from '../agent/agent.ts';
import type { Room } from '../core/budget.ts';
import type { Door, Route } from './gateway.ts';
import { openGateway } from './server.ts';

const USAGE = { input: 100, output: 20, cacheRead: 30, cacheWrite: 0, reasoning: 6 };
const UNLIMITED: Room = { usd: null, tokens: null, spent: null };

let llm: Llm;
let door: Door;
let told: UsageReport[];
let untold: number;
let refused: { reason: string; why: string }[];
beforeEach(async () => {
  llm = await startLlm({
    rules: [{ replies: Array.from({ length: 9 }, () => ({ say: 'hello', usage: USAGE })) }],
  });
  [told, untold, refused] = [[], 0, []];
  door = await openGateway({}).open({ at: 'machine', network: [], advice: '' });
});
afterEach(async () => {
  await door.close();
  await llm.close();
});

const routed = (change: Partial<Route> = {}): string =>
  door.route({
    upstream: llm.url,
    headers: { 'x-api-key': 'the real key' },
    models: 'any',
    costOf: (_, { input, output }) => (input + output) / 1000,
    room: async () => UNLIMITED,
    onUsage: (report) => void told.push(report),
    onUntold: () => {
      untold += 1;
    },
    onRefused: (refusal) => void refused.push(refusal),
    ...change,
  });

const ask = (url: string, path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'placeholder', ...headers },
    body: JSON.stringify(body),
  });

const MESSAGES = { model: 'claude-sonnet-5', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
const CALLS: [string, string, object][] = [
  ['messages', '/v1/messages', MESSAGES],
  [
    'responses',
    '/v1/responses',
    { model: 'gpt-5.2', input: [{ type: 'message', role: 'user', content: 'hi' }] },
  ],
  ['chat', '/v1/chat/completions', { model: 'm-1', messages: [{ role: 'user', content: 'hi' }] }],
  [
    'generateContent',
    '/v1beta/models/gemini-2.5-pro:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
];

const sums = (): Record<string, number> =>
  Object.fromEntries(
    (['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const).map((kind) => [
      kind,
      told.reduce((sum, one) => sum + one[kind], 0),
    ]),
  );

describe.each(CALLS)('a call in the words of %s', (name, path, body) => {
  test.each([false, true])('is passed on and counted to the token (as a stream: %s)', async (stream) => {
    const streamed =
      name === 'generateContent' ? path.replace(':generate', ':streamGenerate').concat('?alt=sse') : path;
    const extra = name === 'chat' ? { stream_options: { include_usage: true } } : {};
    const answer = await ask(
      routed(),
      stream ? streamed : path,
      stream ? { ...body, stream, ...extra } : body,
    );
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('hello');
    await door.close();
    const [served] = llm.journal;
    expect(served?.headers['x-api-key']).toBe('the real key');
    expect(sums()).toEqual({ ...served?.told });
    expect(told.every(({ key }) => key.startsWith('wire:'))).toBe(true);
    expect(untold).toBe(0);
  });
});

test('what a long answer has used so far is told before its end, and the rest at its end', async () => {
  let finish = () => {};
  const slow = createServer((_request, response) => {
    const usage = { input_tokens: 100, output_tokens: 1, cache_read_input_tokens: 30 };
    const event = (data: object) => response.write(`data: ${JSON.stringify(data)}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    event({ type: 'message_start', message: { id: 'msg_1', model: MESSAGES.model, usage } });
    finish = () => {
      event({ type: 'message_delta', delta: {}, usage: { output_tokens: 20 } });
      event({ type: 'message_stop' });
      response.end();
    };
  });
  await once(slow.listen(0, '127.0.0.1'), 'listening');
  const { port } = slow.address() as AddressInfo;
  try {
    let answer: Promise<Response> | null = null;
    await new Promise<void>((resolve) => {
      const onUsage = (report: UsageReport) => resolve(void told.push(report));
      const url = routed({ upstream: `http://127.0.0.1:${port}`, onUsage });
      answer = ask(url, '/v1/messages', { ...MESSAGES, stream: true });
    });
    expect(told).toMatchObject([{ input: 100, output: 1, cacheRead: 30 }]);
    finish();
    await (await answer!).text();
    await door.close();
    expect(told).toHaveLength(2);
    expect(sums()).toEqual({ input: 100, output: 20, cacheRead: 30, cacheWrite: 0, reasoning: 0 });
    expect(untold).toBe(0);
  } finally {
    slow.close();
  }
});

test('whatever the program sends as its credential stays here', async () => {
  const sent = { authorization: 'Bearer mine', 'x-goog-api-key': 'mine', 'api-key': 'mine', cookie: 'mine' };
  await (await ask(routed(), '/v1/messages?key=mine', MESSAGES, sent)).text();
  expect(JSON.stringify(llm.journal[0]?.headers)).not.toContain('mine');
});

test('only who knows the route gets through it', async () => {
  const url = routed();
  expect((await ask(url.replace(/\/[^/]+\/0$/, '/guess/0'), '/v1/messages', MESSAGES)).status).toBe(404);
  expect((await ask(url.replace(/0$/, '7'), '/v1/messages', MESSAGES)).status).toBe(404);
  expect(llm.journal).toEqual([]);
});

describe('what is not granted is not passed on', () => {
  test.each([
    ['/v1/files', 403],
    ['/v1/organizations/api_keys', 403],
    ['/v1/messages/../files', 403],
    ['/v1/messages/batches', 403],
  ])('the path %s', async (path, status) => {
    expect((await ask(routed(), path, MESSAGES)).status).toBe(status);
    expect(refused).toMatchObject([{ reason: 'path' }]);
    expect([...llm.journal, ...llm.others]).toEqual([]);
  });

  test.each([
    [['claude-sonnet-5'], 'claude-opus-5', 404],
    [['claude-sonnet-5'], 'claude-sonnet-5', 200],
    [['claude-sonnet-5'], 'claude-sonnet-5-20260101', 200],
    [['claude-sonnet-5', 'haiku'], 'claude-haiku-4-5', 200],
    [['sonnet'], 'claude-sonnet-5[1m]', 200],
    [['sonnet'], 'claude-opus-5', 404],
    [['anthropic/claude-sonnet-5'], 'claude-sonnet-5', 200],
  ])('of the models %j: %s is answered with %i', async (models, model, status) => {
    expect((await ask(routed({ models }), '/v1/messages', { ...MESSAGES, model })).status).toBe(status);
  });

  test('a call that names no model', async () => {
    const { model: _, ...unnamed } = MESSAGES;
    expect((await ask(routed(), '/v1/messages', unnamed)).status).toBe(404);
  });
});

describe('a budget', () => {
  test.each([
    ['/v1/messages', 402],
    ['/v1/responses', 400],
    ['/v1/chat/completions', 402],
  ])('that is spent: %s is refused with %i, at which its programs end', async (path, status) => {
    const url = routed({ room: async () => ({ usd: 0, tokens: null, spent: '$5.00 of $5.00 spent' }) });
    const answer = await ask(url, path, MESSAGES);
    expect(answer.status).toBe(status);
    expect(await answer.text()).toContain('$5.00 of $5.00 spent');
    expect(refused).toMatchObject([{ reason: 'budget' }]);
    expect(llm.journal).toEqual([]);
  });

  test('is not passed by several calls at once: the later ones wait for the first', async () => {
    let left = 50;
    const room = async (): Promise<Room> => ({ usd: null, tokens: left, spent: left > 0 ? null : 'spent' });
    const onUsage = (report: UsageReport): void => {
      told.push(report);
      left -= report.input + report.output;
    };
    const url = routed({ room, onUsage });
    const answers = await Promise.all([1, 2, 3].map(() => ask(url, '/v1/messages', MESSAGES)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 402, 402]);
    expect(llm.journal).toHaveLength(1);
  });
});

describe('what goes wrong', () => {
  test('a provider that refuses charges nothing, and its words arrive', async () => {
    llm.play({
      rules: [{ replies: [{ fail: { status: 529, type: 'overloaded_error', message: 'busy' } }] }],
    });
    const answer = await ask(routed(), '/v1/messages', MESSAGES);
    expect(answer.status).toBe(529);
    expect(await answer.text()).toContain('overloaded_error');
    await door.close();
    expect({ told, untold }).toEqual({ told: [], untold: 0 });
  });

  test('a provider that is not there looks as it does without a door: the connection breaks', async () => {
    const url = routed({ upstream: 'http://127.0.0.1:9' });
    await expect(ask(url, '/v1/messages', MESSAGES)).rejects.toThrow();
    await door.close();
    expect(untold).toBe(0);
  });

  test('an answer that breaks off is told as far as it got, and as not all', async () => {
    llm.play({ rules: [{ replies: [{ say: 'hello', usage: USAGE, drop: 'middle' }] }] });
    const answer = await ask(routed(), '/v1/messages', { ...MESSAGES, stream: true });
    await expect(answer.text()).rejects.toThrow();
    await door.close();
    expect(untold).toBe(1);
    expect(told).toMatchObject([{ input: 100, cacheRead: 30 }]);
  });

  test('a program that hangs up ends the call at the provider', async () => {
    llm.play({ rules: [{ replies: [{ hang: 'before' }] }] });
    const leaving = new AbortController();
    const asking = fetch(`${routed()}/v1/messages`, {
      method: 'POST',
      body: JSON.stringify(MESSAGES),
      signal: leaving.signal,
    });
    await expect.poll(() => llm.journal.length).toBe(1);
    leaving.abort();
    await expect(asking).rejects.toThrow();
    await door.close();
    expect(untold).toBe(1);
  });

  test('a door that is closed cuts what is under way, and nobody gets in any more', async () => {
    llm.play({ rules: [{ replies: [{ hang: 'before' }] }] });
    const url = routed();
    const asking = ask(url, '/v1/messages', MESSAGES).catch((error: Error) => error);
    await expect.poll(() => llm.journal.length).toBe(1);
    await door.close();
    expect(await asking).toBeInstanceOf(Error);
    await expect(ask(url, '/v1/messages', MESSAGES)).rejects.toThrow();
  });
});

test('on the machine’s own network it is no proxy', async () => {
  const { port } = new URL(routed());
  const asking = request({ port, host: '127.0.0.1', path: `${llm.url}/v1/models` }).end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  expect(answer.statusCode).toBe(403);
  answer.resume();
  const tunnel = request({ port, host: '127.0.0.1', method: 'CONNECT', path: 'example.org:443' }).end();
  const [refusal] = (await once(tunnel, 'connect')) as [IncomingMessage];
  expect(refusal.statusCode).toBe(403);
});

describe('inside', () => {
  const inside = () => openGateway({}).open({ at: 'inside', network: [], advice: 'ask somebody' });
  const through = (way: NonNullable<Door['way']>, path: string, method = 'GET'): ClientRequest =>
    request({ socketPath: way.socket, path, method }).end();

  test('the socket is the operator’s alone, and gone with the door', async () => {
    const own = await inside();
    const { socket } = own.way!;
    expect(existsSync(socket)).toBe(true);
    await own.close();
    expect(existsSync(dirname(socket))).toBe(false);
  });

  test('what is not granted is refused, with what to do about it', async () => {
    const own = await inside();
    const [answer] = (await once(through(own.way!, 'http://example.org/'), 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(403);
    let said = '';
    for await (const chunk of answer) said += chunk;
    expect(said).toMatch(/example\.org.*ask somebody/);
    await own.close();
  });

  test('a program that goes to its provider through the proxy arrives all the same', async () => {
    const own = await inside();
    const url = new URL(
      own.route({
        upstream: llm.url,
        headers: { 'x-api-key': 'the real key' },
        models: 'any',
        costOf: () => 0,
        room: async () => UNLIMITED,
        onUsage: (report) => void told.push(report),
        onUntold: () => {},
        onRefused: () => {},
      }),
    );
    const tunnel = request({ socketPath: own.way!.socket, method: 'CONNECT', path: url.host }).end();
    const [, socket] = (await once(tunnel, 'connect')) as [IncomingMessage, ReturnType<typeof connect>];
    const body = JSON.stringify(MESSAGES);
    const asking = request({
      createConnection: () => socket,
      method: 'POST',
      path: `${url.pathname}/v1/messages`,
      headers: { 'content-length': body.length },
    }).end(body);
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(200);
    answer.resume();
    await once(answer, 'end');
    await own.close();
    expect(told).toMatchObject([{ input: 100 }]);
  });
});
