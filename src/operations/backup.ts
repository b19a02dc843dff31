/** The database as one file: a copy made beside a running loop, and one put back. */
import { resolve } from 'node:path';
import type { Backup, Context, Restored } from '../context.ts';
import { UsageError } from '../errors.ts';

export async function backup(context: Context, input: { file: string }): Promise<Backup> {
  return context.database.backUp(resolve(input.file));
}

export async function restore(
  context: Context,
  input: { file?: string | undefined; empty: boolean },
): Promise<Restored> {
  if ((input.file === undefined) !== input.empty)
    throw new UsageError('restore: give a backup file or --empty.');
  return context.database.restore(input.file === undefined ? null : resolve(input.file));
}
