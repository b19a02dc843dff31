/** What only the forge knows of tasks that are about to land. */
import type { PullFeedback } from '../core/change/remark.ts';
import { hangsOnChecks } from '../core/explain.ts';
import type { Policy } from '../core/policy.ts';
import type { Task } from '../core/task.ts';
import type { Forge } from '../forge/forge.ts';

/** What people and CI said of each that is approved and hangs on that. */
export async function saidOf(
  forge: Pick<Forge, 'feedback'>,
  tasks: readonly Task[],
): Promise<Map<string, PullFeedback | null>> {
  const said = new Map<string, PullFeedback | null>();
  for (const { id, pull } of tasks.filter(hangsOnChecks))
    if (pull !== null) said.set(id, await forge.feedback(pull));
  return said;
}

/** Where the forge takes one at a time, nobody is tested on top of another. */
export const placesInLine = async (forge: Pick<Forge, 'mergesAlone'>, { merge }: Policy): Promise<number> =>
  (await forge.mergesAlone?.()) ? 1 : merge.queue.ahead;
