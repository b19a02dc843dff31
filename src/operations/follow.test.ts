import { expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import { event } from '../core/event.ts';
import { eventsAfter, follow } from './follow.ts';

const paused = (by: string) => ({ events: [event('loop_paused', { by })], at: 0 });

test('each event is found once, also those recorded while others are shown', async () => {
  const store = memoryStore();
  await store.record(paused('before'));
  const look = eventsAfter(1, (after) => store.events({ after }));
  await store.record(paused('one'));
  await store.record(paused('two'));
  const stop = new AbortController();
  const seen: number[] = [];
  for await (const news of follow(look, 1, stop.signal)) {
    for (const { seq } of news) {
      seen.push(seq);
      if (seq < 4) await store.record(paused('more'));
    }
    if (seen.includes(5)) stop.abort();
  }
  expect(seen).toEqual([2, 3, 4, 5]);
  expect(await look()).toEqual([]);
});

test('a look that fails loses nothing', async () => {
  const store = memoryStore();
  let isLocked = true;
  const look = eventsAfter(0, async (after) => {
    if (isLocked) throw new Error('locked');
    return store.events({ after });
  });
  await store.record(paused('one'));
  await expect(look()).rejects.toThrow('locked');
  isLocked = false;
  expect((await look()).map(({ seq }) => seq)).toEqual([1]);
});

test('following ends as soon as it is told, however long the next look is off', async () => {
  const stop = new AbortController();
  let looks = 0;
  const look = async () => ++looks;
  for await (const _ of follow(look, 3_600_000, stop.signal)) setImmediate(() => stop.abort());
  expect(looks).toBe(1);
});

test('how long it rests is asked before each rest', async () => {
  const stop = new AbortController();
  const asked: number[] = [];
  const pause = (): number => {
    asked.push(asked.length);
    if (asked.length === 3) stop.abort();
    return 0;
  };
  let looks = 0;
  for await (const _ of follow(async () => ++looks, pause, stop.signal))
    expect(asked).toHaveLength(looks - 1);
  expect(looks).toBe(3);
});
