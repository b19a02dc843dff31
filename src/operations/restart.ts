/**
 * The same task goes on: abandoned → queued on the same row, with its workspace, branch, findings and money spent.
 *
 * Done here and not by a runner, under a lease of this process, so that the answer is there when the command returns.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { transition } from '../core/decision.ts';
import { event, type NewEvent } from '../core/event.ts';
import { isLeftToPeople, workspaceLost } from '../core/recover.ts';
import { isEnded, nameOfTask, type StoredTask, type Task } from '../core/task.ts';
import { UserError, VersionConflict } from '../errors.ts';
import type { Ports } from '../loop/ports.ts';
import { takeOver } from '../loop/recovery.ts';
import { workspaceKey } from '../loop/workspace-key.ts';
import { type Lease, type Store, taskLease } from '../store/store.ts';
import { isRunnerAlive, isStale } from '../view.ts';
import type { WorkspaceProbe } from '../workspace/workspace.ts';
import { findTask } from './reference.ts';

interface Restarted {
  task: string;
  issue: number | null;
  from: string;
  /** Its worktree was gone: the commit it is made anew from. What was not committed is lost. */
  rebuiltAt: string | null;
  runnerAlive: boolean;
}

export async function restartTask(
  context: Context,
  input: { task: string; force: boolean; recreateWorktree?: boolean },
): Promise<Restarted> {
  const reader = await context.reading();
  const seen = await findTask(reader, input.task);
  const found = seen.task;
  const wasInterrupted = !isEnded(found) && (await isInterrupted(context, reader!, found));
  refuse(found, input.force || wasInterrupted);
  const ports = await context.ports();
  const { store } = ports;
  await refuseSecond(store, found);
  await refuseClosed(ports, found);
  if (!isEnded(found) && (await isOwnedByOther(context, store, found)))
    await cancelAndWait(context, store, found);
  const rebuilt = await rebuildable(ports, found);
  if (rebuilt !== null && found.plan && !input.recreateWorktree) throw missing(found, found.plan.name);

  const lease = await ownLease(ports, found);
  try {
    refuseOvertaken(seen, (await store.task(found.id))!);
    await takeOver(ports, found.id, lease);
    const stored = (await store.task(found.id))!;
    await requeue(ports, lease, stored, await context.operator(), rebuilt);
  } catch (problem) {
    throw problem instanceof VersionConflict ? overtaken(found, 'changed') : problem;
  } finally {
    await store.releaseLease(lease);
  }
  return {
    task: found.id,
    issue: found.issue,
    from: wasInterrupted && found.plan ? 'interrupted' : (found.reason ?? found.state),
    rebuiltAt: rebuilt,
    runnerAlive: await isRunnerAlive(store, context),
  };
}

function refuse(task: Task, force: boolean): void {
  if (task.state === 'merged' || task.state === 'completed')
    throw new UserError(`${called(task)} is ${task.state}: there is nothing left to do.`);
  if (isEnded(task) || force) return;
  throw new UserError(
    `${called(task)} is ${task.state}, not ended.`,
    '`--force` cancels it first; `forge-loop resume` releases one that is held.',
  );
}

const called = (task: Task): string =>
  task.plan && task.plan.mode !== 'draft'
    ? `Loop ${task.plan.name}`
    : `Task ${task.id} (${nameOfTask(task)})`;

/** Its runner is gone in the middle of something: nobody is at work on it, and nobody has to be asked to stop. */
async function isInterrupted(context: Context, store: Store, task: Task): Promise<boolean> {
  const [lease] = await store.leases(taskLease(task.id));
  if (lease) return isStale(lease, context);
  if (isLeftToPeople(task)) return true;
  return (await store.pendingActions(task.id)).some(({ startedAt }) => startedAt !== null);
}

/** Of two who restart it at once, one wins: whoever comes second finds another row than they saw. */
function refuseOvertaken(seen: StoredTask, now: StoredTask): void {
  const isSame = isEnded(seen.task) ? now.task.endedAt === seen.task.endedAt : now.version === seen.version;
  if (isSame || (isEnded(now.task) && !isEnded(seen.task))) return;
  throw overtaken(seen.task, now.task.state);
}

const overtaken = (task: Task, state: string): UserError =>
  new UserError(
    `${called(task)} was restarted by somebody else meanwhile: it is ${state}.`,
    'See `forge-loop status`.',
  );

async function refuseSecond(store: Store, task: Task): Promise<void> {
  if (task.issue === null) return;
  const others = (await store.tasks({ issue: task.issue })).map((stored) => stored.task);
  const live = others.find((other) => other.id !== task.id && !isEnded(other));
  if (!live) return;
  throw new UserError(
    `Issue #${task.issue} already has the task ${live.id}, which is ${live.state}.`,
    `Cancel it first: forge-loop task cancel ${live.id}`,
  );
}

