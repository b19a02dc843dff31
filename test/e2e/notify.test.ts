/** Notifications: told once, also by a runner that is killed while it tells; and nothing waits for a channel. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { quoted } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { test, type World } from '../support/e2e/world.ts';
import { type Service, startService } from '../support/notify/service.ts';

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const PATH = '/hooks/verysecretpath';

async function receiver(world: World, settings: Record<string, unknown> = {}): Promise<Service> {
  const service = await startService('webhook', PATH);
  world.atEnd(() => void service.close());
  world.env.HOOK_URL = service.url;
  world.env.HOOK_SECRET = SECRET;
  const team = { kind: 'webhook', url: '$HOOK_URL', secret: '$HOOK_SECRET', ...settings };
  world.settings({ notify: { channels: { team } } });
  return service;
}

const bodies = ({ asked }: Service) => asked.map(({ body }) => JSON.parse(body) as Body);
interface Body {
  type: string;
  data: { id: string; title: string; notices: { issue: number | null; events: string[] }[] };
}

test('a merge is told once, and no secret is written down', async ({ world }) => {
  const service = await receiver(world, { events: ['merged'] });
  const issue = await world.issue({ title: 'Write <!channel> the file' });
  await world.settle();
  await world.settle();
  await expectMergedOnce(world, issue);
  expect(bodies(service)).toMatchObject([
    { type: 'merged', data: { title: `[my répo] Merged: #${issue} Write <!channel> the file` } },
  ]);
  expect(await world.event('notified')).toMatchObject({ data: { channel: 'team' } });
  const { stdout } = await world.cli('config', '--json');
  const log = readFileSync(join(world.root, '.forge', 'logs', 'runner.log'), 'utf8');
  const events = JSON.stringify(await world.events());
  for (const text of [stdout, log, events])
    for (const secret of ['verysecretpath', SECRET]) expect(text).not.toContain(secret);
});

test('a runner killed while it tells: the same message is sent again, and nothing is lost', async ({
  world,
}) => {
  const service = await receiver(world, { events: ['merged', 'idle'] });
  service.next.push(null);
  const issue = await world.issue({});
  const runner = world.run();
  await world.until('the message to arrive', () => service.asked.length > 0);
  // Told, but the answer is not there yet.
  runner.send('SIGKILL');
  await runner.ended;
  await world.settle();
  await expectMergedOnce(world, issue);
  const [first, second, ...rest] = bodies(service);
  expect(second?.data.id).toBe(first?.data.id);
  expect(first?.data.notices).toMatchObject([{ issue, events: ['merged'] }]);
  expect(rest.map(({ data }) => data.notices.map(({ events }) => events))).toEqual([[['idle']]]);
});

test('a channel that never answers keeps nobody from merging, nor a run from its end', async ({ world }) => {
  const service = await receiver(world);
  service.next.push(...Array.from({ length: 50 }, () => null));
  const issue = await world.issue({});
  await world.settle();
  await expectMergedOnce(world, issue);
  expect((await world.event('notify_failed')).data).toMatchObject({ channel: 'team' });
  const { checks } = await world
    .cli('doctor', '--json')
    .then(({ stdout }) => JSON.parse(stdout) as { checks: { name: string; what: string }[] });
  expect(checks.find(({ name }) => name === 'notify')?.what).toContain(
    'a message is waiting to be sent again',
  );
});

test('trying out a command before the first run leaves nothing that looks like work', async ({ world }) => {
  const told = join(world.folder, 'told');
  world.settings({ notify: { channels: { own: { kind: 'command', command: `cat >> ${quoted(told)}` } } } });
  expect(await world.cli('notify', 'test')).toMatchObject({ code: 0, stdout: 'sent    own (command)\n' });
  await expectMergedOnce(
    world,
    await world.issue({}).then(async (issue) => {
      await world.settle();
      return issue;
    }),
  );
  const titles = readFileSync(told, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as Body).data.title);
  expect(titles[0]).toBe('[my répo] A test of notifications');
  expect(titles.slice(1).join()).toMatch(/Merged: #1|notices/);
});

test('`notify test` sends a sample and says what happened', async ({ world }) => {
  const service = await receiver(world);
  expect(await world.cli('notify', 'test')).toMatchObject({ code: 0, stdout: 'sent    team (webhook)\n' });
  service.next.push({ status: 404, body: `no ${PATH}` });
  expect(await world.cli('notify', 'test', '--channel', 'team')).toMatchObject({
    code: 1,
    stdout: 'failed  team (webhook): answered 404: no [redacted]\n',
  });
  const other = await world.cli('notify', 'test', '--channel', 'other');
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('There is no channel other.')]);
  expect(service.asked).toHaveLength(2);
});
