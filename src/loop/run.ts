/**
 * One run (a turn, a gate, a hook) from its start to its outcome, and the eye kept on it meanwhile: every wake looks
 * whether it may go on, and the only thing a look may do is stop it.
 */
import type { Run } from '../core/action.ts';
import type { Decision, Facts } from '../core/decision.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Task } from '../core/task.ts';
import type { Progress } from '../core/tell/progress.ts';
import { afterProgress, NO_TOOLS } from '../core/tool-watch.ts';
import type { Lease } from '../store/store.ts';
import type { RunInFlight, Work } from './driver.ts';
import { runGate } from './gate.ts';
import { runAfterMerge } from './hook.ts';
import { lookAtRun } from './look.ts';
import { lostWorkspace } from './lost-workspace.ts';
import { withOwnSettings } from './own-settings.ts';
import { runTurn } from './turn.ts';

type Stop = Extract<Decision, { kind: 'stop' }>;

/**
 * It is looked at once more before it starts. Null when a gate was cut short: what is known then proves nothing, and it is
 * run again.
 */
export async function carryOut(
  work: Work,
  lease: Lease,
  task: Task,
  { id, action }: { id: number; action: Run },
): Promise<Outcome | null> {
  const { driver } = work;
  const { ports } = driver;
  const { store, clock } = ports;
  const controller = new AbortController();
  const { signal } = controller;
  // By a clock that nobody sets: a turn is not over time because somebody set the other.
  const startedAt = clock.monotonic();
  let lastProgressAt = startedAt;
  let tools = NO_TOOLS;
  let facts: Facts | null = null;
  let stopped: Stop | null = null;
  let asked: 'spend' | 'everything' | null = null;
  let isReviewing = false;
  let isOver = false;

  const run: RunInFlight = { review, abort: () => controller.abort() };
  work.run = run;
  try {
    const first = await lookAt(task, null);
    if (first.kind === 'stop') return neverStarted(action, first);
    if (action.kind !== 'turn') await begin();
    return await outcome();
  } finally {
    isOver = true;
    work.run = null;
    work.wakeAt(null);
  }

  async function begin(): Promise<void> {
    await store.startAction(lease, id, clock.now());
    void review('spend');
  }

  async function outcome(): Promise<Outcome | null> {
    const own = withOwnSettings(ports, task);
    if (action.kind === 'gate') {
      const rank = action.scope === 'work' ? 0 : 1;
      const found = await driver.gates.pass({ rank, signal }, () =>
        runGate(own, task, action, lease, signal),
      );
      if (!found && stopped) return { kind: 'void', why: stopped.why };
      const isBroken = action.scope === 'work' && found?.evidence.outcome === 'could_not_run';
      const lost = isBroken ? await lostWorkspace(ports, task) : null;
      if (lost) return lost;
      return found && { kind: 'gate', ...found };
    }
    if (action.kind === 'hook') {
      const problem = await runAfterMerge(own, action.sha, { task: task.id, lease, signal });
      return { kind: 'hook', problem };
    }
    return runTurn({
      ports: own,
      task,
      action,
      lease,
      signal,
      begin,
      stopped: () => stopped,
      onProgress,
      onSpend,
    });
  }

  function onProgress(progress?: Progress): void {
    lastProgressAt = clock.monotonic();
    if (!progress) return;
    const before = tools;
    tools = afterProgress(before, progress);
    // The next clock is another one now, or the row of the same calls has grown.
    if (tools !== before) void review('spend');
  }

  function onSpend(): void {
    void review('spend');
    driver.spent(task.id);
  }

  async function review(about: 'spend' | 'everything'): Promise<void> {
    // Whatever was spent during one look is seen by the next: none is passed over.
    asked = asked === 'everything' ? asked : about;
    if (isReviewing) return;
    isReviewing = true;
    try {
      while (asked !== null && !stopped) {
        const known: Facts | null = asked === 'spend' ? facts : null;
        asked = null;
        const stored = await store.task(task.id);
        if (!stored || isOver) return;
        const decision = await lookAt(stored.task, known);
        if (isOver) return;
        if (decision.kind === 'stop') {
          stopped = decision;
          controller.abort();
        } else if (decision.kind === 'rest' && decision.until !== null) work.wakeAt(decision.until);
      }
    } catch (problem) {
      ports.log('warn', `could not look at a running turn: ${String(problem)}`, { task: task.id });
    } finally {
      isReviewing = false;
    }
  }

  async function lookAt(row: Task, known: Facts | null): Promise<Decision> {
    const aheadMs = clock.now() - clock.monotonic();
    const inFlight = {
      action,
      startedAt: Math.round(startedAt + aheadMs),
      lastProgressAt: Math.round(lastProgressAt + aheadMs),
      tools,
    };
    const seen = await lookAtRun(work, row, inFlight, known);
    facts = seen.facts;
    return seen.decision;
  }
}

function neverStarted(action: Run, { why, code }: Stop): Outcome {
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
