/**
 * Which messages of a session earlier turns have told the usage of.
 *
 * A turn that died with its runner is run again under its own number, so whatever it told is told again under the
 * same keys and counts once; what it did not get to tell is not lost.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

export interface ToldLedger {
  /** Told by an earlier turn than this one. */
  isSettled(id: string): boolean;
  settle(ids: readonly string[]): Promise<void>;
}

const file = z.record(z.string(), z.int());

export async function toldLedger(sessionDir: string, turn: number): Promise<ToldLedger> {
  const path = join(sessionDir, 'usage-told.json');
  const { data: before = {} } = file.safeParse(
    await readFile(path, 'utf8')
      .then(JSON.parse)
      .catch(() => ({})),
  );
  return {
    isSettled: (id) => (before[id] ?? turn) !== turn,
    settle: (ids) =>
      writeFile(path, JSON.stringify({ ...Object.fromEntries(ids.map((id) => [id, turn])), ...settled() })),
  };

  function settled(): Record<string, number> {
    return Object.fromEntries(Object.entries(before).filter(([, told]) => told !== turn));
  }
}
