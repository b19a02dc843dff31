import { expect, test } from 'vitest';
import { testPolicy } from '../../../test/support/policy.ts';
import type { LoopEvent, NewEvent } from '../event.ts';
import { backlogOf, backlogText, isFull, NO_PACE, paceOf } from './pace.ts';

const MINUTE = 60_000;
const pace = { gateMs: 5 * MINUTE, criticMs: 2 * MINUTE, turnMs: 20 * MINUTE };
const policy = (ahead: number, maxWaiting: number | null = null, batch = false) =>
  testPolicy({ maxWaiting, merge: { queue: { ahead, batch } } });

const at = (one: NewEvent, seq: number): LoopEvent => ({ ...one, seq, at: seq, task: 't' }) as LoopEvent;
const gate = (durationMs: number, more: object = {}): NewEvent =>
  ({
    type: 'gate_completed',
    data: { scope: 'candidate', evidence: { results: [{ durationMs }, { durationMs: 1000 }] }, ...more },
  }) as unknown as NewEvent;
const turn = (role: string, durationMs: number, status = 'finished'): NewEvent =>
  ({ type: 'turn_completed', data: { role, durationMs, status } }) as unknown as NewEvent;

test('is measured by gates that ran on candidates and turns that finished, the newest ten', () => {
  const gates = [
    gate(9000),
    gate(1, { scope: 'work' }),
    gate(2, { reused: true }),
    gate(2, { within: {} }),
    gate(3000),
    gate(5000),
  ];
  const old = Array.from({ length: 10 }, () => turn('coder', 1));
  const turns = [
    ...old,
    ...Array.from({ length: 10 }, () => turn('coder', 700)),
    turn('coder', 1, 'failed'),
    turn('critic', 40),
  ];
  expect(paceOf(gates.map(at), turns.map(at))).toEqual({ gateMs: 6000, criticMs: 40, turnMs: 700 });
  expect(paceOf([], [])).toEqual(NO_PACE);
});

test('so many may wait as can land while a new task is worked on, and the line besides', () => {
  // 22 minutes of work, a landing each 100 s with three in line, each 300 s with one.
  expect(backlogOf(0, pace, policy(3)).most).toBe(3 + 13);
  expect(backlogOf(0, pace, policy(1)).most).toBe(1 + 4);
  const two = testPolicy({ gate: { maxConcurrent: 2 }, merge: { queue: { ahead: 3, batch: false } } });
  expect(backlogOf(0, pace, two).most).toBe(3 + 8);
  // A batch of ten lands by one gate: then two critics, who judge one a minute, are slower.
  expect(backlogOf(0, pace, policy(10, null, true)).most).toBe(10 + 22);
});

test.each([
  [1, 1, 3 + 11],
  [5, 1, 3 + 3],
  [10, 1, 3 + 2],
  [30, 1, 3 + 1],
  [30, 2, 3 + 2],
  [30, 10, 3 + 13],
])('a critic of %i min, %i at a time: no more than it can judge meanwhile', (minutes, parallel, most) => {
  const slow = { gateMs: MINUTE, criticMs: minutes * MINUTE, turnMs: 10 * MINUTE };
  expect(backlogOf(0, slow, testPolicy({ critic: { parallel } })).most).toBe(most);
});

test('a critic that is not asked any more keeps nothing back', () => {
  const slow = { gateMs: MINUTE, criticMs: 30 * MINUTE, turnMs: 10 * MINUTE };
  expect(backlogOf(0, slow, testPolicy({ critic: { enabled: false } })).most).toBe(3 + 30);
});

test('there is no limit before the first task has come all the way, unless one is set', () => {
  expect(isFull(backlogOf(1000, NO_PACE, policy(3)))).toBe(false);
  expect(isFull(backlogOf(1000, { ...pace, turnMs: null }, policy(3)))).toBe(false);
  expect(isFull(backlogOf(4, NO_PACE, policy(3, 5)))).toBe(false);
  expect(isFull(backlogOf(5, NO_PACE, policy(3, 5)))).toBe(true);
});

test('says what waits, how long the slowest step takes, and when about new work starts', () => {
  expect(backlogText(backlogOf(7, { ...pace, gateMs: 4 * MINUTE }, policy(1, 5)))).toBe(
    '7 wait to merge, a gate takes 4 min, next start in about 12 min',
  );
  const judged = { gateMs: MINUTE, criticMs: 30 * MINUTE, turnMs: 10 * MINUTE };
  expect(backlogText(backlogOf(5, judged, testPolicy({ critic: { parallel: 1 } })))).toBe(
    '5 wait to merge, a critic takes 30 min, next start in about 60 min',
  );
  expect(backlogText(backlogOf(1, NO_PACE, policy(3)))).toBe('1 waits to merge');
});
