/** Which events came of a piece of work, by their numbers: those that were committed in the course of it, however deep. */
import { AsyncLocalStorage } from 'node:async_hooks';

const numbers = new AsyncLocalStorage<number[]>();

export async function withWritten<T>(work: () => Promise<T>): Promise<{ result: T; written: number[] }> {
  const written: number[] = [];
  return { result: await numbers.run(written, work), written };
}

/** Told of every commit, while the work that led to it goes on. */
export function noteWritten(events: readonly number[]): void {
  numbers.getStore()?.push(...events);
}
