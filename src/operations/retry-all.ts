/** A new attempt at every issue whose last one ended for one reason, such as after an outage. */
import type { Context } from '../context.ts';
import { latestAttempts } from '../core/line/schedule.ts';
import type { Reason } from '../core/machine.ts';
import { isRunnerAlive } from '../view.ts';
import { retryTask } from './tasks.ts';

interface RetriedAll {
  reason: Reason;
  /** Nothing was done: this is what would be. */
  preview: boolean;
  issues: { issue: number; title: string; previous: string; attempt: number; why: string }[];
  runnerAlive: boolean;
}

export async function retryAll(
  context: Context,
  { reason, preview }: { reason: Reason; preview: boolean },
): Promise<RetriedAll> {
  const store = await context.reading();
  const tasks = store ? (await store.tasks()).map(({ task }) => task) : [];
  const forge = await context.forge();
  const issues: RetriedAll['issues'] = [];
  for (const [issue, task] of latestAttempts(tasks)) {
    if (task.reason !== reason || (await forge.issue(issue))?.state !== 'open') continue;
    const { id: previous, attempt, why, contract } = task;
    if (!preview) await retryTask(context, { task: previous });
    issues.push({
      issue,
      title: contract.title,
      previous,
      attempt: attempt + 1,
      why: why.split('\n', 1)[0]!,
    });
  }
  return { reason, preview, issues, runnerAlive: store !== null && (await isRunnerAlive(store, context)) };
}
