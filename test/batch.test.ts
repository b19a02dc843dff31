/** Batches on virtual time: a runner that dies while it tests one, and what is tried of trunk while one lands. */
import { expect, test } from 'vitest';
import type { Policy } from '../src/core/policy.ts';
import { hasBegun } from '../src/core/recover.ts';
import type { Ports } from '../src/loop/ports.ts';
import { takeOver } from '../src/loop/recovery.ts';
import { taskLease } from '../src/store/store.ts';
import { WILLING } from './simulation/agent.ts';
import { seeded } from './simulation/random.ts';
import { startRunner } from './simulation/runner.ts';
import { NO_FAULTS } from './simulation/story.ts';
import { createTimeline } from './simulation/time.ts';
import { addIssue, createWorld, type World } from './simulation/world.ts';
import { type PolicyChange, testPolicy } from './support/policy.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Until nothing is left to do, or `dies` says so; its ports. */
async function run(
  world: World,
  policy: Policy,
  owner: string,
  dies: () => Promise<boolean> = async () => false,
): Promise<Ports> {
  let ports!: Ports;
  let isOver = false;
  const one = startRunner(world, policy, WILLING, NO_FAULTS, owner, 'until_idle', undefined, (given) => {
    const launch: Ports['processes']['launch'] = async (request) => {
      if (await dies()) {
        one.kill();
        isOver = true;
      }
      return given.processes.launch(request);
    };
    // So long that the runner looks at trunk in between.
    const land: Ports['forge']['land'] = async (...asked) => {
      await world.time.sleep(5 * MINUTE);
      return given.forge.land(...asked);
    };
    ports = { ...given, processes: { ...given.processes, launch }, forge: { ...given.forge, land } };
    return ports;
  });
  void one.done.then(() => {
    isOver = true;
  });
  await world.time.play(() => isOver, world.time.now() + 24 * HOUR);
  return ports;
}

/** Three issues: while the first is tested, the others line up. */
function threeInLine(change: PolicyChange = {}): { world: World; policy: Policy } {
  const world = createWorld(createTimeline(0), seeded(1));
  for (const issue of [1, 2, 3]) addIssue(world, issue, 'sure');
  world.gateMs = () => MINUTE;
  const settings = { gate: { commands: ['./ci/test.sh'] }, merge: { queue: { ahead: 3, batch: true } } };
  return { world, policy: testPolicy({ ...settings, ...change }) };
}

test('with `recovery.mode: manual`, who was being tested waits for a person; the others land, and it lands after `recover`', async () => {
  const { world, policy } = threeInLine({ recovery: { mode: 'manual' } });
  const { store } = world;
  const tasks = async () => (await store.tasks()).map(({ task }) => task);
  const isTestingOthers = async () =>
    (await tasks()).some(({ landing }) => landing?.testing && landing.ahead !== undefined);

  await run(world, policy, 'first', isTestingOthers);
  const left = (await tasks()).find(({ landing }) => landing?.testing)!;
  const ports = await run(world, policy, 'second');
  const states = async () => Object.fromEntries((await tasks()).map(({ id, state }) => [id, state]));
  const others = (await tasks()).filter(({ id }) => id !== left.id).map(({ id }) => [id, 'merged']);
  expect(await states()).toEqual({ ...Object.fromEntries(others), [left.id]: 'merging' });

  const now = world.time.now();
  const lease = await store.acquireLease(taskLease(left.id), 'person', now, HOUR, ports.isOwnerDead);
  expect(await takeOver(ports, left.id, lease!)).toBe('run_again');
  await store.releaseLease(lease!);
  await run(world, policy, 'third');
  expect(await states()).toMatchObject({ [left.id]: 'merged' });
  expect(world.violations).toEqual([]);
});

test('with `recovery.mode: manual`, who was being tested by itself keeps nobody behind it from landing', async () => {
  const { world, policy } = threeInLine({
    recovery: { mode: 'manual' },
    merge: { queue: { ahead: 3, batch: false } },
  });
  const { store } = world;
  const tasks = async () => (await store.tasks()).map(({ task }) => task);
  const tested = async () => {
    for (const { id, state } of await tasks())
      if (state === 'merging' && hasBegun(await store.pendingActions(id))) return id;
    return null;
  };
  await run(world, policy, 'first', async () => (await tested()) !== null);
  const left = await tested();
  world.isManual = true;
  addIssue(world, 4, 'sure');
  await run(world, policy, 'second');
  const states = (await tasks()).map(({ id, issue, state }) => (id === left ? 'left' : `${issue} ${state}`));
  expect(states).toContain('4 merged');
  expect((await store.task(left!))!.task.state).toBe('merging');
  expect(world.violations).toEqual([]);
});

test('trunk between two of a batch is nobody’s to build on: the gate is not tried there', async () => {
  const { world, policy } = threeInLine();
  await run(world, policy, 'one');
  const tasks = (await world.store.tasks()).map(({ task }) => task);
  expect(tasks.map(({ state }) => state)).toEqual(['merged', 'merged', 'merged']);
  expect(tasks.filter(({ landing }) => landing?.within)).toHaveLength(1);
  expect(await world.store.events({ type: 'gate_tried' })).toHaveLength(1);
  expect(world.violations).toEqual([]);
});
