/**
 * One task, driven by one runner: perform what is pending, else look and decide, until there is nothing to do now.
 *
 * A worker never decides by itself and holds nothing that a crash could lose. A failure here ends this worker's step,
 * never the daemon.
 */
import { type Action, isRun, type PendingAction, type Run } from '../core/action.ts';
import type { Facts } from '../core/decision.ts';
import { event } from '../core/event.ts';
import type { Outcome } from '../core/outcome.ts';
import { backoffMs } from '../core/schedule.ts';
import { isEnded, type StoredTask, type Task } from '../core/task.ts';
import { ForgeUnavailable, LeaseLost, LimitReached, StoreUnavailable, VersionConflict } from '../errors.ts';
import { type Lease, type LoopRow, taskLease } from '../store/store.ts';
import { createLook } from './look.ts';
import { createOutbox } from './outbox.ts';
import { perform } from './perform.ts';
import type { Ports } from './ports.ts';
import { takeOver } from './recovery.ts';
import { createRun, Interrupted, neverStarted, type RunInFlight } from './run.ts';

/** What a worker asks of the runner that drives it. */
export interface Driver {
  ports: Ports;
  eligible(): number;
  /**
   * Why no new run (or not this one) may start; null when it may. The loop's row is read for each question: nothing
   * begins once whoever paused or stopped the loop was told so.
   */
  paused(loop: LoopRow, run?: Run): string | null;
  /** Stop everything at once: children are killed, their turns end interrupted. */
  closing(): boolean;
  /** Others may have been waiting for just that. */
  changed(before: Task, after: Task): void;
  /** The task has spent something: a limit of the loop concerns every other turn at work. */
  spent(task: string): void;
  /** May this runner take over by itself what a dead runner had started? */
  recovers(): boolean;
}

export type Rest = {
  why: string;
  until: number | null;
  for: 'grant' | 'time' | 'budget' | 'fact' | 'elsewhere' | 'ended';
};

export interface Worker {
  readonly id: string;
  /** Coalesced: a wake during a step leads to one more step. */
  wake(): void;
  /** Looks whether a run in flight may go on spending. */
  review(): void;
  /** Looks at a run in flight, or steps. */
  busy(): boolean;
  rest(): Rest | null;
  /** Kills what runs, for a lost lease or a hurried stop. */
  abort(): void;
  lease(): Lease | null;
  dropLease(): void;
  settled(): Promise<void>;
}

