import { expect, test } from 'vitest';
import { createTurnstile } from './turnstile.ts';

const { signal: never } = new AbortController();

/** Work that ends when it is told to. */
function job(log: string[], name: string) {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = async (): Promise<string> => {
    log.push(name);
    await ended;
    return name;
  };
  return { work, end };
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('lets so many in at a time, the highest rank first, then in order', async () => {
  const log: string[] = [];
  const turnstile = createTurnstile(() => 1);
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => job(log, name));
  const first = turnstile.pass({ rank: 0, signal: never }, a!.work);
  void turnstile.pass({ rank: 0, signal: never }, b!.work);
  void turnstile.pass({ rank: 1, signal: never }, c!.work);
  void turnstile.pass({ rank: 2, signal: never }, d!.work);
  await settled();
  expect(log).toEqual(['a']);
  for (const one of [a, d, c, b]) {
    one!.end();
    await settled();
  }
  expect(await first).toBe('a');
  expect(log).toEqual(['a', 'd', 'c', 'b']);
});

test('who is cut off while waiting begins nothing and keeps nobody back', async () => {
  const log: string[] = [];
  const turnstile = createTurnstile(() => 1);
  const [a, b, c] = ['a', 'b', 'c'].map((name) => job(log, name));
  const stop = new AbortController();
  void turnstile.pass({ rank: 0, signal: never }, a!.work);
  const cut = turnstile.pass({ rank: 1, signal: stop.signal }, b!.work);
  void turnstile.pass({ rank: 0, signal: never }, c!.work);
  stop.abort();
  expect(await cut).toBeNull();
  expect(await turnstile.pass({ rank: 1, signal: stop.signal }, b!.work)).toBeNull();
  a!.end();
  await settled();
  expect(log).toEqual(['a', 'c']);
});

test('a failure makes room, and a raised limit counts with the next', async () => {
  let most = 1;
  const log: string[] = [];
  const turnstile = createTurnstile(() => most);
  await expect(
    turnstile.pass({ rank: 0, signal: never }, () => Promise.reject(new Error('no'))),
  ).rejects.toThrow('no');
  const [a, b, c] = ['a', 'b', 'c'].map((name) => job(log, name));
  for (const one of [a, b]) void turnstile.pass({ rank: 0, signal: never }, one!.work);
  most = 3;
  void turnstile.pass({ rank: 0, signal: never }, c!.work);
  await settled();
  expect(log).toEqual(['a', 'b', 'c']);
});
