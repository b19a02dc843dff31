/**
 * Which messages of a session earlier turns have told the usage of.
 *
 * A turn that died with its runner is run again under its own number, so whatever it told is told again under the
 * same keys and counts once; what it did not get to tell is not lost.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from './replace-file.ts';

export interface ToldLedger {
  /** Told by an earlier turn than this one. */
  isSettled(id: string): boolean;
  settle(ids: readonly string[]): Promise<void>;
}

const file = z.record(z.string(), z.int());

export async function toldLedger(sessionDir: string, turn: number): Promise<ToldLedger> {
  const path = join(sessionDir, 'usage-told.json');
  const before = await read(path);
  return {
    isSettled: (id) => (before[id] ?? turn) !== turn,
    // Whoever took the session over meanwhile keeps what it wrote.
    settle: async (ids) => {
      const ours = Object.fromEntries(ids.map((id) => [id, turn]));
      replaceFile(path, JSON.stringify({ ...ours, ...(await read(path)) }));
    },
  };
}

async function read(path: string): Promise<z.output<typeof file>> {
  const { data } = file.safeParse(
    await readFile(path, 'utf8')
      .then(JSON.parse)
      .catch(() => null),
  );
  return data ?? {};
}
