/**
 * A plan's next step, once the gate is green at its head: an audit, the next milestone, the whole, the delivery. What
 * starts in a phase is committed together with the phase itself.
 */
import { code, nextTurn } from '../coder.ts';
import { act, type Decision, type Facts } from '../decision.ts';
import { abandon, delivered, finish } from '../ending.ts';
import { type Checkpoint, event, type NewEvent } from '../event.ts';
import type { Policy } from '../policy.ts';
import { NO_MEMORY, type Task } from '../task.ts';
import { nextTry, stallsOf, startTurn } from '../turn.ts';
import { auditedText, sealMessage } from '../words/plan-text.ts';
import { bugsIn } from './audit.ts';
import { isAudit, type Next, nextPhase, type Phase, type Step } from './phase.ts';
import { currentMilestone, lastSealed, type PlanProgress } from './progress.ts';

/** So many audits in a row without a usable result, and it is the auditor that is broken: the coder is paid for nothing more. */
const MOST_MISSING_AUDITS = 3;

/** A task in the phases of its plan. */
type Planned = Task & { plan: PlanProgress & { phase: Phase } };

export function advance(
  task: Planned,
  head: Checkpoint,
  facts: Facts,
  policy: Policy,
  now: number,
): Decision {
  const { plan } = task;
  if (plan.mode !== 'loop') return deliver(task, facts, policy, now);
  if (!isAudit(plan.phase)) return take(task, 'coded', facts, policy, now);
  const milestone = plan.phase === 'auditing' ? currentMilestone(plan) : null;
  // What is sealed stays so, also where a restart has forgotten its audit.
  if (milestone?.done) return take(task, 'audit_clean', facts, policy, now);
  if (plan.audit?.tree !== head.tree) return audit(task, facts, policy, now);
  if (!plan.audit.isClean || bugsIn(plan, facts.ledger).length > 0)
    return take(task, 'audit_dirty', facts, policy, now);
  if (milestone !== null)
    return act([], [{ kind: 'seal', from: lastSealed(plan, task.baseSha), message: sealMessage(plan) }]);
  return take(task, 'audit_clean', facts, policy, now);
}

/** Whatever came of it, the plan is done. It is begun again only where a restart finds that it never ran. */
export function afterPostAction(task: Planned, facts: Facts, policy: Policy, now: number): Decision {
  const { last } = task.roles.coder;
  if (task.head === null && task.refused === null) return act([], [{ kind: 'checkpoint' }]);
  if (task.turns === 0 && last === null) return enter(task, 'post_action', facts, policy, []);
  return deliver(task, facts, policy, now);
}

function take(task: Planned, step: Step, facts: Facts, policy: Policy, now: number): Decision {
  const { plan } = task;
  const { phase, milestone } = plan;
  const at = {
    phase,
    milestone,
    milestones: plan.milestones.length,
    postAction: policy.loop.postAction !== null,
  };
  const next = nextPhase(at, step);
  if (next === null) throw new Error(`a plan in ${phase} knows no ${step}`);
  if (next.phase === 'delivered') return deliver(task, facts, policy, now);
  const isDirty = step === 'audit_dirty' && plan.audit?.isClean === false;
  if (isDirty && (plan.missingAudits ?? 0) >= MOST_MISSING_AUDITS)
    return finish(task, abandon(auditExhausted(plan), plan.lastAudit ?? undefined), facts, policy, now);
  const { maxIterations } = policy.loop;
  if (isDirty && maxIterations > 0 && plan.iterations + 1 >= maxIterations) {
    const why = `${maxIterations} of ${maxIterations} iterations used. ${plan.lastAudit ?? ''}`.trim();
    return finish(task, abandon('max_iterations', why), facts, policy, now);
  }
  const isFresh = !isAudit(next.phase) && policy.loop.session === 'rotate';
  const events = [event('phase_entered', { ...next, isFresh })];
  if (isAudit(next.phase) || next.phase === 'post_action')
    return enter(task, next.phase, facts, policy, events);
  return pass(task, { ...next, phase: next.phase }, isFresh, facts, policy, now, events);
}

