/** A runner with many tasks that wait for a person: it looks at each of them once, and again when there is news. */
import { expect, test } from 'vitest';
import { event } from '../src/core/event.ts';
import type { Ports } from '../src/loop/ports.ts';
import { INTAKE_LEASE, taskLease } from '../src/store/store.ts';
import { WILLING } from './simulation/agent.ts';
import { seeded } from './simulation/random.ts';
import { startRunner } from './simulation/runner.ts';
import { NO_FAULTS } from './simulation/story.ts';
import { createTimeline } from './simulation/time.ts';
import { addIssue, createWorld, type World } from './simulation/world.ts';
import { testPolicy } from './support/policy.ts';

const TASKS = 50;
const RESUMED = 20;
const HOUR = 3_600_000;
const TTL = 300_000;

async function addHeld({ store, issues }: World, number: number): Promise<void> {
  const id = `t${number}`;
  const intake = (await store.acquireLease(INTAKE_LEASE, 'before', 0, TTL, () => false))!;
  const { title, body } = issues.get(number)!;
  const created = event('task_created', {
    kind: 'issue',
    issue: number,
    attempt: 1,
    slug: 's',
    branch: `loop/${number}-s`,
    contract: { title, body, hash: 'h', criteria: [] },
  });
  const claim = { lease: intake, taskId: id, issue: number, actions: [], at: 0 };
  const { version } = (await store.claim({ ...claim, events: [created] }))!;
  const lease = (await store.acquireLease(taskLease(id), 'before', 0, TTL, () => false))!;
  const held = event('hold_set', { reason: 'operator_pause', detail: 'paused', until: null });
  await store.commit({ lease, taskId: id, expectedVersion: version, events: [held], at: 0 });
  for (const one of [lease, intake]) await store.releaseLease(one);
}

async function begun() {
  const world = createWorld(createTimeline(0), seeded(3));
  for (let number = 1; number <= TASKS; number++) {
    addIssue(world, number, 'sure');
    await addHeld(world, number);
  }
  const counts = {
    scans: 0,
    stops: 0,
    rounds: [] as number[],
    looks: [] as (number | null)[],
    atOnce: 0,
    most: 0,
  };
  const settings: { check: 'same' | 'reloaded' } = { check: 'same' };
  const counted = (ports: Ports): Ports => ({
    ...ports,
    processes: {
      ...ports.processes,
      launch: ports.processes.launch,
      isAlive: ports.processes.isAlive,
      marked: async () => {
        counts.scans += 1;
        return new Set();
      },
      stop: async () => {
        counts.stops += 1;
        return [];
      },
    },
    settings: {
      ...ports.settings,
      check: async () => {
        const { check } = settings;
        settings.check = 'same';
        return check;
      },
    },
    forge: Object.assign(Object.create(ports.forge), {
      seen: async (of: { issue: number }[]) => {
        counts.rounds.push(world.time.now());
        return of.map(({ issue }) => [world.issues.get(issue)?.labels.join()]);
      },
      issue: async (number: number) => {
        counts.looks.push(number);
        counts.atOnce += 1;
        counts.most = Math.max(counts.most, counts.atOnce);
        await world.time.sleep(100);
        counts.atOnce -= 1;
        return ports.forge.issue(number);
      },
    }),
  });
  startRunner(world, testPolicy(), WILLING, NO_FAULTS, 'me', 'forever', undefined, counted);
  const pass = async (ms: number): Promise<void> => {
    let isOver = false;
    world.time.after(ms, () => {
      isOver = true;
    });
    await world.time.play(() => isOver, world.time.now() + 2 * ms);
  };
  await pass(HOUR);
  return { world, counts, settings, pass };
}

test('the processes of the machine are read once, each task is looked at once, eight at a time', async () => {
  const { world, counts } = await begun();
  expect(counts).toMatchObject({ scans: 1, stops: 0, most: 8 });
  expect(new Set(counts.looks).size).toBe(TASKS);
  expect(counts.looks).toHaveLength(TASKS);
  expect(world.violations).toEqual([]);
});

test('a change on the forge wakes that one, other settings wake all, a person’s word wakes it', async () => {
  const { world, counts, settings, pass } = await begun();
  const looked = async (): Promise<(number | null)[]> => {
    counts.looks = [];
    await pass(HOUR);
    return [...new Set(counts.looks)];
  };
  expect(await looked()).toEqual([]);
  world.issues.get(7)!.labels.push('seen');
  expect(await looked()).toEqual([7]);
  settings.check = 'reloaded';
  expect(await looked()).toHaveLength(TASKS);
  expect(await looked()).toEqual([]);
  await world.store.request({ task: 't9', kind: 'resume', by: 'alice', at: world.time.now() });
  expect(await looked()).toContain(9);
  expect((await world.store.task('t9'))?.task.hold).toBeNull();
});

test('a merge, by this runner or another, wakes nobody who waits for a person', async () => {
  const { world, counts, pass } = await begun();
  counts.looks = [];
  for (let merges = 0; merges < 3; merges++) {
    const { sha } = world.repository.commit({ [`landed-${merges}`]: 'good' }, [world.trunk()], 'landed');
    world.repository.refs.set('main', sha);
    await world.store.record({
      events: [event('merge_observed', { sha, by: 'loop' })],
      at: world.time.now(),
    });
    await pass(HOUR);
  }
  expect(counts.looks).toEqual([]);
});

test('while one merge follows the other, news from outside is looked for every few seconds', async () => {
  const { world, counts, pass } = await begun();
  const by = { by: 'alice', at: world.time.now(), kind: 'resume' as const };
  for (let number = 1; number <= RESUMED; number++) await world.store.request({ ...by, task: `t${number}` });
  const began = world.time.now();
  await pass(HOUR / 6);
  const merges = await world.store.events({ type: 'merge_observed' });
  expect(merges).toHaveLength(RESUMED);
  const last = merges.at(-1)!.at;
  const rounds = counts.rounds.filter((at) => at >= began && at <= last).length;
  expect(rounds, `in ${last - began} ms`).toBeLessThan((last - began) / 3000);
});
