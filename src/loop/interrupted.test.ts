import { expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import { IN } from '../../test/support/plan-play.ts';
import { taskLease } from '../store/store.ts';
import { interruptedAmong } from './interrupted.ts';

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
