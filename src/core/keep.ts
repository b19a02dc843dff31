/**
 * What of an ended task may go: its private folders (homes and sessions) when nobody needs them for a restart any more, its
 * logs much later. Nothing of a task that has not ended, or is still being told of, ever goes.
 *
 * What is removed is gone, and clocks are set ahead by mistake. So a task is no older than it was at the sweep before this
 * one: only a clock that has been wrong for half a day could remove too much.
 */
import type { Policy } from './policy.ts';
import { isEnded, type Task } from './task.ts';

export type Part = 'private' | 'logs';

/** Names under which logs are kept that belong to no task. */
export const LOGS_OF_NO_TASK = { trial: 'gate-trial', deploy: 'deploy' } as const;

const APART_MS = 12 * 3_600_000;

/** The time by which age is judged, after a sweep at `before`; null when there was none long enough ago. */
export const judgedAt = (before: number | null, now: number): number | null =>
  before !== null && before <= now - APART_MS ? before : null;

/** This sweep is to be remembered: the first, one long enough after the last, or one before it by a clock that was set. */
export const isWorthNoting = (before: number | null, now: number): boolean =>
  before === null || before > now || judgedAt(before, now) !== null;

/** `isPending`: something is still to be done for it. `at` is null when no age is sure. */
export function mayGo(task: Task, isPending: boolean, { keep }: Policy, at: number | null): Part[] {
  if (!isEnded(task) || task.endedAt === null || isPending) return [];
  const age = at === null ? 0 : at - task.endedAt;
  // Only an abandoned one can be restarted.
  const isRestartable = task.state === 'abandoned' && age < keep.abandonedMs;
  return [
    ...(isRestartable ? [] : ['private' as const]),
    ...(age < Math.max(keep.logsMs, keep.abandonedMs) ? [] : ['logs' as const]),
  ];
}