/** The coder begins a pass: over the next milestone, or over what an audit found. */
function pass(
  task: Planned,
  next: Next & { phase: Phase },
  isFresh: boolean,
  facts: Facts,
  policy: Policy,
  now: number,
  before: NewEvent[],
): Decision {
  const isNext = next.milestone !== task.plan.milestone;
  if (isFresh) {
    const prompt = next.phase === 'final_audit_fix' ? 'final_fix' : 'plan';
    const asking = { before, prompt, isFresh } as const;
    return isNext ? code(task, facts, policy, null, asking) : dirty(task, asking);
  }
  if (isNext) return code(task, facts, policy, null, { before, prompt: 'milestone' });
  return dirty(task, { before, prompt: 'audited' });

  function dirty(of: Planned, asking: Parameters<typeof nextTurn>[5]): Decision {
    return nextTurn(of, facts, policy, now, auditedText(of.plan), asking);
  }
}

/** Begins what a phase is about. */
function enter(task: Planned, phase: Phase, facts: Facts, policy: Policy, before: NewEvent[]): Decision {
  if (phase === 'post_action') {
    const model = policy.loop.postAction?.model ?? null;
    return code(task, facts, policy, null, { before, prompt: 'post_action', isFresh: true, model });
  }
  const anew = { ...task, roles: { ...task.roles, auditor: NO_MEMORY } };
  const started = askAuditor(anew, phase, facts, policy);
  return { ...started, events: [...before, ...started.events] };
}

const askAuditor = (task: Planned, phase: Phase, facts: Facts, policy: Policy) => {
  const prompt = phase === 'final_auditing' ? 'final_audit' : 'audit';
  const { problem } = task.roles.auditor;
  const asking = { turn: auditTurn(task), session: null, prompt, priorFailure: problem } as const;
  return startTurn(task, 'auditor', asking, facts, policy);
};

function auditTurn({ plan, roles }: Planned): number {
  const { unusable, failed } = roles.auditor;
  return plan.audits + unusable + failed + stallsOf(roles.auditor) + 1;
}

/** The audit of this phase has no result yet. */
function audit(task: Planned, facts: Facts, policy: Policy, now: number): Decision {
  const { plan } = task;
  const { last, session, problem, failure } = task.roles.auditor;
  if (last?.code === 'sandbox_failed')
    return finish(task, abandon('sandbox_failed', last.message), facts, policy, now);
  const next = nextTry(task, 'auditor', facts, policy, now);
  if (next.kind === 'later') return act(next.events, next.actions);
  if (next.kind === 'spent') {
    const reason = next.by === 'stalled' ? next.reason : auditExhausted(plan);
    return finish(task, abandon(reason, failure?.message ?? last?.message), facts, policy, now);
  }
  // What it was told stands in its conversation: it is only asked for the rest.
  const isAskedOn = session !== null && (last?.status === 'finished' || last?.status === 'failed');
  if (!isAskedOn) return askAuditor(task, plan.phase, facts, policy);
  const asking = {
    turn: auditTurn(task),
    session,
    prompt: 'audit_again' as const,
    priorFailure: problem,
  };
  return startTurn(task, 'auditor', asking, facts, policy);
}

const auditExhausted = ({ phase }: PlanProgress) =>
  phase === 'final_auditing' ? 'final_audit_retry_exhausted' : 'audit_retry_exhausted';

function deliver(task: Planned, facts: Facts, policy: Policy, now: number): Decision {
  const { plan } = task;
  if (plan.delivers === 'pull' && !task.empty) return act([delivered(plan)]);
  const why = task.empty
    ? 'the plan is done; nothing had to be changed'
    : `the plan is done, on ${task.branch}`;
  return finish(task, { to: 'completed', why }, facts, policy, now);
}
