import { expect, test } from 'vitest';
import { renewed } from './renewed.ts';

interface Look {
  finish(found: string): void;
  fail(): void;
}

/** Each look ends when it is told to. */
function opened() {
  const looks: Look[] = [];
  const clock = { now: 0 };
  const ask = renewed(
    { everyMs: 60, atMostMs: 1000 },
    () =>
      new Promise<string>((resolve, reject) => {
        looks.push({ finish: resolve, fail: () => reject(new Error('it took too long')) });
      }),
    () => clock.now,
  );
  return { ask, looks, clock };
}

async function answered(found: string) {
  const all = opened();
  const first = all.ask();
  all.looks[0]?.finish(found);
  expect(await first).toBe(found);
  return all;
}

test('while it is looked up anew the last answer holds, and the new one from then on', async () => {
  const { ask, looks, clock } = await answered('one');
  clock.now = 60;
  expect(await ask()).toBe('one');
  expect(looks).toHaveLength(1);
  clock.now = 61;
  expect([await ask(), await ask()]).toEqual(['one', 'one']);
  expect(looks).toHaveLength(2);
  looks[1]?.finish('two');
  await expect.poll(ask).toBe('two');
});

test('a look that fails beside leaves the last answer, and is made again', async () => {
  const { ask, looks, clock } = await answered('one');
  clock.now = 61;
  expect(await ask()).toBe('one');
  looks[1]?.fail();
  await expect.poll(async () => [await ask(), looks.length]).toEqual(['one', 3]);
});

test('who finds no answer, or one that is too old, waits for it and hears that it failed', async () => {
  const { ask, looks, clock } = opened();
  const first = ask();
  looks[0]?.fail();
  await expect(first).rejects.toThrow('it took too long');
  const second = ask();
  looks[1]?.finish('one');
  expect(await second).toBe('one');
  clock.now = 1001;
  const late = ask();
  looks[2]?.fail();
  await expect(late).rejects.toThrow('it took too long');
});
