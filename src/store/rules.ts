/**
 * What every store decides in the same way, whatever holds its rows: who owns a lease, what an event's place is, and
 * when a limit is full. Pure, so that two implementations can't drift apart.
 */

import { isRun, type PendingAction } from '../core/action.ts';
import type { LoopEvent, NewEvent } from '../core/event.ts';
import { apply } from '../core/fold.ts';
import { hasExpired, hasLapsed, leaseTimes, type Moment } from '../core/lease.ts';
import { isInLine } from '../core/line/line.ts';
import { type AccountLimit, limitOf } from '../core/money/account.ts';
import { isAmount } from '../core/money/cost.ts';
import { isEnded, isJudging, occupiesSlot, type Task } from '../core/task.ts';
import { LeaseLost, LimitReached, UserError } from '../errors.ts';
import type { Commit, Lease, UsageDelta } from './store.ts';

/** A lease as kept. It outlives its release (`owner` null), because its fencing number must never start again. */
export interface LeaseRow extends Omit<Lease, 'owner'> {
  owner: string | null;
}

/** The lease as it stands when `owner` gets it, or null when somebody alive has it. */
export function grantLease(
  row: LeaseRow | undefined,
  wanted: { key: string; owner: string; at: Moment; ttlMs: number },
  dead: (owner: string) => boolean,
): Lease | null {
  const { key, owner, at, ttlMs } = wanted;
  const times = leaseTimes(at, ttlMs);
  if (row?.owner === owner) return { key, owner, fencing: row.fencing, ...times };
  const free = !row || row.owner === null || hasLapsed(row, at) || dead(row.owner);
  return free ? { key, owner, fencing: (row?.fencing ?? 0) + 1, ...times } : null;
}

/** Throws unless `row` is still the lease the caller shows; `at` is null where a verb is told no time. */
export function requireLease(row: LeaseRow | undefined, lease: Lease, at: Moment | null): void {
  if (row?.owner !== lease.owner || row.fencing !== lease.fencing) {
    throw new LeaseLost(`the lease ${lease.key} #${lease.fencing} is held by ${row?.owner ?? 'nobody'} now`);
  }
  if (at !== null && hasExpired(row, at)) {
    throw new LeaseLost(`the lease ${lease.key} #${lease.fencing} has expired`);
  }
}

/** The key a write needs; another lease, however valid, proves nothing about this thing. */
export function requireKey(lease: Lease, key: string): void {
  if (lease.key !== key) throw new LeaseLost(`the lease ${lease.key} does not cover ${key}`);
}

/** Anything else is a bug of whoever counted it. */
export function requireSpent(delta: UsageDelta): void {
  if (!isAmount(delta)) throw new Error(`usage ${delta.key} of ${delta.task} is no amount`);
}

export function stamp(
  events: readonly NewEvent[],
  firstSeq: number,
  task: string | null,
  at: number,
): LoopEvent[] {
  return events.map((event, index) => ({ ...event, seq: firstSeq + index, at, task }));
}

export function applyAll(task: Task, events: readonly LoopEvent[]): Task {
  return events.reduce<Task>(apply, task);
}

/** Only its owner, by a commit, changes a task; anybody may note something about it. */
export function requireUnchanged(task: Task, events: readonly LoopEvent[]): void {
  if (applyAll(task, events) !== task)
    throw new Error(`${events.map(({ type }) => type).join(', ')} changes the row of ${task.id}: commit it`);
}

export function firstRow(id: string, events: readonly LoopEvent[]): Task {
  const task = events.reduce<Task | null>(apply, null);
  if (!task) throw new Error(`the claim of ${id} carries no task_created`);
  return task;
}

/**
 * A commit that need not be on the disk before the next one is: it only says what came of an effect, which is performed
 * again if that is lost with the machine's power. While others are pending, it has no event that they could rest on.
 */
export function isFoundOutAgain(
  { events, addActions = [], finishActions = [], dropActions }: Commit,
  pending: readonly PendingAction[],
): boolean {
  const [finished, ...more] = pending.filter(({ id }) => finishActions.includes(id));
  if (!finished || more.length > 0 || isRun(finished.action)) return false;
  return addActions.length === 0 && !dropActions && (pending.length === 1 || events.length === 0);
}

export type Limited = keyof NonNullable<Commit['limits']>;

export const LIMITED: Record<Limited, { says: string; takes: (task: Task) => boolean }> = {
  slots: { says: 'slots are taken', takes: occupiesSlot },
  critics: { says: 'critics are at work', takes: isJudging },
  merging: { says: 'tasks are in line', takes: isInLine },
};

/** A limit is about granting: what a task already has is not taken away when the limit was lowered meanwhile. */
export function requireRoom(
  before: Task,
  after: Task,
  limits: Commit['limits'],
  countOthers: (what: Limited) => number,
): void {
  for (const what of Object.keys(limits ?? {}) as Limited[]) {
    const limit = limits?.[what];
    const { says, takes } = LIMITED[what];
    if (limit === undefined || takes(before) || !takes(after)) continue;
    const others = countOthers(what);
    if (others >= limit) throw new LimitReached(`${others} of ${limit} ${says}; ${after.id} has to wait`);
  }
}

/** Nobody is asked in vain: the limit may have become known after the decision. */
export function requireAccount(
  limits: readonly AccountLimit[],
  account: string | undefined,
  at: number,
): void {
  const limit = account === undefined ? null : limitOf(limits, account, at);
  if (limit) throw new LimitReached(`${limit.account} is not asked now: ${limit.why}`);
}

/** A restart must not give an issue a second task beside the one that replaced it. */
export function requireOnlyTask(
  before: Task,
  after: Task,
  otherLive: (issue: number) => string | undefined,
): void {
  if (after.issue === null || !isEnded(before) || isEnded(after)) return;
  const other = otherLive(after.issue);
  if (other === undefined) return;
  throw new UserError(
    `issue #${after.issue} already has the task ${other}, which has not ended`,
    `Cancel ${other} first, or let it finish.`,
  );
}
