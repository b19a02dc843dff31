import { expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import { IN } from '../../test/support/plan-play.ts';
import { running } from '../../test/support/play.ts';
import { testPolicy } from '../../test/support/policy.ts';
import { taskLease } from '../store/store.ts';
import { interruptedAmong, leftAmong } from './interrupted.ts';

const TERM = 300_000;
const HOUR = 3_600_000;

/** A plan in its audit, leased for a term at 0 by `me`, as somebody else sees it. */
async function leased() {
  const up = { ms: 0 };
  const clockOf = (id: string) => ({ id, now: () => up.ms });
  const store = memoryStore(clockOf('b1'));
  const { task } = IN.auditing();
  await store.acquireLease(taskLease(task.id), 'me', 0, TERM, () => false);
  const isInterrupted = async (
    owner: string,
    { now = 0, boot = 'b1', dead = [] }: { now?: number; boot?: string; dead?: string[] } = {},
  ) => {
    const isOwnerDead = (one: string) => dead.includes(one);
    const ports = { store, clock: { now: () => now }, bootClock: clockOf(boot), owner, isOwnerDead };
    return (await interruptedAmong(ports, [task])).has(task);
  };
  return { up, isInterrupted };
}

test('a clock that is set ahead or back interrupts no plan of a runner of the same boot', async () => {
  const { up, isInterrupted } = await leased();
  for (const now of [HOUR, -HOUR]) {
    up.ms = TERM - 1;
    expect(await isInterrupted('other', { now })).toBe(false);
    up.ms = TERM;
    expect(await isInterrupted('other', { now })).toBe(true);
    expect(await isInterrupted('me', { now })).toBe(false);
  }
});

test('another machine has only the time of day; a runner that is known to be dead has lost its plans at once', async () => {
  const { isInterrupted } = await leased();
  expect(await isInterrupted('other', { boot: 'b2', now: TERM - 1 })).toBe(false);
  expect(await isInterrupted('other', { boot: 'b2', now: TERM })).toBe(true);
  expect(await isInterrupted('other', { dead: ['me'] })).toBe(true);
});

test.each([
  ['auto', 0],
  ['manual', 1],
] as const)(
  'recovery.mode %s: what was started is read %i times, however many tasks there are',
  async (mode, times) => {
    const store = memoryStore();
    const asked = { started: 0 };
    const counting = {
      leases: store.leases,
      startedActions: () => {
        asked.started += 1;
        return store.startedActions();
      },
    };
    const tasks = [...Array(50).keys()].map((at) => ({ ...running().task, id: `t${at}` }));
    const settings = { policy: () => testPolicy({ recovery: { mode } }) };
    const ports = { store: counting, settings, clock: { now: () => 0 }, isOwnerDead: () => false };
    await leftAmong({ ...ports, bootClock: { id: 'b1', now: () => 0 } }, tasks);
    expect(asked.started).toBe(times);
  },
);
