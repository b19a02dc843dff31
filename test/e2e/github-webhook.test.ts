/** Being told instead of looking: signed deliveries wake the loop, and everything else is as without them. */
import { expect } from 'vitest';
import { type OnGitHub, test } from '../support/e2e/on-github.ts';
import type { World } from '../support/e2e/world.ts';

const SECRET = 'between us';

/** A runner that would look by itself once in ten minutes, subscribed at GitHub with this secret. */
async function listening(world: World, on: OnGitHub, secret: string) {
  world.env.HOOK_SECRET = SECRET;
  await on.settings({
    polling: { interval_ms: 600_000 },
    webhook: { port: 0, secret: '$HOOK_SECRET', poll_interval_ms: 600_000 },
  });
  const runner = world.run();
  const url = await world.until('the endpoint', () => /received at (\S+)/.exec(runner.said())?.[1]);
  on.github.world.hooks.push({ id: 1, url, secret, events: ['*'] });
  await world.event('runner_started');
  return runner;
}

test('a label, a push and the checks are noticed at once, a repeated delivery is not', async ({
  world,
  on,
}) => {
  on.ci('failure', 'success');
  const runner = await listening(world, on, SECRET);
  const issue = await on.issue('Write the file');
  world.script({ when: { role: 'coder' }, steps: [{ append: { 'done-1.txt': 'done\n' } }] });
  await on.ready(issue);
  expect(await world.state(issue, 'merged')).toMatchObject({ turns: 2 });
  const [delivery] = on.github.webhooks.deliveries;
  expect(delivery!.status).toBe(202);
  await on.github.webhooks.redeliver(delivery!.id);
  expect(delivery!.status).toBe(200);
  runner.send('SIGTERM');
  await world.finished(runner);
});

test('a second runner learns from the first what that was told; a wrong secret wakes nobody', async ({
  world,
  on,
}) => {
  const first = await listening(world, on, 'guessed');
  const issue = await on.issue('Write the file');
  await on.github.webhooks.settled();
  expect(on.github.webhooks.deliveries.map(({ status }) => status)).toEqual([401]);
  expect((await world.events()).filter((one) => one.type === 'webhook_received')).toEqual([]);

  // The first has the port and the intake; the second has neither, and one of the tasks.
  const { port } = new URL(on.github.world.hooks[0]!.url);
  await on.settings({
    polling: { interval_ms: 600_000 },
    webhook: { port: Number(port), secret: '$HOOK_SECRET', poll_interval_ms: 600_000 },
  });
  const second = world.run();
  await world.until('its warning', () => second.said().includes('another process has the port'));
  on.github.world.hooks[0]!.secret = SECRET;
  await on.ready(issue);
  expect(await world.state(issue, 'merged')).toMatchObject({ turns: 1 });
  for (const runner of [first, second]) {
    runner.send('SIGTERM');
    await world.finished(runner);
  }
});
