/** What all tasks together have spent, held against the budget of the day and of the loop. */
import { hasLoopLimit, type LoopLimit, loopLimit, type Spending } from '../core/budget.ts';
import type { Policy } from '../core/policy.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from './ports.ts';

export async function readLoopLimit(ports: {
  store: Store;
  clock: Pick<Clock, 'now' | 'day'>;
  settings: { policy(): Policy };
}): Promise<LoopLimit | null> {
  const { budget } = ports.settings.policy();
  if (!hasLoopLimit(budget)) return null;
  const { startsAt, endsAt } = ports.clock.day(ports.clock.now());
  return loopLimit(await loopSpending(ports.store, startsAt), budget, endsAt);
}

export async function loopSpending(
  store: Store,
  dayStartsAt: number,
): Promise<{ day: Spending; ever: Spending }> {
  return { day: await store.spendSince(dayStartsAt), ever: await store.spendSince(0) };
}
