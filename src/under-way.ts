/** Who is under way and who of them goes first: as the runner counts them, for whoever shows them. */
import type { Context } from './context.ts';
import type { WorkItem } from './core/claim.ts';
import type { UnderWay } from './core/line/granted.ts';
import { orderBy } from './core/line/schedule.ts';
import type { Task } from './core/task.ts';
import { ConfigError, ForgeUnavailable } from './errors.ts';
import { underWay } from './loop/interrupted.ts';
import { saidOf } from './loop/landing-facts.ts';
import { everySource } from './loop/source.ts';
import type { Known } from './rest.ts';
import type { Store } from './store/store.ts';

/** `tasks`: all that are not ended; others among them make no difference. */
export async function countedAmong(
  context: Context,
  store: Store,
  tasks: readonly Task[],
): ReturnType<typeof underWay> {
  const { policy } = (await context.settings()).settings;
  return underWay({ ...context, store, clock: context, settings: { policy: () => policy } }, tasks);
}

/**
 * For a status, which must not wait for the network. Issues that are files here are read; of another forge only the tasks' rows
 * are known, so that the oldest goes first and `said` is null.
 */
export async function knownHere(
  context: Context,
  store: Store,
  tasks: readonly Task[],
): Promise<Pick<Known, 'underWay' | 'said'>> {
  const { settings } = await context.settings();
  const { live } = await countedAmong(context, store, tasks);
  const known = (items: readonly WorkItem[]): UnderWay => ({
    live,
    eligible: 0,
    order: orderBy(items, tasks, context.now()),
    lineLength: settings.policy.merge.queue.ahead,
  });
  if (settings.tracker.kind !== 'local') return { underWay: known([]), said: null };
  try {
    const forge = await context.forge();
    const items = live.length > 1 ? await everySource(forge).items() : [];
    return { underWay: known(items), said: await saidOf(forge, live) };
  } catch (error) {
    // Both are said elsewhere.
    if (error instanceof ConfigError || error instanceof ForgeUnavailable)
      return { underWay: known([]), said: null };
    throw error;
  }
}
