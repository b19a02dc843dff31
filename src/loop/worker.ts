/**
 * One task, driven by one runner: perform what is pending, else look and decide, until there is nothing to do now.
 *
 * A worker never decides by itself and holds nothing that a crash could lose. A failure here ends this worker's step,
 * never the daemon.
 */
import { type Action, isRun, type PendingAction, type Run } from '../core/action.ts';
import { spent } from '../core/budget.ts';
import { decide } from '../core/decide.ts';
import type { Decision, Facts } from '../core/decision.ts';
import { event, type TurnStatus } from '../core/event.ts';
import type { Outcome } from '../core/outcome.ts';
import { record } from '../core/record.ts';
import { backoffMs } from '../core/schedule.ts';
import { isEnded, type StoredTask, type Task } from '../core/task.ts';
import { ForgeUnavailable, LeaseLost, LimitReached, StoreUnavailable, VersionConflict } from '../errors.ts';
import type { Issue } from '../forge/forge.ts';
import { type Lease, taskLease } from '../store/store.ts';
import { warnOfTaskBudget } from './budget-warning.ts';
import { runGate } from './gate.ts';
import { runAfterMerge } from './hook.ts';
import { readLoopLimit } from './loop-limit.ts';
import { observe } from './observe.ts';
import { perform } from './perform.ts';
import type { Ports } from './ports.ts';
import { takeOver } from './recovery.ts';
import { composePrompt, runTurn } from './turn.ts';

/** What a worker asks of the runner that drives it. */
export interface Driver {
  ports: Ports;
  eligible(): number;
  /** Why no new run may start; null when it may. */
  paused(): string | null;
  /** Stop everything at once: children are killed, their turns end interrupted. */
  closing(): boolean;
  /** The task changed in a way that may free a slot, a critic or the merge for others. */
  changed(task: string): void;
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

interface Stopped {
  status: TurnStatus;
  why: string;
  code: string | null;
}

interface RunInFlight {
  action: Run;
  startedAt: number;
  lastProgressAt: number;
  controller: AbortController;
  stopped: Stopped | null;
  /** What was seen of the forge when it was last asked. */
  facts: Facts | null;
}

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
  let supervising = false;
  /** Effects that were performed and had nothing to say: finished with the next commit, or performed again. */
  let performed: number[] = [];
  /** The issue as this step read it last. */
  let issueSeen: { issue: Issue; at: number } | null = null;
  let lookAgain: 'spend' | 'everything' | null = null;
  const warned = new Set<string>();
  /** The facts behind what is pending now, when this very step decided it. */
  let decidedWith: Facts | null = null;

  const worker: Worker = {
    id,
    wake,
    review: () => {
      if (run) void supervise(run, 'spend');
    },
    busy: () => step !== null,
    rest: () => resting,
    abort: () => run?.controller.abort(),
    lease: () => lease,
    dropLease: () => {
      lease = null;
      run?.controller.abort();
    },
    settled: () => step ?? Promise.resolve(),
  };
  return worker;

