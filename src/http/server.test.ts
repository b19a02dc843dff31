/** The HTTP API as a program or a browser meets it: real requests on loopback, a real repository behind it. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { sign } from '@octokit/webhooks-methods';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { SCHEMAS, schemaProblems } from '../../test/support/json-schemas.ts';
import { openedRepository } from '../../test/support/opened-repository.ts';
import type { Serving } from '../context.ts';
import { BY_SHAPE } from '../core/access/redact.ts';
import { event } from '../core/event.ts';
import { openContext } from '../main.ts';
import { mcpOverHttp } from '../mcp/http.ts';
import { OPERATIONS } from '../operations.ts';
import { OFFERED } from './api.ts';
import { type ServerOptions, startServer } from './server.ts';

const here = openedRepository();
let serving: Serving;
const bugs: string[] = [];
const heardOf: string[][] = [];

const start = (given: Partial<ServerOptions> = {}): Promise<Serving> =>
  startServer({
    port: 0,
    bind: '127.0.0.1',
    token: 'right',
    hosts: [],
    version: '0.0.0',
    pages: join(here.root, 'pages'),
    schemas: SCHEMAS,
    redact: BY_SHAPE,
    open: () => openContext(here.root),
    mcp: ({ use }) => mcpOverHttp(use, '0.0.0', (message) => void bugs.push(message)),
    webhook: { secret: 'between us', heard: async (kinds) => void heardOf.push(kinds) },
    log: (message) => void bugs.push(message),
    ...given,
  });

beforeEach(async () => {
  bugs.length = heardOf.length = 0;
  serving = await start();
});
afterEach(async () => {
  await serving.close();
  expect(bugs).toEqual([]);
});

const at = (path: string): string => new URL(path, serving.url).href;
const TOKEN = { authorization: 'Bearer right' };
const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(at(path), { headers: { ...TOKEN, ...headers } });
const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(at(path), {
    method: 'POST',
    headers: { ...TOKEN, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('operations', () => {
  it('answers what reads by GET, its input in the query', async () => {
    const made = await post('api/issue.new', { title: 'Ärger', body: 'It is done when `x` prints 1.' });
    expect([made.status, await made.json()]).toMatchObject([200, { number: 1, title: 'Ärger' }]);
    const found = await get('api/issue.show?issue=1');
    expect(await found.json()).toMatchObject({ number: 1, title: 'Ärger' });
    expect(await (await get('api/issue.list?all=true')).json()).toHaveLength(1);
    expect(await (await get('api/status')).json()).toMatchObject({ tasks: [], slots: { used: 0 } });
  });

  it('is described by what it says about itself, answers and all', async () => {
    const text = await (await get('api/openapi.json')).text();
    const described = JSON.parse(text) as {
      paths: Record<string, Record<string, { responses: object }>>;
      components: { schemas: Record<string, object> };
    };
    const operations = Object.keys(described.paths).slice(0, OFFERED.length);
    expect(operations).toEqual(OFFERED.map((name) => `/api/${name}`));
    for (const name of OFFERED) {
      const method = OPERATIONS[name].access === 'read' ? 'get' : 'post';
      expect(Object.keys(described.paths[`/api/${name}`]!), name).toEqual([method]);
      expect(described.paths[`/api/${name}`]![method]!.responses).toMatchObject({
        200: { content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } } },
      });
    }
    for (const path of [
      '/api/events.stream',
      '/api/v1/state',
      '/api/v1/{identifier}',
      '/mcp',
      '/webhook',
      '/metrics',
    ])
      expect(Object.keys(described.paths)).toContain(path);
    const known = Object.keys(described.components.schemas);
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) expect(known).toContain(name);
    expect(text).not.toContain('types.json');
  });

  it('serves every path that it describes beside those of operations', async () => {
    const described = (await (await get('api/openapi.json')).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    for (const [path, methods] of Object.entries(described.paths).slice(OFFERED.length)) {
      // It has a client of its own in its tests, and logs whoever speaks no MCP.
      if (path === '/mcp') continue;
      const method = Object.keys(methods)[0]!.toUpperCase();
      const stop = new AbortController();
      const answer = await fetch(at(path), {
        method,
        headers: TOKEN,
        redirect: 'manual',
        signal: stop.signal,
      });
      const text = path === '/api/events.stream' ? '' : await answer.text();
      expect(text, path).not.toContain('"not_found"');
      expect(answer.status, path).not.toBe(405);
      stop.abort();
    }
  });

  it('offers nothing that takes paths of this machine, removes the loop, or is hostile on purpose', () => {
    const terminals = ['init', 'backup', 'restore', 'attack', 'plan.new', 'loop.start_each', 'uninstall'];
    for (const name of terminals) expect(OFFERED).not.toContain(name);
  });

  it.each<[string, () => Promise<Response>]>([
    ['agents', () => get('api/doctor?agents=true')],
    ['budgetUsd', () => post('api/loop.start', { goal: 'All of it', budgetUsd: 1000 })],
    ['sandbox', () => post('api/loop.start', { goal: 'All of it', sandbox: 'none' })],
  ])('leaves to the command line what costs or confines: %s', async (field, ask) => {
    const answer = await ask();
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { code: 'bad_input', message: expect.stringContaining(`takes no ${field} here`) } },
    ]);
    const { paths } = (await (await get('api/openapi.json')).json()) as { paths: object };
    expect(JSON.stringify(paths)).not.toContain(`"${field}"`);
  });

  test.each<[string, () => Promise<Response>, number, string]>([
    ['an input that does not fit', () => get('api/issue.show?issue=no'), 400, 'bad_input'],
    ['something that is not there', () => get('api/task.show?task=9'), 422, 'refused'],
    ['a path that is not there', () => get('api/nothing'), 404, 'not_found'],
    ['a write by GET', () => get('api/pause'), 405, 'method_not_allowed'],
    ['a read by POST', () => post('api/status', {}), 405, 'method_not_allowed'],
    ['a body that is no JSON', () => post('api/pause', '{'), 400, 'bad_input'],
    ['a body that is a list', () => post('api/pause', []), 400, 'bad_input'],
    [
      'a body of another type',
      () => post('api/pause', '{"a":1}', { 'content-type': 'text/plain' }),
      400,
      'bad_input',
    ],
    [
      'a body without end',
      () => post('api/issue.new', { title: 'x', body: 'y'.repeat(3_000_000) }),
      413,
      'too_large',
    ],
  ])('%s is refused with a code and words', async (_what, ask, status, code) => {
    const answer = await ask();
    expect(answer.status).toBe(status);
    const body = await answer.json();
    expect(body).toMatchObject({ error: { code, message: expect.stringMatching(/\w/) } });
    expect(schemaProblems('http.error', body)).toEqual([]);
  });

  it('says of a write which events it became, and not those of others', async () => {
    const [one, other] = await Promise.all([post('api/pause', {}), post('api/refresh', {})]);
    const events = (await here.context.reading())!.events();
    const typeOf = async (answer: Response) => {
      const seqs = answer.headers.get('forge-loop-events')!.split(', ').map(Number);
      return (await events).filter(({ seq }) => seqs.includes(seq)).map(({ type }) => type);
    };
    expect([await typeOf(one), await typeOf(other)]).toEqual([['loop_paused'], ['look_requested']]);
    const { task } = await here.taskOf(await here.ready('Write it'), 'a1b2c3d4');
    const cancelled = await post('api/task.cancel', { task: task.id });
    const [last] = await (await here.context.reading())!.events({ last: 1 });
    expect(last?.type).toBe('request_made');
    expect(cancelled.headers.get('forge-loop-events')).toBe(String(last?.seq));
    expect((await get('api/status')).headers.get('forge-loop-events')).toBeNull();
  });

  it('goes by the settings as they are now', async () => {
    const slots = async () =>
      ((await (await get('api/status')).json()) as { slots: { max: number } }).slots.max;
    expect(await slots()).toBe(3);
    here.configure('agent: { command: "true", max_concurrent: 7 }\ngate: none');
    expect(await slots()).toBe(7);
  });
});

describe('pages', () => {
  beforeEach(() => {
    mkdirSync(join(here.root, 'pages', 'assets'), { recursive: true });
    writeFileSync(join(here.root, 'pages', 'index.html'), '<!doctype html><p>Hi</p>');
    writeFileSync(join(here.root, 'pages', 'assets', 'a-1.js'), 'void 0;');
  });

  it('answers every place of the dashboard with its one page, never kept', async () => {
    for (const path of ['', 'board', 'tasks/3f2a?log=x']) {
      const answer = await get(path);
      expect(await answer.text(), path).toContain('<p>Hi</p>');
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('content-security-policy')).toContain("script-src 'self'");
    }
  });

  it('sends files compressed, and lets them be kept by their names', async () => {
    const answer = await get('assets/a-1.js', { 'accept-encoding': 'gzip' });
    expect(await answer.text()).toBe('void 0;');
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(answer.headers.get('cache-control')).toContain('immutable');
    expect(answer.headers.get('content-type')).toContain('text/javascript');
  });

  it.each(['assets/b.js', 'assets/..%2f..%2fWORKFLOW.md', 'WORKFLOW.md', 'api/nothing'])(
    'has nothing at %s',
    async (path) => {
      expect((await get(path)).status).toBe(404);
    },
  );

  it('says so where it was not built', async () => {
    rmSync(join(here.root, 'pages'), { recursive: true });
    const answer = await get('');
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('npm run build')]);
  });
});

describe('strangers', () => {
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(at(path), { redirect: 'manual', ...init });
  const own = (): Record<string, string> => ({
    'content-type': 'application/json',
    origin: new URL(serving.url).origin,
    'sec-fetch-site': 'same-origin',
  });

  it.each<[string, string, RequestInit]>([
    ['read', 'api/status', {}],
    ['hear events', 'api/events.stream', {}],
    ['read by Symphony’s names', 'api/v1/state', {}],
    ['change anything', 'api/pause', { method: 'POST' }],
    ['list tools', 'mcp', { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }],
    ['remove the loop', 'api/uninstall', { method: 'POST', body: '{"yes":true}' }],
    ['spend money', 'api/doctor?agents=true', {}],
    ['read figures', 'metrics', {}],
  ])('can’t %s, not even with the headers of our own page', async (_what, path, init) => {
    for (const headers of [{}, own(), { ...own(), authorization: 'Bearer wrong' }]) {
      const answer = await ask(path, { ...init, headers });
      expect([answer.status, await answer.json()]).toMatchObject([401, { error: { code: 'token_needed' } }]);
    }
    expect(await (await get('api/status')).json()).toMatchObject({ paused: null });
  });

  it('get no page but the one to log in', async () => {
    for (const path of ['', 'board', 'tasks/3?step=1', 'assets/a-1.js']) {
      const answer = await ask(path);
      expect([answer.status, await answer.text()]).toEqual([
        401,
        expect.stringContaining(`/login?to=${encodeURIComponent(`/${path}`)}`),
      ]);
    }
    const login = await ask('login?to=/board');
    expect([login.status, await login.text()]).toEqual([200, expect.stringContaining('value="/board"')]);
  });

  it('read nothing by a name that was pointed here', async () => {
    const status = await new Promise((done, failed) => {
      request(at('api/status'), { headers: { ...TOKEN, host: 'evil.example' } }, (answer) => {
        answer.resume();
        done(answer.statusCode);
      })
        .once('error', failed)
        .end();
    });
    expect(status).toBe(421);
  });

  it('get no script to run: whatever is shown, nothing of it is loaded or framed', async () => {
    const { headers } = await get('api/status');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('may not be let in by a setting alone: the network needs a token', async () => {
    await expect(start({ bind: '0.0.0.0', token: null })).rejects.toThrow(/everybody who reaches it/);
  });
});

describe('the operator', () => {
  const open = (link: string): Promise<Response> => fetch(link, { redirect: 'manual' });
  const enter = (fields: Record<string, string>): Promise<Response> =>
    fetch(at('login'), { method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) });
  const cookieOf = (answer: Response): string => answer.headers.get('set-cookie')!.split(';')[0]!;
  const pause = (cookie: string): Promise<Response> =>
    fetch(at('api/pause'), { method: 'POST', headers: { cookie, origin: new URL(serving.url).origin } });

  it('is logged in by the printed link, with a cookie that no script and no other site can use', async () => {
    const answer = await open(serving.link);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
    expect(answer.headers.get('set-cookie')).toMatch(/HttpOnly.*SameSite=Strict/i);
    expect((await pause(cookieOf(answer))).status).toBe(200);
  });

  it('needs no setting: each start has a key of its own', async () => {
    await serving.close();
    serving = await start({ token: null });
    const first = await open(serving.link);
    expect((await pause(cookieOf(first))).status).toBe(200);
    await serving.close();
    serving = await start({ token: null });
    expect((await pause(cookieOf(first))).status).toBe(401);
    for (const nothing of ['', 'null', 'right']) expect((await enter({ token: nothing })).status).toBe(401);
    const key = new URL(serving.link).searchParams.get('token')!;
    expect((await get('api/status', { authorization: `Bearer ${key}` })).status).toBe(200);
  });

  it('stays logged in over a restart where a token is set', async () => {
    const cookie = cookieOf(await open(serving.link));
    const port = Number(new URL(serving.url).port);
    await serving.close();
    serving = await start({ port });
    expect((await pause(cookie)).status).toBe(200);
  });

  it('may enter the token, and is led to the place that was asked for', async () => {
    const wrong = await enter({ token: 'wrong', to: '/board' });
    expect([wrong.status, wrong.headers.get('set-cookie'), await wrong.text()]).toEqual([
      401,
      null,
      expect.stringContaining('This is not the token.'),
    ]);
    const right = await enter({ token: 'right', to: '/tasks/3?step=1' });
    expect([right.status, right.headers.get('location')]).toEqual([303, '/tasks/3?step=1']);
    expect((await pause(cookieOf(right))).status).toBe(200);
  });

  it.each(['https://evil.example/', '//evil.example', '/\\evil.example', '/x/..//evil.example'])(
    'is never led elsewhere: %s',
    async (to) => {
      for (const answer of [
        await enter({ token: 'right', to }),
        await open(at(`login?token=right&to=${encodeURIComponent(to)}`)),
      ])
        expect(answer.headers.get('location')).toBe('/');
    },
  );

  it('writes nobody’s text into the page to log in', async () => {
    const answer = await open(at(`login?to=${encodeURIComponent('/"><script>alert(1)</script>')}`));
    expect(await answer.text()).not.toContain('<script>');
  });
});

describe('deliveries of GitHub', () => {
  const deliver = async (secret: string, path = '/webhook', method = 'POST'): Promise<number> => {
    const headers = {
      host: 'loop.example.org',
      'x-github-event': 'issues',
      'x-github-delivery': 'd1',
      'x-hub-signature-256': await sign(secret, '{}'),
    };
    return new Promise((done, failed) => {
      request(new URL(path, serving.url), { method, headers, agent: false }, (answer) => {
        answer.resume();
        done(answer.statusCode ?? 0);
      })
        .once('error', failed)
        .end(method === 'GET' ? undefined : '{}');
    });
  };

  it('wake by their signature alone, under any name, at one path', async () => {
    expect(await deliver('between us')).toBe(202);
    expect(await deliver('between us')).toBe(200);
    expect(await deliver('guessed')).toBe(401);
    expect(await deliver('between us', '/webhook', 'GET')).toBe(405);
    for (const path of ['/webhook/x', '/api/pause', '/webhook/../api/pause', '/mcp'])
      expect(await deliver('between us', path), path).toBe(421);
    await serving.close();
    expect(heardOf).toEqual([['issues']]);
  });

  it('are not taken where no secret is agreed on', async () => {
    await serving.close();
    serving = await start({ webhook: null });
    expect(await deliver('between us')).toBe(421);
    expect((await post('webhook', {})).status).toBe(404);
  });
});

describe('the stream', () => {
  const record = async (by: string): Promise<void> =>
    (await here.context.writing()).record({ events: [event('loop_paused', { by })], at: Date.now() });

  /** The numbers and people of the first `count` events. */
  async function heard(path: string, count: number, headers: Record<string, string> = {}): Promise<string[]> {
    const stop = new AbortController();
    const answer = await fetch(at(path), { headers: { ...TOKEN, ...headers }, signal: stop.signal });
    expect(answer.headers.get('content-type')).toContain('text/event-stream');
    let text = '';
    const events = (): string[] => text.split('\n\n').filter((one) => /^data: .*"seq"/m.test(one));
    for await (const part of answer.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(part).toString();
      if (events().length >= count) break;
    }
    stop.abort();
    return events().map((one) => {
      const { seq, data } = JSON.parse(/^data: (.*)$/m.exec(one)![1]!) as {
        seq: number;
        data: { by: string };
      };
      expect(one).toContain(`id: ${seq}`);
      return `${seq} ${data.by}`;
    });
  }

  it('has every event once, from where a browser says that it stopped', async () => {
    for (const by of ['a', 'b', 'c']) await record(by);
    expect(await heard('api/events.stream?after=0', 3)).toEqual(['1 a', '2 b', '3 c']);
    expect(await heard('api/events.stream', 2, { 'last-event-id': '1' })).toEqual(['2 b', '3 c']);
  });

  it('without a number begins with what happens next', async () => {
    await record('before');
    const hearing = get('api/events.stream');
    const reader = (await hearing).body!.getReader();
    const first = Buffer.from((await reader.read()).value!).toString();
    expect(first).toContain('event: connected');
    await record('after');
    const next = Buffer.from((await reader.read()).value!).toString();
    expect(next).toContain('"after"');
    expect(next).not.toContain('"before"');
    await reader.cancel();
  });
});

