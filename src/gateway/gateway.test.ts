/** The whole way of a call: a program, a door, and a provider that keeps a journal. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type ClientRequest, createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Llm, startLlm } from '../../test/support/llm/server.ts';
import type { UsageReport } from '../agent/agent.ts';
import type { Room } from '../core/money/budget.ts';
import { LARGEST_BODY } from './bodies.ts';
import type { Door, Route } from './gateway.ts';
import { openGateway } from './server.ts';

const USAGE = { input: 100, output: 20, cacheRead: 30, cacheWrite: 0, reasoning: 6 };
const NO_LIMIT = { usd: null, tokens: null };
const UNLIMITED: Room = { task: NO_LIMIT, loop: NO_LIMIT, spent: null };
const SPEAKS = ['messages', 'responses', 'chat', 'generate'] as const;

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

const priced: Route['mostOf'] = (_, { input, output }) => (input + output) / 1000;
const routed = (change: Partial<Route> = {}, by = door): string =>
  by.route({
    task: 'one',
    upstream: llm.url,
    speaks: SPEAKS,
    headers: { 'x-api-key': 'the real key' },
    models: 'any',
    isOpen: false,
    costOf: priced,
    mostOf: priced,
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
  const names = ['x-goog-api-key', 'api-key', 'cookie', 'openai-organization', 'openai-project'];
  const sent = {
    authorization: 'Bearer mine',
    ...Object.fromEntries([...names, 'x-goog-user-project'].map((name) => [name, 'mine'])),
  };
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
    ['/v1/threads/thread_1/messages', 403],
    ['/v1/organizations/x/models', 403],
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

  test('what the provider is not asked in', async () => {
    expect((await ask(routed({ speaks: ['responses'] }), '/v1/messages', MESSAGES)).status).toBe(403);
    expect(llm.journal).toEqual([]);
  });

  test.each([
    ['/v1/messages', { ...MESSAGES, tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }, null],
    ['/v1/responses', { model: 'm', tools: [{ type: 'mcp', server_url: 'https://evil.example/' }] }, null],
    [
      '/v1/messages/count_tokens',
      { ...MESSAGES, mcp_servers: [{ type: 'url', url: 'https://evil.example/?x' }] },
      'https://evil.example/?x',
    ],
  ])('an errand of the provider by %s', async (path, body, url) => {
    const answer = await ask(routed(), path, body);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('would let the provider go where this role may not');
    expect(refused).toMatchObject([{ reason: 'errand', url }]);
    expect([...llm.journal, ...llm.others]).toEqual([]);
  });

  test('unless the role may go anywhere', async () => {
    const body = { ...MESSAGES, tools: [{ type: 'web_search_20250305', name: 'web_search' }] };
    expect((await ask(routed({ isOpen: true }), '/v1/messages', body)).status).toBe(200);
  });

  test('a call in the background, whose usage nobody hears', async () => {
    const body = { model: 'gpt-5.2', input: 'hi', background: true };
    expect((await ask(routed(), '/v1/responses', body)).status).toBe(400);
    expect(refused).toMatchObject([{ reason: 'setting' }]);
    expect(llm.journal).toEqual([]);
  });

  test('a second meaning: what was looked at is what is sent', async () => {
    let sent = '';
    const plain = createServer(async (asked, response) => {
      for await (const chunk of asked) sent += chunk;
      response.end('{}');
    });
    await once(plain.listen(0, '127.0.0.1'), 'listening');
    const { port } = plain.address() as AddressInfo;
    const url = routed({ models: ['claude-sonnet-5'], upstream: `http://127.0.0.1:${port}` });
    const twice = JSON.stringify(MESSAGES).replace('{', '{"model":"claude-opus-5",');
    await (await fetch(`${url}/v1/messages`, { method: 'POST', body: twice })).text();
    plain.close();
    expect(JSON.parse(sent)).toEqual(MESSAGES);
    expect(sent).not.toContain('claude-opus-5');
  });

  test('a body that nobody has the memory for', async () => {
    const answer = await ask(routed(), '/v1/messages', { ...MESSAGES, system: 'x'.repeat(LARGEST_BODY) });
    expect(answer.status).toBe(413);
    await answer.text();
    expect((await ask(routed(), '/v1/messages', MESSAGES)).status).toBe(200);
  });

  test('a model that is named for when the first does not answer', async () => {
    const url = routed({ models: ['m-1'] });
    const body = { model: 'm-1', messages: [{ role: 'user', content: 'hi' }] };
    const answer = await ask(url, '/v1/chat/completions', { ...body, models: ['m-1', 'm-dear'] });
    expect(answer.status).toBe(404);
    expect(refused).toEqual([{ reason: 'model', why: 'the model m-dear' }]);
    expect((await ask(url, '/v1/chat/completions', { ...body, models: ['m-1'] })).status).toBe(200);
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
    const url = routed({ room: async () => ({ ...UNLIMITED, spent: '$5.00 of $5.00 spent' }) });
    const answer = await ask(url, path, MESSAGES);
    expect(answer.status).toBe(status);
    expect(await answer.text()).toContain('$5.00 of $5.00 spent');
    expect(refused).toMatchObject([{ reason: 'budget' }]);
    expect(llm.journal).toEqual([]);
  });

  test.each([
    ['messages', { ...MESSAGES, max_tokens: 700, max_output_tokens: 1 }, 700],
    ['messages', { ...MESSAGES, max_tokens: 1, max_output_tokens: 700 }, 1],
    ['chat/completions', { model: 'm-1', messages: [], max_output_tokens: 1 }, 32_000],
    [
      'chat/completions',
      { model: 'm-1', messages: [], max_tokens: 1, max_completion_tokens: 700, n: 2 },
      1400,
    ],
    ['responses', { model: 'm-1', input: 'hi', max_tokens: 1, n: 9 }, 32_000],
  ])('counts with what its own provider heeds: %s %j', async (path, body, most) => {
    let asked = 0;
    const mostOf: Route['mostOf'] = (_, { output }) => {
      asked = output;
      return 0;
    };
    await ask(routed({ mostOf }), `/v1/${path}`, body);
    expect(asked).toBe(most);
  });

  test('is not passed by several calls at once: the later ones wait for the first', async () => {
    let left = 50;
    const room = async (): Promise<Room> => ({
      ...UNLIMITED,
      task: { usd: null, tokens: left },
      spent: left > 0 ? null : 'spent',
    });
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

describe('a call that does not tell what it used', () => {
  const HALF = { rules: [{ replies: [{ say: 'hello', usage: USAGE, drop: 'middle' as const }] }] };
  const within = (left: Partial<Room>) => async (): Promise<Room> => ({ ...UNLIMITED, ...left });
  const broken = async (url: string): Promise<void> => {
    llm.play(HALF);
    const answer = await ask(url, '/v1/messages', { ...MESSAGES, max_tokens: 1000, stream: true });
    await expect(answer.text()).rejects.toThrow();
    llm.play({ rules: [{ replies: [{ say: 'hello', usage: USAGE, times: 'always' }] }] });
  };

  test('counts with all that it may have used, until its route ends', async () => {
    const left = within({ task: { usd: null, tokens: 800 } });
    const url = routed({ room: left });
    await broken(url);
    const answer = await ask(url, '/v1/messages', MESSAGES);
    expect(answer.status).toBe(402);
    expect(await answer.text()).toContain('did not tell what they used');
    expect(refused.at(-1)).toMatchObject({ reason: 'untold' });
    const other = await openGateway({}).open({ at: 'machine', network: [], advice: '' });
    expect((await ask(routed({ room: left }, other), '/v1/messages', MESSAGES)).status).toBe(200);
    await other.close();
  });

  test('leaves room where there is enough', async () => {
    const url = routed({ room: within({ task: { usd: null, tokens: 5000 } }) });
    await broken(url);
    expect((await ask(url, '/v1/messages', MESSAGES)).status).toBe(200);
  });

  test('counts against what all tasks share, too, but not against another task’s own budget', async () => {
    const gateway = openGateway({});
    const doors = await Promise.all(
      [1, 2].map(() => gateway.open({ at: 'machine', network: [], advice: '' })),
    );
    const [one, other] = doors as [Door, Door];
    const shared = { room: within({ loop: { usd: null, tokens: 800 } }) };
    await broken(routed(shared, one));
    const own = routed({ task: 'two', room: within({ task: { usd: null, tokens: 800 } }) }, other);
    expect((await ask(own, '/v1/messages', MESSAGES)).status).toBe(200);
    const url = routed({ task: 'two', ...shared }, other);
    expect((await ask(url, '/v1/messages', MESSAGES)).status).toBe(402);
    await one.close();
    expect((await ask(url, '/v1/messages', MESSAGES)).status).toBe(200);
    await other.close();
  });
});

test('a chat that did not ask what it used is counted, and sees nothing of that', async () => {
  const strict = createServer(async (asked, response) => {
    let body = '';
    for await (const chunk of asked) body += chunk;
    const chunks = [
      { id: 'c', model: 'm-1', choices: [{ index: 0, delta: { content: 'hello' } }] },
      ...(JSON.parse(body).stream_options?.include_usage
        ? [{ id: 'c', model: 'm-1', choices: [], usage: { prompt_tokens: 100, completion_tokens: 20 } }]
        : []),
    ];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end('data: [DONE]\n\n');
  });
  await once(strict.listen(0, '127.0.0.1'), 'listening');
  const { port } = strict.address() as AddressInfo;
  const url = routed({ upstream: `http://127.0.0.1:${port}` });
  const body = { model: 'm-1', stream: true, messages: [] };
  const plain = await (await ask(url, '/v1/chat/completions', body)).text();
  const asking = { ...body, stream_options: { include_usage: true } };
  const whole = await (await ask(url, '/v1/chat/completions', asking)).text();
  strict.close();
  await door.close();
  expect(plain).toMatch(/hello[\s\S]*\[DONE\]/);
  expect([plain, whole].map((text) => text.includes('usage'))).toEqual([false, true]);
  expect(sums()).toMatchObject({ input: 200, output: 40 });
  expect(untold).toBe(0);
});

test('a call of more parts than anybody needs is not read, which would stop the loop for a minute', async () => {
  const body = `{"model":"claude-sonnet-5","max_tokens":9,"messages":[${'[],'.repeat(300_000)}1]}`;
  const answer = await fetch(`${routed()}/v1/messages`, { method: 'POST', body });
  expect(answer.status).toBe(400);
  expect(refused).toMatchObject([{ reason: 'setting' }]);
  expect(llm.journal).toEqual([]);
});

test('a door takes no more connections than builds need', async () => {
  const { port } = new URL(routed());
  const sockets = Array.from({ length: 300 }, () => connect(Number(port), '127.0.0.1'));
  const dropped = sockets.map((socket) => once(socket.on('error', () => {}).resume(), 'close'));
  await Promise.race(dropped);
  expect(sockets.filter(({ destroyed }) => destroyed).length).toBeLessThanOrEqual(300 - 256);
  for (const socket of sockets) socket.destroy();
  await Promise.all(dropped);
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

  test('one connection that asks for the door again and again takes up no more than one', async () => {
    const own = await inside();
    const warned: Error[] = [];
    const warn = (warning: Error): void => void warned.push(warning);
    process.on('warning', warn);
    const { host } = new URL(routed({}, own));
    const socket = connect(own.way!.socket);
    for (let time = 0; time < 20; time += 1) {
      socket.write(`CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
      await once(socket, 'data');
    }
    socket.destroy();
    await own.close();
    process.off('warning', warn);
    expect(warned).toEqual([]);
  });

  test('what is offered and gone is not waited for', async () => {
    const own = await inside();
    const offer = async (): Promise<Socket> => {
      const asked = through(own.way!, 'inside.invalid:1', 'CONNECT');
      const [, socket] = (await once(asked, 'connect')) as [IncomingMessage, Socket];
      return socket;
    };
    const gone = await offer();
    gone.destroy();
    await once(gone, 'close');
    const offered = await offer();
    const client = connect(await own.reach(4242), '127.0.0.1');
    expect(String((await once(offered, 'data'))[0])).toBe('4242\n');
    client.destroy();
    await own.close();
  });

  test('a program that goes to its provider through the proxy arrives all the same', async () => {
    const own = await inside();
    const url = new URL(routed({}, own));
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
