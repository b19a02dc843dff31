import { expect, test } from 'vitest';
import { awaiting } from '../../test/support/play.ts';
import { testPolicy } from '../../test/support/policy.ts';
import { createNews } from './news.ts';
import type { Ports } from './ports.ts';

function around(sees: boolean) {
  const world = { now: 0, trunk: 't0', issue: {}, branch: 'h0', isThere: true };
  const forge = {
    trunk: async () => ({ branch: 'main', sha: world.trunk }),
    ...(sees && {
      seen: async (of: unknown[]) => of.map(() => (world.isThere ? [world.issue, world.branch] : null)),
    }),
  };
  const clock = { monotonic: () => world.now };
  const settings = { policy: () => testPolicy({ pollIntervalMs: 1000 }) };
  const news = createNews({ forge, clock, settings } as unknown as Ports);
  const { task } = awaiting();
  const ask = async () => (await news.among([task])).has(task.id);
  return { world, news, ask };
}

test('is what changed about a task since it was asked, and nothing else', async () => {
  const { world, news, ask } = around(true);
  expect(await ask(), 'nobody has looked yet').toBe(true);
  expect(await ask()).toBe(false);
  world.now = 3_600_000;
  expect(await ask()).toBe(false);
  world.issue = {};
  expect(await ask()).toBe(true);
  world.branch = 'h1';
  expect(await ask()).toBe(true);
  expect(await ask()).toBe(false);
  news.forget(awaiting().task.id);
  expect(await ask()).toBe(true);
  world.isThere = false;
  expect(await ask(), 'it can’t be told').toBe(true);
});

test('a merge of ours is none, a move of trunk by others is', async () => {
  const { world, news, ask } = around(true);
  await ask();
  world.trunk = 't1';
  news.built('t1');
  expect(await ask()).toBe(false);
  expect(await ask()).toBe(false);
  world.trunk = 't2';
  expect(await ask()).toBe(true);
});

test('several merges of ours between two looks are none either; to go back behind one of them is', async () => {
  const { world, news, ask } = around(true);
  world.trunk = 't1';
  news.built('t1');
  await ask();
  for (const sha of ['t2', 't3', 't4']) news.built(sha);
  world.trunk = 't4';
  expect(await ask()).toBe(false);
  world.trunk = 't1';
  expect(await ask()).toBe(true);
});

test('where the forge can’t tell cheaply, it is looked for once in a poll', async () => {
  const { world, ask } = around(false);
  expect(await ask()).toBe(true);
  world.now = 999;
  expect(await ask()).toBe(false);
  world.now = 1000;
  expect(await ask()).toBe(true);
  expect(await ask()).toBe(false);
});