describe('Symphony', () => {
  it('finds the state, an issue, and a way to wake the loop (symphony 6, 11)', async () => {
    const issue = await here.ready('Write it');
    const stored = await here.taskOf(issue, 'a1b2c3d4');
    expect(await (await get('api/v1/state')).json()).toMatchObject({
      generated_at: expect.stringMatching(/Z$/),
      counts: { running: 0, retrying: 0 },
      running: [],
      retrying: [],
      codex_totals: { input_tokens: 0, output_tokens: 0, total_tokens: 0, seconds_running: 0 },
      rate_limits: null,
    });
    expect(await (await get(`api/v1/${issue}`)).json()).toMatchObject({
      issue_id: String(issue),
      issue_identifier: `#${issue}`,
      status: 'waiting',
      tracked: { id: stored.task.id },
      running: null,
      retry: null,
    });
    expect((await get(`api/v1/%23${issue}`)).status).toBe(200);
    const woken = await post('api/v1/refresh', {});
    const body = await woken.json();
    expect([woken.status, body]).toMatchObject([202, { queued: true, operations: ['poll', 'reconcile'] }]);
    expect([
      ...schemaProblems('symphony.state', await (await get('api/v1/state')).json()),
      ...schemaProblems('symphony.issue', await (await get(`api/v1/${issue}`)).json()),
      ...schemaProblems('symphony.refresh', body),
    ]).toEqual([]);
    const [last] = await (await here.context.reading())!.events({ last: 1 });
    expect(last?.type).toBe('look_requested');
  });

  it('finds a plan by its name (symphony 6)', async () => {
    await post('api/loop.start', { goal: 'All of it', name: 'tidy' });
    const answer = await get('api/v1/tidy');
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { issue_identifier: 'tidy', tracked: { name: 'tidy', issue: null } },
    ]);
  });

  it('finds how much of the account is used up, as the provider said last (symphony 11, 12)', async () => {
    const windows = [{ name: 'primary', usedPercent: 42, resetsAt: 0 }];
    const seen = event('rate_limits_seen', { role: 'coder', turn: 1, windows });
    const { task } = await here.taskOf(await here.ready('Write it'), 'a1b2c3d4');
    await (await here.context.writing()).record({ task: task.id, events: [seen], at: 1 });
    expect(await (await get('api/v1/state')).json()).toMatchObject({
      rate_limits: {
        held: [],
        windows: [{ name: 'primary', used_percent: 42, resets_at: '1970-01-01T00:00:00.000Z' }],
      },
    });
  });

  test.each<[string, () => Promise<Response>, number, string]>([
    ['an unknown issue', () => get('api/v1/99'), 404, 'issue_not_found'],
    ['a word', () => get('api/v1/nothing'), 404, 'issue_not_found'],
    ['a state by POST', () => post('api/v1/state', {}), 405, 'method_not_allowed'],
    ['a refresh by GET', () => get('api/v1/refresh'), 405, 'method_not_allowed'],
    [
      'a refresh by PUT',
      () => fetch(at('api/v1/refresh'), { method: 'PUT', headers: TOKEN }),
      405,
      'method_not_allowed',
    ],
  ])('%s', async (_what, ask, status, code) => {
    const answer = await ask();
    expect([answer.status, await answer.json()]).toMatchObject([status, { error: { code } }]);
  });
});
