/** The context one needs after a reset: direction, tasks in flight, stale leases, last events. It changes nothing. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../context.ts';
import { isRunnerLease } from '../store/store.ts';
import { isStale, snapshot, type TaskView } from '../view.ts';
import { type EventView, events } from './loop.ts';

interface StaleLease {
  key: string;
  owner: string;
  /** Null for the loop's own. */
  task: string | null;
}

interface Boot {
  /** The text of .forge/frontier.yaml, the people's file. */
  direction: string | null;
  tasks: TaskView[];
  stale: StaleLease[];
  events: EventView[];
}

export async function boot(context: Context, input: { last: number }): Promise<Boot> {
  return {
    direction: await readFile(join(context.forgeDir, 'frontier.yaml'), 'utf8').catch(() => null),
    tasks: (await snapshot(context, { live: true })).tasks,
    stale: await staleLeases(context),
    events: await events(context, { last: input.last }),
  };
}

/** Leases whose owner is gone: what `recover` takes over. That a runner was there is nothing to take over. */
export async function staleLeases(context: Context): Promise<StaleLease[]> {
  const store = await context.reading();
  if (!store) return [];
  return (await store.leases())
    .filter((lease) => !isRunnerLease(lease.key) && isStale(lease, context))
    .map(({ key, owner }) => ({
      key,
      owner,
      task: key.startsWith('task:') ? key.slice('task:'.length) : null,
    }));
}
