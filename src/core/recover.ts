/**
 * What becomes of a task whose runner died: a table over what can still be seen.
 *
 * By the time this is asked, everything the dead runner had started for the task has been stopped. Effects that were
 * under way are simply performed again; only a run that had started needs a decision.
 */
import type { PendingAction } from './action.ts';
import { isRun } from './action.ts';
import { event, type NewEvent } from './event.ts';
import type { Policy } from './policy.ts';

export interface Probes {
  workspace: { exists: boolean; intact: boolean; problem: string | null };
  session: 'resumable' | 'empty' | 'lost';
}

export type RecoveryPlan =
  | 'nothing'
  | 'run_again'
  | 'resume_session'
  | 'start_over'
  | 'fresh_session'
  | 'judge_again'
  | 'give_up'
  | 'not_repeated';

export interface Recovery {
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

  const interrupted = event('turn_completed', {
    turn: action.turn,
    role: action.role,
    sessionId: action.sessionId,
    status: 'interrupted',
    code: null,
    message: 'its runner was stopped',
    retryAt: null,
    durationMs: 0,
    usage: 'unknown',
  });
  if (action.role !== 'coder')
    return plan('judge_again', `the ${action.role} was at work`, started.id, [interrupted]);
  if (!probes.workspace.exists || !probes.workspace.intact) {
    return plan('give_up', probes.workspace.problem ?? 'its workspace is gone', started.id, [
      interrupted,
      gone('the workspace is lost'),
    ]);
  }
  switch (probes.session) {
    case 'resumable':
      return plan('resume_session', 'its session can be resumed', started.id, [interrupted]);
    case 'empty':
      return plan('start_over', 'its session never had a message', started.id, [
        interrupted,
        lost(action.sessionId, 'it never had a message'),
      ]);
    case 'lost':
      return policy.recovery.onLostSession === 'fresh_session'
        ? plan('fresh_session', 'its session is lost', started.id, [
            interrupted,
            lost(action.sessionId, 'it could not be found'),
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

const lost = (sessionId: string, why: string): NewEvent => event('session_lost', { sessionId, why });
const gone = (why: string): NewEvent => event('recovery_failed', { why });
