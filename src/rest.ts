/** What a task rests on, as far as the store can tell: the same words for `why`, `status` and whoever shows them. */
import type { AtWork } from './at-work.ts';
import type { PullFeedback } from './core/change/remark.ts';
import { doing, explain, turnText } from './core/explain.ts';
import type { Policy } from './core/policy.ts';
import { isLeftToPeople } from './core/recover.ts';
import { isHeld } from './core/schedule.ts';
import { nameOfTask, type Task } from './core/task.ts';
import { whyUntried } from './core/trial.ts';
import { placeText } from './core/words/plan-text.ts';
import { workingText } from './core/words/words.ts';
import { lastFailure } from './loop/put-off.ts';
import { type Store, taskLease } from './store/store.ts';

interface Known {
  all: readonly Task[];
  policy: Policy;
  now: number;
  /** The leases that somebody alive holds. */
  owned: ReadonlySet<string>;
  /** What runs. */
  work: readonly AtWork[];
  /** What was said about its pull request, where somebody asked the forge. */
  said: PullFeedback | null;
}

export async function restOf(
  store: Store,
  task: Task,
  { all, policy, now, owned, work, said }: Known,
): Promise<{ why: string; until: number | null }> {
  const [pending] = await store.pendingActions(task.id);
  if (!owned.has(taskLease(task.id))) {
    const name = nameOfTask(task);
    if (isLeftToPeople(task))
      return {
        why: `interrupted in ${placeText(task.plan!)} — \`forge-loop loop restart ${name}\``,
        until: null,
      };
    const isStarted = pending !== undefined && pending.startedAt !== null;
    const cut = task.turn ? turnText(task.turn) : isStarted ? doing(pending.action) : null;
    const isHolding = task.hold !== null && isHeld(task, now);
    if (!isHolding && cut !== null)
      return { why: `${task.state}: interrupted in ${cut}; the next run takes it up`, until: null };
  }
  const { accountLimits: accounts, trials } = await store.loop();
  const failure = pending ? await lastFailure(store, pending) : null;
  const mine = work.find((one) => one.task === task.id);
  const working = mine ? workingText(mine, now) : null;
  const untried = whyUntried(trials, policy);
  const around = { pending: pending ?? null, failure, working, all, said, accounts, untried };
  return explain(task, around, policy, now);
}