  function wake(): void {
    if (step) {
      again = true;
      if (run) void supervise(run, 'everything');
      return;
    }
    again = false;
    issueSeen = null;
    resting = null;
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
        await finishPerformed();
        return rest;
      }
      failures = 0;
      if (!lease) return { why: 'its lease was lost', until: null, for: 'elsewhere' };
    }
  }

  /** One action or one decision; null when there may be more to do at once. */
  async function once(held: Lease): Promise<Rest | null> {
    const stored = await store.task(id);
    if (!stored) return { why: 'unknown task', until: null, for: 'ended' };
    const pending = (await store.pendingActions(id)).find((one) => !performed.includes(one.id)) ?? null;
    const fresh = decidedWith;
    decidedWith = null;
    if (!pending) {
      if (isEnded(stored.task)) {
        await finishPerformed();
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
      await decideAgain(held, stored);
      return null;
    }
    await store.proveLease(held, clock.now());
    try {
      const outcome = await perform(ports, stored.task, pending.action, held);
      if (CHANGES_ISSUE.has(pending.action.kind)) issueSeen = null;
      if (outcome.kind === 'done') performed.push(pending.id);
      else await commitOutcome(held, stored, pending, outcome);
    } catch (problem) {
      if (isOurs(problem)) throw problem;
      await putOff(held, pending, problem);
    }
    return null;
  }

  async function decideAndCommit(
    held: Lease,
    stored: StoredTask,
    stuck: string | null,
  ): Promise<Rest | null> {
    const { task, version } = stored;
    const known = rememberedIssue();
    const around = { eligible: driver.eligible(), paused: driver.paused(), inFlight: null, stuck };
    let facts = await observe(ports, task, { ...around, ...known });
    let decision = decide(task, facts, ports.settings.policy(), clock.now());
    if (known.issue && !onlySaves(decision)) {
      facts = { ...facts, issue: await ports.forge.issue(known.issue.number) };
      decision = decide(task, facts, ports.settings.policy(), clock.now());
      remember(facts);
    } else if (!known.issue) remember(facts);
    await warnOfTaskBudget(ports, task, spent(task, facts.spend, 0), warned);
    if (decision.kind === 'rest') return decision;
    if (decision.kind === 'stop') throw new Error('decided to stop a run although none is in flight');
    try {
      await store.commit({
        lease: held,
        taskId: id,
        expectedVersion: version,
        events: decision.events,
        at: clock.now(),
        finishActions: performed,
        addActions: decision.actions,
        ...(stuck ? { dropActions: 'all' as const } : {}),
        ...(decision.limits ? { limits: decision.limits } : {}),
        ...(decision.consume ? { consumeRequests: decision.consume } : {}),
        ...(decision.findings ? { findings: decision.findings } : {}),
      });
    } catch (problem) {
      if (problem instanceof LimitReached) return { why: problem.message, until: null, for: 'grant' };
      throw problem;
    }
    performed = [];
    decidedWith = facts;
    driver.changed(id);
    return null;
  }

  /**
   * One read of the issue serves a turn: saving and verifying what it left rests on what was seen while it ran, and
   * whatever follows then, on what is read then.
   */
  function rememberedIssue(): { issue?: Issue } {
    const isYoung =
      issueSeen !== null && clock.now() - issueSeen.at <= ports.settings.policy().pollIntervalMs;
    return isYoung ? { issue: issueSeen!.issue } : {};
  }

  function remember({ issue }: Pick<Facts, 'issue'>): void {
    issueSeen = issue ? { issue: issue as Issue, at: clock.now() } : null;
  }

  /** Trunk has moved already; only performing it again finishes what was cut short, in checkouts and pull request. */
  async function hasLanded(action: Action): Promise<boolean> {
    return action.kind === 'land' && ports.forge.onTrunk(action.permit.candidate.sha);
  }

  /** A merge that was permitted a while ago is permitted no more: it is dropped and looked at anew. */
  async function decideAgain(held: Lease, { version }: StoredTask): Promise<void> {
    await store.commit({
      lease: held,
      taskId: id,
      expectedVersion: version,
      events: [],
      at: clock.now(),
      dropActions: 'all',
    });
    performed = [];
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
    const paused = driver.paused();
    if (paused) return { why: paused, until: null, for: 'fact' };
    const now = clock.now();
    run = {
      action,
      startedAt: now,
      lastProgressAt: now,
      controller: new AbortController(),
      stopped: null,
      facts: fresh,
    };
    try {
      const decision = fresh ? null : await look(run, stored.task);
      if (decision?.kind === 'stop') {
        await commitOutcome(held, stored, pending, neverStarted(action, decision));
        return null;
      }
      const prompt = action.kind === 'turn' ? await composePrompt(ports, stored.task, action) : { text: '' };
      if ('kind' in prompt) {
        await commitOutcome(held, stored, pending, prompt);
        return null;
      }
      await store.startAction(held, pending.id, now);
      void supervise(run, 'spend');
      const outcome = await performRun(held, stored.task, run, prompt.text);
      await commitOutcome(held, stored, pending, outcome);
      return null;
    } finally {
      run = null;
      disarm();
    }
  }

  async function performRun(held: Lease, task: Task, current: RunInFlight, prompt: string): Promise<Outcome> {
    const { action, controller } = current;
    if (action.kind === 'gate') {
      const found = await runGate(ports, task, action, held, controller.signal);
      if (!found) throw new Interrupted();
      return { kind: 'gate', ...found };
    }
    if (action.kind === 'hook') {
      const problem = await runAfterMerge(ports, action.sha, {
        task: id,
        lease: held,
        signal: controller.signal,
      });
      return { kind: 'hook', problem };
    }
    return runTurn(ports, task, action, prompt, held, {
      signal: controller.signal,
      stopped: () => current.stopped,
      onProgress: () => {
        current.lastProgressAt = clock.now();
      },
      onSpend: () => {
        worker.review();
        driver.spent(id);
      },
    });
  }

  /**
   * Called on every wake during a run: the only thing it may do is stop it. When only the spending is in question the
   * forge is not asked again: its last answers stand.
   */
  async function supervise(current: RunInFlight, about: 'spend' | 'everything'): Promise<void> {
    // Whatever was spent during one look is seen by the next: none is passed over.
    lookAgain = lookAgain === 'everything' ? lookAgain : about;
    if (supervising) return;
    supervising = true;
    try {
      while (lookAgain !== null && !current.stopped) {
        const asked: 'spend' | 'everything' = lookAgain;
        lookAgain = null;
        const stored = await store.task(id);
        if (!stored || run !== current) return;
        const decision = await look(current, stored.task, asked);
        if (run !== current) return;
        if (decision.kind === 'stop') {
          current.stopped = decision;
          current.controller.abort();
        } else if (decision.kind === 'rest' && decision.until !== null) arm(decision.until);
      }
    } catch (problem) {
      ports.log('warn', `could not look at a running turn: ${String(problem)}`, { task: id });
    } finally {
      supervising = false;
    }
  }

  async function look(
    current: RunInFlight,
    task: Task,
    about: 'spend' | 'everything' = 'everything',
  ): Promise<Decision> {
    const { action, startedAt, lastProgressAt } = current;
    const inFlight = { action, startedAt, lastProgressAt };
    const known = about === 'spend' ? current.facts : null;
    const around = { eligible: driver.eligible(), paused: null, inFlight, stuck: null };
    current.facts = known
      ? {
          ...known,
          inFlight,
          spend: await store.spend(id),
          loopLimit: await readLoopLimit(ports),
          requests: await store.requests(id),
        }
      : await observe(ports, task, around);
    if (!known) remember(current.facts);
    const inFlightMs = action.kind === 'turn' ? clock.now() - startedAt : 0;
    await warnOfTaskBudget(ports, task, spent(task, current.facts.spend, inFlightMs), warned);
    return decide(task, current.facts, ports.settings.policy(), clock.now());
  }

  async function commitOutcome(
    held: Lease,
    stored: StoredTask,
    pending: PendingAction,
    outcome: Outcome,
  ): Promise<void> {
    const judges = outcome.kind === 'turn' || outcome.kind === 'inspected';
    const ledger = judges ? await store.findings(id) : [];
    const { events, actions, findings } = record(
      stored.task,
      pending.action,
      outcome,
      ledger,
      ports.settings.policy(),
      clock.now(),
    );
    await store.commit({
      lease: held,
      taskId: id,
      expectedVersion: stored.version,
      events,
      at: clock.now(),
      finishActions: [...performed, pending.id],
      addActions: actions,
      findings,
    });
    performed = [];
    if (isRun(pending.action)) driver.changed(id);
  }

  async function finishPerformed(): Promise<void> {
    const stored = performed.length > 0 ? await store.task(id) : null;
    if (!stored || !lease) return;
    await store.commit({
      lease,
      taskId: id,
      expectedVersion: stored.version,
      events: [],
      at: clock.now(),
      finishActions: performed,
    });
    performed = [];
  }

  async function putOff(held: Lease, pending: PendingAction, problem: unknown): Promise<void> {
    const attempt = pending.attempts + 1;
    const now = clock.now();
    const asked = problem instanceof ForgeUnavailable ? problem.retryAt : null;
    const notBefore = Math.max(asked ?? 0, now + backoffMs(attempt, ports.random()));
    const text = problem instanceof Error ? problem.message : String(problem);
    ports.log('warn', `${pending.action.kind} failed: ${text}`, { task: id, attempt });
    await store.deferAction(
      held,
      pending.id,
      notBefore,
      [event('effect_failed', { action: pending.action.kind, problem: text, attempt })],
      now,
    );
  }

  async function afterFailure(problem: unknown): Promise<Rest> {
    performed = [];
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

/** Nothing of it begins or ends anything: the work is kept safe and looked at. */
const onlySaves = (decision: Decision): boolean =>
  decision.kind === 'act' &&
  decision.actions.length > 0 &&
  decision.actions.every(({ kind }) => kind === 'checkpoint' || kind === 'merge_in' || kind === 'gate');

/** A gate that was cut short proves nothing: it is run again. */
class Interrupted extends Error {
  override name = 'Interrupted';
}

const isOurs = (problem: unknown): boolean =>
  problem instanceof LeaseLost || problem instanceof VersionConflict || problem instanceof StoreUnavailable;

function neverStarted(action: Run, { why, code }: Pick<Stopped, 'why' | 'code'>): Outcome {
  if (action.kind !== 'turn') return { kind: 'done' };
  return {
    kind: 'turn',
    status: 'interrupted',
    code,
    message: why,
    text: '',
    structured: null,
    retryAt: null,
    durationMs: 0,
    usageKnown: true,
  };
}
