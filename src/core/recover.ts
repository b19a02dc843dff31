/**
 * What becomes of a task whose runner died: a table over what can still be seen.
 *
 * By the time this is asked, everything the dead runner had started for the task has been stopped. Effects that were
 * under way are simply performed again; only a run that had started needs a decision. A turn that came to its end all the
 * same was paid for: it is taken up as if it had been heard.
 */
import type { PendingAction } from './action.ts';
import { isRun } from './action.ts';
import { event, type NewEvent } from './event.ts';
import { isTerminal } from './machine.ts';
import { WORKSPACE_LOST } from './outcome.ts';
import type { AgentPolicy, Policy } from './policy.ts';
import { roleRow } from './role.ts';
import type { Task } from './task.ts';
import { lostWorkText } from './words/words.ts';

export interface Probes {
  /** `saved`: the commit that a missing one is made anew from; null or absent when the repository has none of its work. */
  workspace: { exists: boolean; intact: boolean; problem: string | null; saved?: string | null };
  session: 'resumable' | 'empty' | 'lost';
  /** Nobody heard its end, and it finished. */
  finished: boolean;
  /** Until when it is known to have been at work. */
  lastSignAt: number | null;
}

export type RecoveryPlan =
  | 'nothing'
  | 'run_again'
  | 'take_up'
  | 'resume_session'
  | 'start_over'
  | 'fresh_session'
  | 'judge_again'
  | 'give_up'
  | 'not_repeated'
  /** A person was attached to it, whose process died. */
  | 'detached';

interface Recovery {
  plan: RecoveryPlan;
  why: string;
  events: NewEvent[];
  /** The started run is over: its row goes with these events. */
  finishAction: number | null;
}

export function recover(started: PendingAction | null, probes: Probes, policy: Policy): Recovery {
  if (!started || !isRun(started.action)) return plan('nothing', 'no run had started', null, []);
  const { action } = started;
  if (action.kind === 'gate') return plan('run_again', 'the gate was running', null, []);
  if (action.kind === 'hook')
    return plan('not_repeated', `${action.name} may have done its work`, started.id, [
      event('hook_completed', { name: action.name, problem: 'its runner died; it is not run a second time' }),
    ]);

  const { exists, intact, problem, saved } = probes.workspace;
  const isWork = roleRow(action.role).place === 'workspace';
  const lostWork = isWork && !exists && saved ? lostWorkText(saved) : null;
  const rebuilt = lostWork && saved ? [workspaceLost(saved)] : [];
  const interrupted = event('turn_completed', {
    turn: action.turn,
    role: action.role,
    sessionId: action.sessionId,
    status: 'interrupted',
    code: lostWork && WORKSPACE_LOST,
    message: lostWork ?? 'its runner was stopped',
    retryAt: null,
    durationMs: workedMs(started.startedAt, probes.lastSignAt, policy.agents[action.role]),
    usage: 'unknown',
  });
  const isLost = isWork && !(exists && intact);
  if (probes.finished && !isLost) return plan('take_up', 'its turn had finished', started.id, []);
  if (!isWork) return plan('judge_again', `the ${action.role} was at work`, started.id, [interrupted]);
  if (isLost && rebuilt.length === 0) {
    return plan('give_up', problem ?? 'its workspace is gone', started.id, [
      interrupted,
      gone('the workspace is lost'),
    ]);
  }
  switch (probes.session) {
    case 'resumable':
      return plan('resume_session', 'its session can be resumed', started.id, [interrupted, ...rebuilt]);
    case 'empty':
      return plan('start_over', 'its session never had a message', started.id, [
        interrupted,
        lost(action.sessionId, 'it never had a message'),
        ...rebuilt,
      ]);
    case 'lost':
      return policy.recovery.onLostSession === 'fresh_session'
        ? plan('fresh_session', 'its session is lost', started.id, [
            interrupted,
            lost(action.sessionId, 'it could not be found'),
            ...rebuilt,
          ])
        : plan('give_up', 'its session is lost', started.id, [interrupted, gone('the session is lost')]);
  }

  function plan(
    chosen: RecoveryPlan,
    why: string,
    finishAction: number | null,
    events: NewEvent[],
  ): Recovery {
    return {
      plan: chosen,
      why,
      finishAction,
      events: [event('recovered', { plan: chosen, why }), ...events],
    };
  }
}

/**
 * A plan that a person started is theirs to go on with, until it is delivered: no runner takes it up from the one that had
 * it. Called of a task that nobody at work owns.
 */
export const isLeftToPeople = ({ state, plan }: Task): boolean =>
  plan?.recovery === 'manual' && plan.phase !== 'delivered' && state !== 'queued' && !isTerminal(state);

/** A run of it had begun, and by these settings only a person goes on with it. Called of a task that nobody at work owns. */
export const isLeftBegun = (
  pending: readonly PendingAction[],
  { recovery }: Pick<Policy, 'recovery'>,
): boolean => recovery.mode === 'manual' && hasBegun(pending);

/** A run of it was started, and may have done something. */
export const hasBegun = (pending: readonly PendingAction[]): boolean =>
  pending.some(({ action, startedAt }) => isRun(action) && startedAt !== null);

/**
 * A lower bound: what it did after its last sign nobody knows. Clocks are set meanwhile: no turn can have worked for longer
 * than one may.
 */
export function workedMs(
  startedAt: number | null,
  lastSignAt: number | null,
  { turnTimeoutMs }: Pick<AgentPolicy, 'turnTimeoutMs'>,
): number {
  if (startedAt === null || lastSignAt === null) return 0;
  return Math.min(Math.max(0, Math.round(lastSignAt - startedAt)), turnTimeoutMs);
}

/** Of a missing workspace, where the repository has its work as far as it was committed. */
export const workspaceLost = (saved: string): NewEvent =>
  event('workspace_lost', { saved, why: lostWorkText(saved) });

const lost = (sessionId: string, why: string): NewEvent => event('session_lost', { sessionId, why });
const gone = (why: string): NewEvent => event('recovery_failed', { why });
