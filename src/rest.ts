/** What a task rests on, as far as the store can tell: the same words for `why`, `status` and whoever shows them. */
import type { AtWork } from './at-work.ts';
import { type Around, doing, explain, turnText } from './core/explain.ts';
import { isHeld } from './core/line/schedule.ts';
import type { Policy } from './core/policy.ts';
import { isLeftToPeople } from './core/recover.ts';
import { nameOfTask, type Task } from './core/task.ts';
import { whyUntried } from './core/trial.ts';
import { placeText } from './core/words/plan-text.ts';
import { workingText } from './core/words/words.ts';
import { lastFailure } from './loop/put-off.ts';
import { type Store, taskLease } from './store/store.ts';

export interface Known extends Pick<Around, 'underWay' | 'said'> {
  all: readonly Task[];
  policy: Policy;
  now: number;
  /** The leases that somebody alive holds. */
  owned: ReadonlySet<string>;
  /** What runs. */
  work: readonly AtWork[];
}

export async function restOf(
  store: Store,
  task: Task,
  { all, underWay, policy, now, owned, work, said }: Known,
): Promise<{ why: string; until: number | null }> {
  const [pending] = await store.pendingActions(task.id);
  if (!owned.has(taskLease(task.id))) {
    const name = nameOfTask(task);
    if (isLeftToPeople(task))
      return {
        why: `interrupted in ${placeText(task.plan!)} — \`forge-loop loop restart ${name}\``,
        until: null,
      };
    if (task.attached)
      return {
        why: `${task.state}: ${task.attached.by} was attached, and their terminal is gone; the next run saves what they changed and continues`,
        until: null,
      };
    const isStarted = pending !== undefined && pending.startedAt !== null;
    const cut = task.turn ? turnText(task.turn) : isStarted ? doing(pending.action) : null;
    const isHolding = task.hold !== null && isHeld(task, now);
    if (!isHolding && cut !== null)
      return { why: `${task.state}: interrupted in ${cut}; the next run resumes it`, until: null };
  }
  const { accountLimits: accounts, trials } = await store.loop();
  const failure = pending ? await lastFailure(store, pending) : null;
  const mine = work.find((one) => one.task === task.id);
  const working = mine ? workingText(mine, now) : null;
  const untried = whyUntried(trials, policy);
  const around = { pending: pending ?? null, failure, working, all, underWay, said, accounts, untried };
  return explain(task, around, policy, now);
}
