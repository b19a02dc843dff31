/**
 * When an issue's living comment is told anew: where its task stands changed in a way that people want to know. What
 * else it says (turns, cost) is brought up to date on that occasion, and costs no request of its own.
 */
import { type Action, isRun } from '../action.ts';
import type { NewEvent } from '../event.ts';
import { apply } from '../fold.ts';
import type { Task } from '../task.ts';
import { statusText } from '../words/words.ts';

/** One for each issue, whatever the attempt. */
export const STATUS_MARKER = 'status';

/** The actions of a commit, with the telling of what its events change; before a run, which may take hours. */
export function withStatus(
  task: Task,
  events: readonly NewEvent[],
  actions: readonly Action[],
  now: number,
): Action[] {
  const isToldAnyway = actions.some(({ kind }) => kind === 'tell_status');
  if (task.issue === null || isToldAnyway || !tellsNews(task, events, now)) return [...actions];
  const found = actions.findIndex(isRun);
  const at = found < 0 ? actions.length : found;
  return [...actions.slice(0, at), { kind: 'tell_status', issue: task.issue }, ...actions.slice(at)];
}

/** Of actions that are dropped for a decision: what people were to be told, they are still told. */
export const stillToSay = (dropped: readonly Action[]): Action[] =>
  dropped.filter(({ kind }) => kind === 'tell_status' || kind === 'comment' || kind === 'reply');

function tellsNews(before: Task, events: readonly NewEvent[], now: number): boolean {
  const after = events.reduce(
    (task, one) => apply(task, { ...one, seq: 0, at: now, task: before.id }),
    before,
  );
  return statusText(after) !== statusText(before);
}
