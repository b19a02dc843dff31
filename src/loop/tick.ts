/**
 * The tick of one task: look, decide, write down, act.
 *
 * What is pending is performed and what came of it recorded; when nothing is, the task is looked at and what follows is
 * written down first. The process may die between any two lines: whoever takes over finds the action still pending, or
 * its outcome in the row. Who ticks holds the task's lease, and every write shows it.
 */
import { isRun, type PendingAction, type Run } from '../core/action.ts';
import type { Decision } from '../core/decision.ts';
import { event } from '../core/event.ts';
import type { Outcome } from '../core/outcome.ts';
import { isEnded, type StoredTask } from '../core/task.ts';
import { stillToSay, withStatus } from '../core/tell/status.ts';
import { isPutOff } from '../core/waiting.ts';
import { failureText } from '../core/words/words.ts';
import { LeaseLost, LimitReached, StoreUnavailable, VersionConflict } from '../errors.ts';
import type { Commit, Lease } from '../store/store.ts';
import type { Rest, Work } from './driver.ts';
import { limitsBeside } from './interrupted.ts';
import { look } from './look.ts';
import { withOwnSettings } from './own-settings.ts';
import { whyPaused } from './paused.ts';
import { perform } from './perform.ts';
import { lastFailure, putOff } from './put-off.ts';
import { recorded } from './recorded.ts';
import { takeOver } from './recovery.ts';
import { carryOut } from './run.ts';

/** Null when there may be more to do at once. */
export async function tick(work: Work, lease: Lease): Promise<Rest | null> {
  const { store } = work.driver.ports;
  const stored = await store.task(work.id);
  if (!stored) return { why: 'unknown task', until: null, for: 'ended' };

  const pending = await store.pendingActions(work.id);
  if (pending.length > 0) return act(work, lease, stored, pending, 'before');
  if (isEnded(stored.task)) return { why: stored.task.why, until: null, for: 'ended' };

  const decision = await look(work, stored.task);
  if (!decision) return STOPPING;
  if (decision.kind !== 'act') return resting(decision);
  const decided = await writeDown(work, lease, stored, decision);
  if ('why' in decided) return decided;
  return act(work, lease, decided, await store.pendingActions(work.id), 'now');
}

/** Performs the first of what is pending, which was decided `now`, in this very tick, or `before`. */
async function act(
  work: Work,
  lease: Lease,
  stored: StoredTask,
  pending: readonly PendingAction[],
  decided: 'now' | 'before',
): Promise<Rest | null> {
  const { ports } = work.driver;
  const { store, clock } = ports;
  // To let the loop go on comes before runs that wait for just that.
  const first = pending.find(({ action }) => action.kind === 'release_loop') ?? pending[0];
  if (!first) return null;
  const { action } = first;
  const isOldLanding = action.kind === 'land' && decided === 'before';
  // Trunk has moved already; only performing it again finishes what was cut short, in checkouts and pull request.
  const isHalfLanded = isOldLanding && (await ports.forge.onTrunk(action.permit.candidate.sha));

  if (isPutOff(first, clock.now())) return wait(work, lease, stored, first, pending, isHalfLanded);
  if (isRun(action)) {
    if (first.startedAt === null) return start(work, lease, stored, first, action);
    await takeOver(ports, work.id, lease);
    return null;
  }
  if (isOldLanding && !isHalfLanded) {
    // A merge that was permitted a while ago is permitted no more: it is looked at anew.
    await commit(work, lease, stored, { events: [], dropActions: 'all' });
    return null;
  }

  await store.proveLease(lease, clock.now());
  const controller = new AbortController();
  const { signal } = controller;
  work.run = { review: async () => {}, abort: () => controller.abort() };
  try {
    const outcome = await perform(withOwnSettings(ports, stored.task), stored.task, action, lease, signal);
    await recordOutcome(work, lease, stored, first, outcome);
  } catch (problem) {
    if (isOurs(problem)) throw problem;
    if (signal.aborted) return STOPPING;
    await putOff(ports, lease, first, problem);
  } finally {
    work.run = null;
  }
  return null;
}

