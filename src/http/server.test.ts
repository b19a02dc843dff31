/** The HTTP API as a program or a browser meets it: real requests on loopback, a real repository behind it. */
import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { event } from '../core/event.ts';
import { BY_SHAPE } from '../core/redact.ts';
import { openContext } from '../main.ts';
import { OPERATIONS } from '../operations.ts';
import { OFFERED } from './api.ts';
import { type ServerOptions, type Serving, startServer } from './server.ts';

const here = openedRepository();
let serving: Serving;
const bugs: string[] = [];

const start = (given: Partial<ServerOptions> = {}): Promise<Serving> =>
  startServer({
    port: 0,
    bind: '127.0.0.1',
    token: 'right',
    hosts: [],
    version: '0.0.0',
    redact: BY_SHAPE,
    open: () => openContext(here.root),
    log: (message) => void bugs.push(message),
    ...given,
  });

beforeEach(async () => {
  bugs.length = 0;
  serving = await start();
});
afterEach(async () => {
  await serving.close();
  expect(bugs).toEqual([]);
});

const at = (path: string): string => new URL(path, serving.url).href;
const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(at(path), { headers });
const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(at(path), {
    method: 'POST',
    headers: { authorization: 'Bearer right', 'content-type': 'application/json', ...headers },
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

  it('is named by what it says about itself', async () => {
    const described = (await (await get('api/openapi.json')).json()) as { paths: Record<string, object> };
    expect(Object.keys(described.paths)).toEqual(OFFERED.map((name) => `/api/${name}`));
    for (const name of OFFERED)
      expect(Object.keys(described.paths[`/api/${name}`]!), name).toEqual([
        OPERATIONS[name].access === 'read' ? 'get' : 'post',
      ]);
  });

  it('offers nothing that takes paths of this machine, or is hostile on purpose', () => {
    for (const name of ['init', 'backup', 'restore', 'attack', 'plan.new', 'loop.start_each'] as const)
      expect(OFFERED).not.toContain(name);
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
    expect(await answer.json()).toMatchObject({ error: { code, message: expect.stringMatching(/\w/) } });
  });

  it('goes by the settings as they are now', async () => {
    const slots = async () =>
      ((await (await get('api/status')).json()) as { slots: { max: number } }).slots.max;
    expect(await slots()).toBe(3);
    here.configure('agent: { command: "true", max_concurrent: 7 }\ngate: none');
    expect(await slots()).toBe(7);
  });
});

describe('strangers', () => {
  it('change nothing: no token, and no page of ours', async () => {
    const answer = await fetch(at('api/pause'), { method: 'POST' });
    expect([answer.status, await answer.json()]).toMatchObject([401, { error: { code: 'token_needed' } }]);
    expect(await (await get('api/status')).json()).toMatchObject({ paused: null });
  });

  it('read nothing by a name that was pointed here', async () => {
    const status = await new Promise((done, failed) => {
      request(at('api/status'), { headers: { host: 'evil.example' } }, (answer) => {
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

  it('get the cookie for the right token only, and no other site may send it', async () => {
    const wrong = await fetch(at('login?token=wrong'), { redirect: 'manual' });
    expect([wrong.status, wrong.headers.get('set-cookie')]).toEqual([401, null]);
    const right = await fetch(at('login?token=right'), { redirect: 'manual' });
    const cookie = right.headers.get('set-cookie')!;
    expect(cookie).toMatch(/HttpOnly/i);
    expect(cookie).toMatch(/SameSite=Strict/i);
    const answer = await fetch(at('api/pause'), {
      method: 'POST',
      headers: { cookie: cookie.split(';')[0]! },
    });
    expect(answer.status).toBe(200);
  });
});

describe('the stream', () => {
  const record = async (by: string): Promise<void> =>
    (await here.context.writing()).record({ events: [event('loop_paused', { by })], at: Date.now() });

  /** The numbers and people of the first `count` events. */
  async function heard(path: string, count: number, headers: Record<string, string> = {}): Promise<string[]> {
    const stop = new AbortController();
    const answer = await fetch(at(path), { headers, signal: stop.signal });
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
    const hearing = fetch(at('api/events.stream'));
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
    const woken = await post('api/v1/refresh', {});
    expect([woken.status, await woken.json()]).toMatchObject([
      202,
      { queued: true, operations: ['poll', 'reconcile'] },
    ]);
    const [last] = await (await here.context.reading())!.events({ last: 1 });
    expect(last?.type).toBe('look_requested');
  });

  test.each<[string, () => Promise<Response>, number, string]>([
    ['an unknown issue', () => get('api/v1/99'), 404, 'issue_not_found'],
    ['a word', () => get('api/v1/nothing'), 404, 'issue_not_found'],
    ['a state by POST', () => post('api/v1/state', {}), 405, 'method_not_allowed'],
    [
      'a refresh by PUT',
      () => fetch(at('api/v1/refresh'), { method: 'PUT', headers: { authorization: 'Bearer right' } }),
      405,
      'method_not_allowed',
    ],
  ])('%s', async (_what, ask, status, code) => {
    const answer = await ask();
    expect([answer.status, await answer.json()]).toMatchObject([status, { error: { code } }]);
  });
});
