/** Removes by hand what a runner removes once a day. */
import type { Context } from '../context.ts';
import { type Removed, removeOld } from '../loop/remove-old.ts';

interface Collected extends Removed {
  /** Nothing was removed: this is what would be. */
  dryRun: boolean;
}

export async function gc(context: Context, { dryRun }: { dryRun: boolean }): Promise<Collected> {
  if ((await context.reading()) === null) return { dryRun, removed: [], trees: [], logs: [] };
  return { dryRun, ...(await removeOld(await context.ports(), { preview: dryRun })) };
}
