/** Whether anything is left that goes on by itself, and what waits for a person. */
import type { LoopLimit } from '../core/budget.ts';
import { isHeld } from '../core/schedule.ts';
import { isEnded, type Task } from '../core/task.ts';
import { DEPLOY_ADVICE, holdText, loopLimitText } from '../core/words.ts';
import type { Poll } from './intake.ts';
import type { Ports } from './ports.ts';
import type { Rest } from './worker.ts';

/** The loop as its runner last saw it. */
export interface Standing {
  poll: Poll | null;
  pausedBy: string | null;
  deployFailed: string | null;
  limit: LoopLimit | null;
  restOf(task: string): Rest | null;
}

/** When nobody is at work: would nothing begin but for a person? */
export async function isIdle(
  { store, clock }: Ports,
  { poll, deployFailed, limit, restOf }: Standing,
  isDeployDue: () => Promise<boolean>,
): Promise<boolean> {
  if ((await store.pendingActions(null)).length > 0) return false;
  // Read anew: a trunk that was verified a moment ago has let the loop go on.
  if ((await store.loop()).pausedBy) return true;
  if (await isDeployDue()) return false;
  if (deployFailed) return true;
  // What the loop's own budget keeps from going on, and what queues behind that, only a person can let go on.
  const isBroke = limit?.scope === 'loop';
  const standings = [...(poll?.schedule.standings.values() ?? [])];
  const isDue = standings.some(
    (one) => one.kind === 'eligible' || (one.kind === 'waiting' && one.until !== null),
  );
  if (isDue && !isBroke) return false;
  const live = (await store.tasks({ live: true })).map((stored) => stored.task);
  const rests = (task: Task): boolean =>
    task.state !== 'merging' && ['budget', 'grant'].includes(restOf(task.id)?.for ?? '');
  if (!live.every((task) => onlyAPersonEnds(task, restOf, clock.now()) || (isBroke && rests(task))))
    return false;
  // What a person is to be told about a held task may still be on its way.
  for (const { id } of live) if ((await store.pendingActions(id)).length > 0) return false;
  return true;
}

/** A line for each thing that only a person can set going again. */
export async function waitingForPeople(
  { store, clock }: Ports,
  { pausedBy, deployFailed, limit, restOf }: Standing,
): Promise<string[]> {
  const live = (await store.tasks({ live: true })).map((stored) => stored.task);
  const held = live
    .filter((task) => onlyAPersonEnds(task, restOf, clock.now()))
    .map((task) => `#${task.issue} ${task.contract.title}: ${holdText(task.hold!, task.issue)}`);
  return [
    ...(pausedBy ? [`the loop is paused by ${pausedBy} — \`forge-loop resume\``] : []),
    ...(deployFailed ? [`${deployFailed} — ${DEPLOY_ADVICE}`] : []),
    ...(limit?.scope === 'loop' ? [loopLimitText(limit)] : []),
    ...held,
  ];
}

function onlyAPersonEnds(task: Task, restOf: Standing['restOf'], now: number): boolean {
  return (
    !isEnded(task) &&
    task.hold !== null &&
    task.hold.until === null &&
    // The forge ends that one.
    task.hold.reason !== 'merge_queued' &&
    isHeld(task, now) &&
    restOf(task.id)?.for !== 'grant'
  );
}
