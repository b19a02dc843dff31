/** The coder's next turn: whether it has one left, in which session, and by which prompt. */
import type { Decision, Facts } from './decision.ts';
import { abandon, finish } from './ending.ts';
import { event, type NewEvent, type PromptKind } from './event.ts';
import { isNotItsDoing, WORKSPACE_LOST } from './outcome.ts';
import { isAudit, isInPhases } from './plan/phase.ts';
import type { Policy } from './policy.ts';
import { type Task, turnsHere } from './task.ts';
import { startTurn } from './turn.ts';
import { gateFailureText } from './words/gate-text.ts';
import { openText, redBeforeText } from './words/words.ts';

/** What goes with a turn, where it is not what follows from the task. */
interface Asking {
  /** Written down in the same commit. */
  before?: NewEvent[];
  prompt?: PromptKind;
  /** In a conversation of its own. */
  isFresh?: boolean;
  model?: string | null;
}

/** A turn that left things as they were: said to the coder, and to people when it was the last. */
interface Idle {
  told: string;
  says: string;
}

export const SAME_AS_TRUNK: Idle = {
  told: 'Nothing was changed: the work tree is the same as trunk.',
  says: 'the branch is still identical to trunk',
};
export const SAME_AS_REVIEWED: Idle = {
  told: 'Nothing was changed since the review that asked for changes.',
  says: 'the branch is as it was when the review asked for changes',
};

export function nextTurn(
  task: Task,
  facts: Facts,
  policy: Policy,
  now: number,
  why: string | Idle,
  asking: Asking = {},
): Decision {
  const priorFailure = typeof why === 'string' ? why : why.told;
  const before = redBeforeText(task);
  const open = openText(facts.openFindings);
  const known = [...(open ? [open] : []), ...(before ? [`${before}.`] : [])];
  const still = [...known, priorFailure].join(' ');
  const turns = turnsHere(task);
  if (turns >= policy.maxTurns) {
    return finish(
      task,
      abandon('max_turns_reached', `${turns} of ${policy.maxTurns} turns used. ${still}`.slice(0, 4000)),
      facts,
      policy,
      now,
    );
  }
  if (task.streaks.idle >= policy.idleTurns) {
    return finish(
      task,
      abandon('no_progress', [idleText(task.streaks.idle, why), ...known].join(' ')),
      facts,
      policy,
      now,
    );
  }
  return code(task, facts, policy, priorFailure, asking);
}

function idleText(turns: number, why: string | Idle): string {
  const streak = `${turns === 1 ? 'The last turn' : `${turns} turns in a row`} changed nothing`;
  return typeof why === 'string' ? `${streak}. ${why}` : `${streak}; ${why.says}.`;
}

export const redGate = (task: Task): string | null =>
  task.gate?.outcome === 'fail' ? gateFailureText(task.gate) : null;

/** The coder's next turn, in its session unless there is none or the policy wants another. */
export function code(
  task: Task,
  facts: Facts,
  policy: Policy,
  told: string | null,
  { before = backToCoding(task), prompt, isFresh = startsFresh(task, policy), model = null }: Asking = {},
): Decision {
  const session = isFresh ? null : task.roles.coder.session;
  const started = startTurn(
    task,
    'coder',
    {
      turn: task.turns + 1,
      session,
      prompt: prompt ?? promptFor(task, session === null),
      priorFailure: told,
      model,
    },
    facts,
    policy,
  );
  return { ...started, events: [...before, ...started.events] };
}

/** What keeps an audit from going on (a red gate, work that can't be saved) is the coder's, and is audited anew. */
function backToCoding(task: Task): NewEvent[] {
  if (!isInPhases(task) || !isAudit(task.plan.phase)) return [];
  const { phase, milestone } = task.plan;
  const back = phase === 'auditing' ? 'coding' : 'final_audit_fix';
  return [event('phase_entered', { phase: back, milestone, isFresh: false })];
}

/** `fresh` never resumes; `rotate` begins a session for each pass over the work, which feedback begins. */
function startsFresh(task: Task, policy: Policy): boolean {
  if (task.turns === 0) return false;
  // A plan says itself when a pass begins; what comes up in the middle of an audit begins one, too.
  if (isInPhases(task)) return isAudit(task.plan.phase) && policy.loop.session === 'rotate';
  return policy.session === 'fresh' || (policy.session === 'rotate' && task.feedback.length > 0);
}

function promptFor(task: Task, fresh: boolean): PromptKind {
  if (fresh && isInPhases(task)) return task.plan.phase.startsWith('final_') ? 'final_fix' : 'plan';
  if (fresh) return task.sessionIds.length === 0 || task.turns === 0 ? firstPrompt(task) : 'handover';
  const { last } = task.roles.coder;
  const wasCut = last?.status === 'interrupted' || last?.status === 'cancelled';
  // A turn whose prompt could not be rendered interrupted nobody; one whose work tree is gone did not leave it as it is.
  if (wasCut && last.code !== 'prompt_broken' && last.code !== WORKSPACE_LOST) return 'interrupted';
  if (task.feedback.length > 0) return 'revise';
  return last && isNotItsDoing(last.code) ? 'interrupted' : 'continuation';
}

/** A restart has no turns but has work in its tree: that is a hand-over, not a beginning. */
const firstPrompt = (task: Task): PromptKind => (task.headSha === null || task.empty ? 'task' : 'handover');
