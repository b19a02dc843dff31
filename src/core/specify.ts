/**
 * Before the first coder turn: is the contract one that can be checked? Where the rules are sure nothing is asked and
 * nothing is spent. Else one specifier turn judges it, on a throwaway copy of trunk, in the slot the task has anyway.
 *
 * Whatever goes wrong with that turn, the rules have the last word: what they found checkable is taken as it stands;
 * what they did not is never worked on.
 */
import { waitsFor } from './account.ts';
import type { Action } from './action.ts';
import {
  type Decision,
  type Facts,
  hold,
  holdsLoop,
  MAX_INTERRUPTED,
  mostFailures,
  transition,
  waitedFor,
} from './decision.ts';
import { abandon, finish } from './ending.ts';
import { event, type NewEvent } from './event.ts';
import { fallback } from './models.ts';
import type { Outcome } from './outcome.ts';
import type { Policy } from './policy.ts';
import { backoffMs } from './schedule.ts';
import { type Readiness, readiness } from './spec.ts';
import { parseSpecReport, settle } from './specification.ts';
import type { Task } from './task.ts';
import { specificationComment } from './words.ts';

/** Null when the task may go on with its contract. */
export function specify(task: Task, facts: Facts, policy: Policy, now: number): Decision | null {
  const { spec } = task;
  if (spec?.status === 'declined')
    return finish(task, abandon('spec_rejected', spec.problem), facts, policy, now);
  if (spec?.status === 'proposed') return propose(task);
  const judged = doubts(task, policy);
  if (!judged) return null;
  if (judged.decision === 'declined') return declineByRules(judged, judged.problem);

  const { unusable, failed, interrupted, last } = task.specifier;
  if (unusable >= MAX_UNUSABLE) {
    const problem = `${judged.problem}, and the specifier gave no usable answer`;
    return withoutSpecifier(judged, () => declineByRules(judged, problem));
  }
  if (interrupted >= MAX_INTERRUPTED) {
    const why = `${interrupted} specifier turns in a row were interrupted`;
    return withoutSpecifier(judged, () =>
      finish(task, abandon('crash_recovery_failed', why), facts, policy, now),
    );
  }
  if (last?.code === 'sandbox_failed')
    return finish(task, abandon('sandbox_failed', last.message), facts, policy, now);
  if (failed >= mostFailures(last?.code ?? null)) {
    const reason = last?.code === 'usage_limit' ? 'provider_limit' : 'error_max_retries';
    const why = `the specifier failed ${failed} times: ${last?.message ?? ''}`;
    return withoutSpecifier(judged, () => finish(task, abandon(reason, why), facts, policy, now));
  }
  if (last && failed > 0 && !waitedFor(task, now)) {
    const until = Math.max(last.retryAt ?? 0, now + backoffMs(failed, facts.jitter));
    const reason = last.retryAt === null ? 'retry_backoff' : 'provider_limit';
    const events = [
      event('retry_scheduled', { until }),
      event('hold_set', {
        reason,
        detail: last.message || 'the specifier failed',
        until,
        ...waitsFor(last, policy.agents.specifier, facts.accountLimits, now),
      }),
    ];
    return stepBack(task, 'the specifier failed', events, holdsLoop(last, failed));
  }
  const turn = unusable + failed + 1;
  const sessionId = facts.newSessionId;
  return {
    kind: 'act',
    events: [event('turn_started', { turn, role: 'specifier', sessionId, prompt: 'spec' })],
    actions: [
      {
        kind: 'turn',
        role: 'specifier',
        turn,
        sessionId,
        prompt: 'spec',
        priorFailure: task.specifier.problem ?? null,
        ...fallback(policy.agents.specifier, last?.code ?? null, failed),
      },
    ],
  };
}

/** One retry. */
const MAX_UNUSABLE = 2;

/** What the rules say of a contract that nobody has settled and no coder has begun; null when there is no doubt. */
export function doubts(task: Task, policy: Policy): Readiness | null {
  if (task.kind !== 'issue' || task.spec !== null || task.sessionIds.length > 0) return null;
  const judged = readiness(task.contract.title, task.contract.body);
  return judged.decision !== 'ready' || (judged.thin && policy.spec.expand !== 'off') ? judged : null;
}

/** A person has to agree; until then the slot is somebody else's. */
export function propose(task: Task): Decision {
  const asks = hold('spec_proposed', 'its specification is in a comment; a person has to agree to it');
  return task.state === 'queued'
    ? { kind: 'act', events: [asks], actions: [] }
    : stepBack(task, 'a specification was proposed', [asks]);
}

const stepBack = (task: Task, why: string, events: NewEvent[], actions: Action[] = []): Decision => ({
  kind: 'act',
  events: [transition(task, 'queued', why), ...events],
  actions,
});

function withoutSpecifier(judged: Readiness, otherwise: () => Decision): Decision {
  if (!judged.checkable) return otherwise();
  const why = 'the specifier gave no usable answer, and the rules found something to check';
  return { kind: 'act', events: [event('spec_settled', { spec: { status: 'taken', why } })], actions: [] };
}

function declineByRules({ questions }: Readiness, problem: string): Decision {
  const spec = { status: 'declined' as const, problem, questions };
  return { kind: 'act', events: [event('spec_settled', { spec })], actions: [] };
}

type TurnOutcome = Extract<Outcome, { kind: 'turn' }>;

/** What a finished specifier turn means, as events and the comment that goes with them. */
export function recordSpec(
  task: Task,
  sessionId: string,
  outcome: TurnOutcome,
  policy: Policy,
): { events: NewEvent[]; actions: Action[] } {
  const parsed = parseSpecReport(outcome.structured, outcome.text);
  if (!parsed.ok) return { events: [event('specifier_failed', { problem: parsed.problem })], actions: [] };
  const judged = readiness(task.contract.title, task.contract.body);
  const spec = settle(parsed.report, judged, policy.spec.expand);
  if (spec.status === 'taken' || spec.status === 'declined')
    return { events: [event('spec_settled', { spec })], actions: [] };
  const { status, specification } = spec;
  const comment: Action[] =
    task.issue === null
      ? []
      : [
          {
            kind: 'comment',
            issue: task.issue,
            marker: `${task.id}:spec:${sessionId}`,
            body: specificationComment(task, specification, status),
          },
        ];
  return { events: [event('spec_expanded', { specification, status })], actions: comment };
}
