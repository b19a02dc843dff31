/**
 * A run in flight (a turn, a gate, a hook) and the eye kept on it: every wake looks whether it may go on, and the only
 * thing a look may do is stop it.
 */
import type { Run } from '../core/action.ts';
import type { Decision, Facts } from '../core/decision.ts';
import type { TurnStatus } from '../core/event.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Task } from '../core/task.ts';
import type { Lease } from '../store/store.ts';
import { runGate } from './gate.ts';
import { runAfterMerge } from './hook.ts';
import type { InFlight, Look } from './look.ts';
import type { Ports } from './ports.ts';
import { runTurn } from './turn.ts';

interface Stopped {
  status: TurnStatus;
  why: string;
  code: string | null;
}

export interface RunInFlight {
  /** Looks before it is started, unless it was decided with these very facts. */
  mayStart(): Promise<Stopped | null>;
  /** `begin` writes down that it was started; what comes before leaves nothing behind and may be done again. */
  perform(begin: () => Promise<void>, lease: Lease, onSpend: () => void): Promise<Outcome>;
  /** When only the spending is in question the forge is not asked again: its last answers stand. */
  supervise(about: 'spend' | 'everything'): Promise<void>;
  abort(): void;
  /** From now on a look that is still under way stops nothing. */
  over(): void;
}

export function createRun(
  ports: Ports,
  look: Look,
  task: Task,
  action: Run,
  decidedWith: Facts | null,
  /** When a rest of the run ends by time. */
  until: (at: number) => void,
): RunInFlight {
  const { store, clock } = ports;
  const controller = new AbortController();
  const inFlight: InFlight = { action, startedAt: clock.now(), lastProgressAt: clock.now() };
  let facts = decidedWith;
  let stopped: Stopped | null = null;
  let lookAgain: 'spend' | 'everything' | null = null;
  let supervising = false;
  let isOver = false;

  return {
    mayStart: async () => {
      const decision = facts ? null : await lookAt(task, 'everything');
      return decision?.kind === 'stop' ? decision : null;
    },
    perform,
    supervise,
    abort: () => controller.abort(),
    over: () => {
      isOver = true;
    },
  };

  async function perform(begin: () => Promise<void>, lease: Lease, onSpend: () => void): Promise<Outcome> {
    const { signal } = controller;
    if (action.kind !== 'turn') await begin();
    if (action.kind === 'gate') {
      const found = await runGate(ports, task, action, lease, signal);
      if (!found) throw new Interrupted();
      return { kind: 'gate', ...found };
    }
    if (action.kind === 'hook')
      return {
        kind: 'hook',
        problem: await runAfterMerge(ports, action.sha, { task: task.id, lease, signal }),
      };
    return runTurn(ports, task, action, begin, lease, {
      signal,
      stopped: () => stopped,
      onProgress: () => {
        inFlight.lastProgressAt = clock.now();
      },
      onSpend,
    });
  }

  async function supervise(about: 'spend' | 'everything'): Promise<void> {
    // Whatever was spent during one look is seen by the next: none is passed over.
    lookAgain = lookAgain === 'everything' ? lookAgain : about;
    if (supervising) return;
    supervising = true;
    try {
      while (lookAgain !== null && !stopped) {
        const asked: 'spend' | 'everything' = lookAgain;
        lookAgain = null;
        const stored = await store.task(task.id);
        if (!stored || isOver) return;
        const decision = await lookAt(stored.task, asked);
        if (isOver) return;
        if (decision.kind === 'stop') {
          stopped = decision;
          controller.abort();
        } else if (decision.kind === 'rest' && decision.until !== null) until(decision.until);
      }
    } catch (problem) {
      ports.log('warn', `could not look at a running turn: ${String(problem)}`, { task: task.id });
    } finally {
      supervising = false;
    }
  }

  async function lookAt(row: Task, about: 'spend' | 'everything'): Promise<Decision> {
    const seen = await look.atRun(row, { ...inFlight }, about === 'spend' ? facts : null);
    facts = seen.facts;
    return seen.decision;
  }
}

/** A gate that was cut short proves nothing: it is run again. */
export class Interrupted extends Error {
  override name = 'Interrupted';
}

/** A run that was stopped before it began. */
export function neverStarted(action: Run, { why, code }: Pick<Stopped, 'why' | 'code'>): Outcome {
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
