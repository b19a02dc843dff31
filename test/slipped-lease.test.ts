/** A plan that a person started, on virtual time: its lease is past its end, and who may go on with it. */
import { expect, test } from 'vitest';
import { startedEvents } from '../src/core/plan/start.ts';
import { PLANS_LEASE } from '../src/store/store.ts';
import { WILLING } from './simulation/agent.ts';
import { seeded } from './simulation/random.ts';
import { type SimRunner, startRunner } from './simulation/runner.ts';
import { NO_FAULTS } from './simulation/story.ts';
import { createTimeline } from './simulation/time.ts';
import { createWorld, type World } from './simulation/world.ts';
import { TWO } from './support/plan-play.ts';
import { testPolicy } from './support/policy.ts';

const HOUR = 3_600_000;

const start = (world: World, owner: string): SimRunner =>
  startRunner(
    world,
    testPolicy({ gate: { commands: ['./ci/test.sh'] } }),
    WILLING,
    NO_FAULTS,
    owner,
    'until_idle',
  );

async function ended(world: World, runner: SimRunner): Promise<void> {
  let isOver = false;
  void runner.done.then(() => {
    isOver = true;
  });
  await world.time.play(() => isOver, world.time.now() + 24 * HOUR);
}

/** The runner stands still in the plan's first turn, until its leases have been over for long. */
async function overslept(): Promise<{ world: World; runner: SimRunner }> {
  const world = createWorld(createTimeline(0), seeded(1));
  const { store, time } = world;
  const how = { goal: null, mode: 'loop', delivers: 'branch', startedBy: 'person', models: {} } as const;
  const events = startedEvents({ ...how, plan: TWO, name: 'tally' });
  const lease = (await store.acquireLease(PLANS_LEASE, 'person', 0, HOUR, () => false))!;
  await store.claim({ lease, taskId: 'tally', issue: null, events, actions: [], at: 0 });
  await store.releaseLease(lease);
  const runner = start(world, 'one');
  await time.play(() => [...world.processes.values()].some(({ task }) => task === 'tally'), HOUR);
  runner.suspend();
  let isLate = false;
  time.after(HOUR, () => {
    isLate = true;
  });
  await time.play(() => isLate, 2 * HOUR);
  return { world, runner };
}

const found = async ({ store }: World) => (await store.task('tally'))?.task;

test('the runner it slipped from goes on by itself', async () => {
  const { world, runner } = await overslept();
  runner.resume();
  await ended(world, runner);
  expect(await world.store.events({ type: 'runner_overslept' })).toMatchObject([
    { data: { tasks: ['tally'] } },
  ]);
  expect(await found(world)).toMatchObject({ state: 'completed', plan: { phase: 'delivered' } });
  expect(world.violations).toEqual([]);
});

test('another runner leaves it as it is', async () => {
  const { world } = await overslept();
  const before = await found(world);
  await ended(world, start(world, 'two'));
  expect(before?.turn).toMatchObject({ role: 'coder', turn: 1 });
  expect(await found(world)).toEqual(before);
});
