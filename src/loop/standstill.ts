/** Whether anything is left that goes on by itself, and what waits for a person. */

import { holdText } from '../core/hold.ts';
import { isHeld } from '../core/line/schedule.ts';
import type { LoopWait } from '../core/loop/loop-waits.ts';
import { accountOf } from '../core/money/account.ts';
import { isEnded, nameOfTask, type Task } from '../core/task.ts';
import type { Rest } from './driver.ts';
import type { Poll } from './intake.ts';
import type { Ports } from './ports.ts';

/** The loop as its runner last saw it. */
export interface Standing {
  poll: Poll | null;
  waits: readonly LoopWait[];
  restOf(task: string): Rest | null;
}

/** When nobody is at work: would nothing begin but for a person? */
export async function isIdle(
  { store, clock, settings }: Ports,
  { poll, waits, restOf }: Standing,
  isDeployDue: () => Promise<boolean>,
): Promise<boolean> {
  // People are told beside everything else.
  if ((await store.pendingActions(null)).some(({ action }) => action.kind !== 'notify')) return false;
  const forPeople = waits.filter(isForPeople);
  const isStoppedFor = (what: LoopWait['stops']): boolean => forPeople.some(({ stops }) => stops === what);
  if (isStoppedFor('everything')) return true;
  if (await isDeployDue()) return false;
  if (isStoppedFor('runs')) return true;
  // What the loop's own budget or its gate keeps from going on, and what queues behind that, only a person can let go on.
  const isStopped = isStoppedFor('turns');
  const standings = [...(poll?.schedule.standings.values() ?? [])];
  const isDue = standings.some(
    (one) => one.kind === 'eligible' || (one.kind === 'waiting' && one.until !== null),
  );
  const isOut = (account: string | undefined): boolean =>
    forPeople.some((one) => one.account !== null && one.account.account === account);
  if (isDue && !isStopped && !isOut(accountOf(settings.policy().agents.coder))) return false;
  const live = (await store.tasks({ live: true })).map((stored) => stored.task);
  const isInterrupted = ({ id }: Task): boolean => restOf(id)?.for === 'person';
  const rests = (task: Task): boolean =>
    task.state !== 'merging' && ['budget', 'gate', 'grant'].includes(restOf(task.id)?.for ?? '');
  // A critic that waits has no hold: it keeps no slot from others.
  const waitsForOutage = ({ id, hold, state }: Task): boolean =>
    hold
      ? isOut(hold.account)
      : state === 'awaiting_critic' &&
        restOf(id)?.for === 'time' &&
        isOut(accountOf(settings.policy().agents.critic));
  const isLeft = (task: Task): boolean =>
    isInterrupted(task) ||
    onlyAPersonEnds(task, restOf, clock.now()) ||
    (isStopped && rests(task)) ||
    waitsForOutage(task);
  if (!live.every(isLeft)) return false;
  // What a person is to be told about a held task may still be on its way.
  for (const task of live)
    if (!isInterrupted(task) && (await store.pendingActions(task.id)).length > 0) return false;
  return true;
}

/** A line for each thing that only a person can set going again. */
export async function waitingForPeople(
  { store, clock }: Ports,
  { waits, restOf }: Standing,
): Promise<string[]> {
  const live = (await store.tasks({ live: true })).map((stored) => stored.task);
  const left = live.flatMap((task) => {
    const rest = restOf(task.id);
    const name = nameOfTask(task);
    const line = (why: string): string => `${name} ${task.contract.title}: ${why}`;
    if (rest?.for === 'person') return [line(rest.why)];
    return task.hold && onlyAPersonEnds(task, restOf, clock.now()) ? [line(holdText(task.hold, name))] : [];
  });
  return [...waits.filter(isForPeople).map(({ text }) => text), ...left];
}

const isForPeople = ({ endsBy }: LoopWait): boolean => endsBy !== 'time';

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
