import { createServer } from 'node:http';
import { afterEach, describe, expect, it, test } from 'vitest';
import { type GitHubScratch, githubScratch } from '../../test/support/github/scratch.ts';
import type { ForgeHook } from '../forge/forge.ts';
import { startWebhook } from '../http/webhook.ts';
import { aboutHooks, listening } from './doctor-webhook.ts';

const HOOK: ForgeHook = { url: 'https://example.com/webhook', active: true, events: ['*'], last: null };

describe('what GitHub’s own list of webhooks says', () => {
  test.each<[string, readonly ForgeHook[] | null, string, RegExp]>([
    ['may not be seen', null, 'ok', /may not see the webhooks/],
    ['there is none', [], 'warn', /no webhook whose address ends with \/webhook/],
    ['somebody else’s', [{ ...HOOK, url: 'https://chat.example.com/in' }], 'warn', /no webhook/],
    ['it is switched off', [{ ...HOOK, active: false }], 'warn', /switched off/],
    [
      'the last delivery got lost',
      [{ ...HOOK, last: { status: 0, message: 'timed out' } }],
      'warn',
      /no answer, timed out/,
    ],
    ['another secret', [{ ...HOOK, last: { status: 401, message: '' } }], 'warn', /failed: 401/],
    ['too few events', [{ ...HOOK, events: ['push'] }], 'warn', /does not send: issues, issue_comment/],
    ['all is well', [{ ...HOOK, last: { status: 202, message: 'OK' } }], 'ok', /answered 202/],
  ])('%s', (_what, hooks, level, says) => {
    const checks = aboutHooks(hooks);
    expect(checks).toMatchObject([{ level, what: expect.stringMatching(says) }]);
    expect(checks[0]!.fix === null).toBe(level === 'ok');
  });
});

test('the port is free, a runner’s own, or another program’s', async () => {
  const runner = await startWebhook({ port: 0, bind: '127.0.0.1', secret: 's', heard: async () => {} });
  const port = Number(new URL(runner.url).port);
  expect(await listening(port, '127.0.0.1')).toMatchObject({
    level: 'ok',
    what: expect.stringContaining('a runner takes'),
  });
  await runner.close();
  expect(await listening(port, '127.0.0.1')).toMatchObject({
    level: 'ok',
    what: expect.stringContaining('is free'),
  });
  const other = createServer((_request, response) => response.end('hello'));
  await new Promise<void>((done) => other.listen(port, '127.0.0.1', done));
  expect(await listening(port, '127.0.0.1')).toMatchObject({
    level: 'fail',
    what: expect.stringContaining('another program'),
  });
  other.close();
});

describe('against GitHub', () => {
  let s: GitHubScratch;
  afterEach(() => s.dispose());

  it('is seen by who may, with the answer of the last delivery', async () => {
    s = await githubScratch();
    const heard = await startWebhook({ port: 0, bind: '127.0.0.1', secret: 'right', heard: async () => {} });
    await s.ada.post('/hooks', { config: { url: heard.url, secret: 'wrong' }, events: ['*'] });
    expect(await s.forge.hooks?.()).toBeNull();
    s.github.world.permissions.set('loop-bot', 'admin');
    expect(await s.forge.hooks?.()).toMatchObject([{ url: heard.url, active: true, last: null }]);
    await s.people.createIssue({ title: 'T', body: 'B' });
    await s.people.comment(1, 'Hello.');
    await s.people.makeReady(1);
    await s.github.webhooks.settled();
    const hooks = (await s.forge.hooks?.()) ?? null;
    expect(hooks).toMatchObject([{ last: { status: 401 } }]);
    expect(aboutHooks(hooks)[0]!.fix).toContain('the same secret');
    await heard.close();
  });
});