async function refuseClosed(ports: Ports, task: Task): Promise<void> {
  if (task.issue === null) return;
  const issue = await ports.forge.issue(task.issue);
  if (issue?.state === 'open') return;
  throw new UserError(
    `Issue #${task.issue} is ${issue ? 'closed' : 'gone'}, so task ${task.id} would end at once.`,
    `Reopen it with: forge-loop issue ready ${task.issue}. That starts a new attempt.`,
  );
}

/**
 * The commit a missing worktree is made anew from; null when it is there, or was never made. One that is there and is not
 * the one we made is left to a person: it may hold what is nowhere else.
 */
async function rebuildable(ports: Ports, task: Task): Promise<string | null> {
  if (task.workspace === null) return null;
  const probe = await ports.workspaces.probe(workspaceKey(task));
  if (probe.exists && probe.intact) return null;
  if (!probe.exists && probe.saved) return probe.saved;
  const [problem, advice] = lostWorktree(task, probe);
  throw new UserError(problem, advice);
}

/** What is wrong with a worktree that can neither be used nor made anew, and what to do instead. */
export function lostWorktree(
  { id, branch, issue, workspace }: Task,
  probe: WorkspaceProbe | null,
): [problem: string, advice: string] {
  const left = probe?.exists ? `Its commits are on ${branch}.` : `Its branch ${branch} is gone, too.`;
  const instead =
    issue === null
      ? 'Start the plan again: forge-loop loop start'
      : `Start a new attempt instead: forge-loop task retry ${issue}`;
  return [
    `The worktree of task ${id} can't be used: ${probe?.problem ?? `${workspace} is missing.`}`,
    `${left} ${instead}`,
  ];
}

const missing = ({ workspace, branch }: Task, name: string): UserError =>
  new UserError(
    `The worktree ${workspace} is gone.`,
    `Its commits are on ${branch}; what was not committed is lost. \`--recreate-worktree\` recreates it from there: forge-loop loop restart ${name} --recreate-worktree`,
  );

async function isOwnedByOther(context: Context, store: Store, task: Task): Promise<boolean> {
  const [lease] = await store.leases(taskLease(task.id));
  return lease !== undefined && !isStale(lease, context);
}

async function cancelAndWait(context: Context, store: Store, task: Task): Promise<void> {
  await store.request({ task: task.id, kind: 'cancel', by: await context.operator(), at: context.now() });
  const giveUpAt = context.now() + LET_GO_MS;
  while (await isOwnedByOther(context, store, task)) {
    if (context.now() > giveUpAt) throw keepsIt(task, 'it was asked to cancel it');
    await wait(100);
  }
}

/** A runner has a task for a moment after its end, too: it tells people, and looks at what it was asked meanwhile. */
export async function ownLease(
  ports: Ports,
  task: Task,
  waitsFor = 'it may still have something to tell',
): Promise<Lease> {
  const { store, owner, clock, timing } = ports;
  const key = taskLease(task.id);
  for (const giveUpAt = clock.now() + LET_GO_MS; ; await wait(100)) {
    const lease = await store.acquireLease(key, owner, clock.now(), timing.leaseTtlMs, ports.isOwnerDead);
    if (lease) return lease;
    if (clock.now() > giveUpAt) throw keepsIt(task, waitsFor);
  }
}

const LET_GO_MS = 60_000;

const keepsIt = ({ id }: Task, why: string): UserError =>
  new UserError(
    `The runner did not let go of task ${id} within ${LET_GO_MS / 1000} s; ${why}.`,
    'See `forge-loop status`, then try again.',
  );

/** The request event wakes a runner that is already at work. */
async function requeue(
  ports: Ports,
  lease: Lease,
  stored: StoredTask,
  by: string,
  rebuilt: string | null,
): Promise<void> {
  const { task, version } = stored;
  const why = `restart requested by ${by}`;
  const ended: NewEvent[] = isEnded(task) ? [] : [transition(task, 'abandoned', why, 'cancelled')];
  const again = transition({ ...task, state: 'abandoned' }, 'queued', why);
  const { labels } = ports.settings.policy();
  const relabel = {
    kind: 'label' as const,
    issue: task.issue!,
    add: [labels.running],
    remove: [labels.ready, labels.needsReview, labels.needsSpec, labels.blocked, labels.abandon],
  };
  const pending = (await ports.store.requests(task.id)).map((request) => request.id);
  await ports.store.commit({
    lease,
    taskId: task.id,
    expectedVersion: version,
    events: [
      ...ended,
      again,
      ...(rebuilt ? [workspaceLost(rebuilt)] : []),
      event('request_made', { kind: 'restart', by }),
    ],
    at: ports.clock.now(),
    dropActions: 'all',
    addActions: task.issue === null ? [] : [relabel],
    consumeRequests: pending,
  });
}
