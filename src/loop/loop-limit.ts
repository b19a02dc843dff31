/** What all tasks together have spent, held against the budget of the day and of the loop. */
import {
  hasLoopLimit,
  type LoopLimit,
  loopLimit,
  type Room,
  roomWithin,
  type Spending,
  spent,
} from '../core/money/budget.ts';
import { policyFor } from '../core/plan/limits.ts';
import type { Policy } from '../core/policy.ts';
import type { Task } from '../core/task.ts';
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

/** What a task may still spend: of its own, of the day's and of the loop's budget, the least. */
export async function roomOf(
  ports: { store: Store; clock: Pick<Clock, 'now' | 'day'>; settings: { policy(): Policy } },
  task: Task,
): Promise<Room> {
  const { budget } = policyFor(task, ports.settings.policy());
  const { startsAt, endsAt } = ports.clock.day(ports.clock.now());
  const own = await ports.store.spend(task.id);
  const all = hasLoopLimit(budget) ? await loopSpending(ports.store, startsAt) : null;
  const limit = all && loopLimit(all, budget, endsAt);
  return roomWithin(spent(task, own, 0), all, budget, limit);
}

export async function loopSpending(
  store: Store,
  dayStartsAt: number,
): Promise<{ day: Spending; ever: Spending }> {
  return { day: await store.spendSince(dayStartsAt), ever: await store.spendSince(0) };
}
