import { expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import type { NewEvent } from '../core/event.ts';
import { readPace } from './read-pace.ts';

const gate = (scope: string, durationMs: number): NewEvent =>
  ({ type: 'gate_completed', data: { scope, evidence: { results: [{ durationMs }] } } }) as never;
const turn = (role: string, durationMs: number, status = 'finished'): NewEvent =>
  ({ type: 'turn_completed', data: { role, durationMs, status } }) as never;
const many = (one: NewEvent): NewEvent[] => Array.from({ length: 100 }, () => one);

test('what lands is measured, however long ago it was and whatever was done since', async () => {
  const store = memoryStore();
  const events = [gate('candidate', 300), turn('critic', 200), turn('coder', 900)];
  const since = [
    gate('work', 1),
    turn('specifier', 1),
    turn('coder', 1, 'failed'),
    turn('critic', 1, 'failed'),
  ];
  await store.record({ events: [...events, ...since.flatMap(many)], at: 1 });
  expect(await readPace(store)).toEqual({ gateMs: 300, criticMs: 200, turnMs: 900 });
  await store.record({ events: many(turn('coder', 800)), at: 2 });
  expect(await readPace(store)).toEqual({ gateMs: 300, criticMs: 200, turnMs: 800 });
});