export function createWorker(driver: Driver, id: string, onSettled: (worker: Worker) => void): Worker {
  const { ports } = driver;
  const { store, clock } = ports;
  let lease: Lease | null = null;
  let run: RunInFlight | null = null;
  let step: Promise<void> | null = null;
  let again = false;
  let resting: Rest | null = null;
  let cancelTimer: (() => void) | null = null;
  let failures = 0;
  const look = createLook(ports, driver);
  const outbox = createOutbox(ports, id);
  /** The facts behind what is pending now, when this very step decided it. */
  let decidedWith: Facts | null = null;
  /** The row as this very step wrote it; whoever else has changed it since makes the next commit fail. */
  let written: StoredTask | null = null;

  const worker: Worker = {
    id,
    wake,
    review: () => {
      void run?.supervise('spend');
    },
    busy: () => step !== null,
    rest: () => resting,
    abort: () => run?.abort(),
    lease: () => lease,
    dropLease: () => {
      lease = null;
      run?.abort();
    },
    settled: () => step ?? Promise.resolve(),
  };
  return worker;

  function wake(): void {
    if (step) {
      again = true;
      void run?.supervise('everything');
      return;
    }
    again = false;
    look.forgetIssue();
    resting = null;
    written = null;
    disarm();
    step = advance()
      .catch(afterFailure)
      .then((rest) => {
        step = null;
        resting = rest;
        if (rest.until !== null) arm(rest.until);
        if (again && !driver.closing()) wake();
        else onSettled(worker);
      });
  }

  async function advance(): Promise<Rest> {
    if (driver.closing()) return { why: 'stopping', until: null, for: 'fact' };
    if (!lease) {
      const seen = await store.task(id);
      if (!seen) return { why: 'unknown task', until: null, for: 'ended' };
      lease = await store.acquireLease(
        taskLease(id),
        ports.owner,
        clock.now(),
        ports.timing.leaseTtlMs,
        ports.isOwnerDead,
      );
      if (!lease) return { why: 'another runner has it', until: null, for: 'elsewhere' };
      if (!driver.recovers() && (await hasStartedRun())) {
        await letGo();
        return { why: 'waits for `forge-loop recover` or `restart`', until: null, for: 'fact' };
      }
      await takeOver(ports, id, lease);
    }
    for (;;) {
      again = false;
      const stopping: Rest = { why: 'stopping', until: null, for: 'fact' };
      const rest = (await once(lease)) ?? (driver.closing() ? stopping : null);
      if (rest) {
        if (lease) await outbox.settle(lease);
        return rest;
      }
      failures = 0;
      if (!lease) return { why: 'its lease was lost', until: null, for: 'elsewhere' };
    }
  }

  /** One action or one decision; null when there may be more to do at once. */
  async function once(held: Lease): Promise<Rest | null> {
    const stored = written ?? (await store.task(id));
    written = null;
    if (!stored) return { why: 'unknown task', until: null, for: 'ended' };
    const pending = await outbox.next();
    const fresh = decidedWith;
    decidedWith = null;
    if (!pending) {
      if (isEnded(stored.task)) {
        await outbox.settle(held);
        await letGo();
        return { why: stored.task.why, until: null, for: 'ended' };
      }
      return decideAndCommit(held, stored, null);
    }
    const isOldLanding = pending.action.kind === 'land' && !fresh;
    const isHalfLanded = isOldLanding && (await hasLanded(pending.action));
    if (pending.notBefore > clock.now()) return deferred(held, stored, pending, isHalfLanded);
    if (isRun(pending.action)) {
      if (pending.startedAt === null) return startRun(held, stored, pending, pending.action, fresh);
      await takeOver(ports, id, held);
      return null;
    }
    if (isOldLanding && !isHalfLanded) {
      // A merge that was permitted a while ago is permitted no more: it is looked at anew.
      await outbox.drop(held, stored);
      return null;
    }
    await store.proveLease(held, clock.now());
    try {
      const outcome = await perform(ports, stored.task, pending.action, held);
      if (CHANGES_ISSUE.has(pending.action.kind)) look.forgetIssue();
      if (outcome.kind === 'done') outbox.performed(pending);
      written = outcome.kind === 'done' ? stored : await outbox.ended(held, stored, pending, outcome);
    } catch (problem) {
      if (isOurs(problem)) throw problem;
      await outbox.putOff(held, pending, problem);
    }
    return null;
  }

  async function decideAndCommit(
    held: Lease,
    stored: StoredTask,
    stuck: string | null,
  ): Promise<Rest | null> {
    const { facts, decision } = await look.atRest(stored.task, stuck);
    if (decision.kind === 'rest') return decision;
    if (decision.kind === 'stop') throw new Error('decided to stop a run although none is in flight');
    try {
      written = await outbox.decided(held, stored, decision, stuck ? 'all' : null);
    } catch (problem) {
      if (problem instanceof LimitReached) return { why: problem.message, until: null, for: 'grant' };
      throw problem;
    }
    decidedWith = facts;
    driver.changed(stored.task, written.task);
    return null;
  }

  /** Trunk has moved already; only performing it again finishes what was cut short, in checkouts and pull request. */
  async function hasLanded(action: Action): Promise<boolean> {
    return action.kind === 'land' && ports.forge.onTrunk(action.permit.candidate.sha);
  }

  /** An effect waits for its next try; meanwhile only an ending may overtake it. */
  async function deferred(
    held: Lease,
    stored: StoredTask,
    pending: PendingAction,
    isHalfLanded: boolean,
  ): Promise<Rest | null> {
    const why = `${pending.action.kind} failed ${pending.attempts}×; tried again later`;
    const waits: Rest = { why, until: pending.notBefore, for: 'time' };
    if (isEnded(stored.task) || isHalfLanded) return waits;
    const rest = await decideAndCommit(held, stored, why);
    return rest ? waits : null;
  }

  async function startRun(
    held: Lease,
    stored: StoredTask,
    pending: PendingAction,
    action: Run,
    fresh: Facts | null,
  ): Promise<Rest | null> {
    const paused = driver.paused(await store.loop(), action);
    if (paused) return { why: paused, until: null, for: 'fact' };
    const current = createRun(ports, look, stored.task, action, fresh, arm);
    run = current;
    try {
      const outcome = await carryOut(held, pending, action, current);
      written = await outbox.ended(held, stored, pending, outcome);
      driver.changed(stored.task, written.task);
      return null;
    } finally {
      current.over();
      run = null;
      disarm();
    }
  }

  async function carryOut(
    held: Lease,
    pending: PendingAction,
    action: Run,
    current: RunInFlight,
  ): Promise<Outcome> {
    const stopped = await current.mayStart();
    if (stopped) return neverStarted(action, stopped);
    const begin = async () => {
      await store.startAction(held, pending.id, clock.now());
      void current.supervise('spend');
    };
    return current.perform(begin, held, () => {
      worker.review();
      driver.spent(id);
    });
  }

  async function afterFailure(problem: unknown): Promise<Rest> {
    outbox.forget();
    if (problem instanceof LeaseLost) {
      lease = null;
      ports.log('warn', 'lease lost: another runner owns the task', { task: id });
      return { why: 'another runner has it', until: null, for: 'elsewhere' };
    }
    if (problem instanceof Interrupted) return { why: 'stopping', until: null, for: 'fact' };
    if (problem instanceof VersionConflict)
      return { why: 'changed meanwhile', until: clock.now(), for: 'time' };
    failures += 1;
    const until = clock.now() + backoffMs(failures, ports.random());
    const text = problem instanceof Error ? problem.message : String(problem);
    const expected = problem instanceof ForgeUnavailable || problem instanceof StoreUnavailable;
    ports.log(problem instanceof ForgeUnavailable ? 'warn' : 'error', text, {
      task: id,
      ...(expected ? {} : { stack: (problem as Error)?.stack }),
    });
    if (!expected && failures <= 3) {
      await store
        .record({ events: [event('loop_failed', { where: `task ${id}`, problem: text })], at: clock.now() })
        .catch(() => {});
    }
    return { why: text, until, for: 'time' };
  }

  async function hasStartedRun(): Promise<boolean> {
    return (await store.pendingActions(id)).some(
      (pending) => isRun(pending.action) && pending.startedAt !== null,
    );
  }

  async function letGo(): Promise<void> {
    if (lease) await store.releaseLease(lease);
    lease = null;
  }

  function arm(at: number): void {
    disarm();
    cancelTimer = clock.after(Math.max(0, at - clock.now()), wake);
  }

  function disarm(): void {
    cancelTimer?.();
    cancelTimer = null;
  }
}

const CHANGES_ISSUE: ReadonlySet<Action['kind']> = new Set(['label', 'close_issue']);

const isOurs = (problem: unknown): boolean =>
  problem instanceof LeaseLost || problem instanceof VersionConflict || problem instanceof StoreUnavailable;