/** An effect waits for its next try; meanwhile only an ending may overtake it. */
async function wait(
  work: Work,
  lease: Lease,
  stored: StoredTask,
  first: PendingAction,
  pending: readonly PendingAction[],
  isHalfLanded: boolean,
): Promise<Rest | null> {
  const { action, attempts, notBefore } = first;
  const why = failureText(action.kind, attempts, await lastFailure(work.driver.ports.store, first));
  const waits: Rest = { why, until: notBefore, for: 'time' };
  if (isEnded(stored.task) || isHalfLanded) return waits;
  const decision = await look(work, stored.task, why);
  if (decision?.kind !== 'act') return waits;
  const said = stillToSay(pending.map((one) => one.action));
  const overtaking = { ...decision, actions: [...said, ...decision.actions] };
  const decided = await writeDown(work, lease, stored, overtaking, { dropActions: 'all' });
  return 'why' in decided ? waits : null;
}

async function start(
  work: Work,
  lease: Lease,
  stored: StoredTask,
  pending: PendingAction,
  action: Run,
): Promise<Rest | null> {
  const { driver } = work;
  const paused = whyPaused(driver, await driver.ports.store.loop(), action);
  if (paused) return { why: paused, until: null, for: 'fact' };
  const outcome = await carryOut(work, lease, stored.task, { id: pending.id, action });
  if (!outcome) {
    const { store, clock } = driver.ports;
    const cut = action.kind === 'gate' ? [event('gate_cut_off', { scope: action.scope })] : [];
    await store.deferAction(lease, pending.id, clock.now(), cut, clock.now());
    return STOPPING;
  }
  await recordOutcome(work, lease, stored, pending, outcome);
  return null;
}

function resting(decision: Exclude<Decision, { kind: 'act' }>): Rest {
  if (decision.kind === 'stop') throw new Error('decided to stop a run although none is in flight');
  return decision;
}

/** A rest when others have taken what it was granted. */
async function writeDown(
  work: Work,
  lease: Lease,
  stored: StoredTask,
  decision: Extract<Decision, { kind: 'act' }>,
  instead: Pick<Commit, 'dropActions'> = {},
): Promise<StoredTask | Rest> {
  const { events, actions, consume, limits, kind: _, ...rest } = decision;
  const addActions = withStatus(stored.task, events, actions, work.driver.ports.clock.now());
  const write = (within: typeof limits): Promise<StoredTask> =>
    commit(work, lease, stored, {
      ...rest,
      ...(within && { limits: within }),
      events,
      addActions,
      ...(consume && { consumeRequests: consume }),
      ...instead,
    });
  try {
    return await write(limits).catch(async (problem: unknown) => {
      const beside = problem instanceof LimitReached && (await limitsBeside(work.driver.ports, limits));
      if (!beside) throw problem;
      return write(beside);
    });
  } catch (problem) {
    if (problem instanceof LimitReached) return { why: problem.message, until: null, for: 'grant' };
    throw problem;
  }
}

async function recordOutcome(
  work: Work,
  lease: Lease,
  stored: StoredTask,
  { id, action }: PendingAction,
  outcome: Outcome,
): Promise<void> {
  const found = await recorded(work.driver.ports, stored.task, action, outcome);
  await commit(work, lease, stored, { ...found, finishActions: [id] });
}

async function commit(
  { id, driver }: Work,
  lease: Lease,
  { task, version }: StoredTask,
  what: Pick<Commit, 'events'> & Partial<Commit>,
): Promise<StoredTask> {
  const { store, clock } = driver.ports;
  const at = clock.now();
  const after = await store.commit({ lease, taskId: id, expectedVersion: version, at, ...what });
  driver.changed(task, after.task);
  return after;
}

const STOPPING: Rest = { why: 'stopping', until: null, for: 'fact' };

const isOurs = (problem: unknown): boolean =>
  problem instanceof LeaseLost || problem instanceof VersionConflict || problem instanceof StoreUnavailable;
