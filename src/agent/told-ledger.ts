/**
 * Which messages of a session earlier turns have told the usage of.
 *
 * A turn that died with its runner is run again under its own number, so whatever it told is told again under the
 * same keys and counts once; what it did not get to tell is not lost.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from './replace-file.ts';
import { jsonBelow } from './stranger-files.ts';

export interface ToldLedger {
  /** Told by an earlier turn than this one. */
  isSettled(id: string): boolean;
  settle(ids: readonly string[]): Promise<void>;
}

const NAME = 'usage-told.json';
const file = z.record(z.string(), z.int());

export async function toldLedger(sessionDir: string, turn: number): Promise<ToldLedger> {
  const path = join(sessionDir, NAME);
  const before = await read(sessionDir);
  return {
    isSettled: (id) => (before[id] ?? turn) !== turn,
    // Whoever took the session over meanwhile keeps what it wrote.
    settle: async (ids) => {
      const ours = Object.fromEntries(ids.map((id) => [id, turn]));
      replaceFile(path, JSON.stringify({ ...ours, ...(await read(sessionDir)) }));
    },
  };
}

async function read(sessionDir: string): Promise<z.output<typeof file>> {
  return file.safeParse(await jsonBelow(sessionDir, NAME)).data ?? {};
}
