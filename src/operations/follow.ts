/** News for somebody who watches. Whatever shows it looks by these two, so that none misses an event or repeats one. */
import { setTimeout as wait } from 'node:timers/promises';

/** What a look finds: at once, and then again and again until `stop`. */
export async function* follow<T>(
  look: () => Promise<T>,
  everyMs: number | (() => number),
  stop: AbortSignal,
): AsyncGenerator<T> {
  while (!stop.aborted) {
    yield await look();
    await wait(typeof everyMs === 'number' ? everyMs : everyMs(), null, { signal: stop }).catch(() => null);
  }
}

/** A look that finds what was recorded after `seq`, and then only what is new since it looked last. */
export function eventsAfter<E extends { seq: number }>(
  seq: number,
  read: (after: number) => Promise<E[]>,
): () => Promise<E[]> {
  let seen = seq;
  return async () => {
    const found = await read(seen);
    seen = found.at(-1)?.seq ?? seen;
    return found;
  };
}
