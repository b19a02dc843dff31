/**
 * Before the first coder turn: is the contract one that can be checked? Where the rules are sure nothing is asked and
 * nothing is spent. Else one specifier turn judges it, on a throwaway copy of trunk, in the slot the task has anyway.
 *
 * Whatever goes wrong with that turn, the rules have the last word: what they found checkable is taken as it stands;
 * what they did not is never worked on.
 */
import type { Action } from './action.ts';
import { act, type Decision, type Facts, hold, transition } from './decision.ts';
import { abandon, finish } from './ending.ts';
import { event, type NewEvent } from './event.ts';
import { type Readiness, readiness } from './issue/readiness.ts';
import { parseSpecReport, settle } from './issue/specification.ts';
import type { Outcome } from './outcome.ts';
import type { Policy } from './policy.ts';
import type { RoleMemory, Task } from './task.ts';
import { askAnew, nextTry } from './turn.ts';
import { specificationComment } from './words/comments.ts';

/** Null when the task may go on with its contract. */
export function specify(task: Task, facts: Facts, policy: Policy, now: number): Decision | null {
  const { spec } = task;
  if (spec?.status === 'declined')
    return finish(task, abandon('spec_rejected', spec.problem), facts, policy, now);
  if (spec?.status === 'proposed') return propose(task);
  const judged = doubts(task, policy);
  if (!judged) return null;
  if (judged.decision === 'declined') return declineByRules(judged, judged.problem);

  const { unusable, failed, stalled, last, failure } = task.roles.specifier;
  if (last?.code === 'sandbox_failed')
    return finish(task, abandon('sandbox_failed', last.message), facts, policy, now);
  const next = nextTry(task, 'specifier', facts, policy, now);
  if (next.kind === 'later') return stepBack(task, stopped(last), next.events, next.actions);
  if (next.kind === 'now') return askAnew(task, 'specifier', unusable + failed + stalled + 1, facts, policy);
  if (next.by === 'unusable') {
    const problem = `${judged.problem}, and the specifier gave no usable answer`;
    return withoutSpecifier(judged, () => declineByRules(judged, problem));
  }
  const why = `the specifier failed ${failed + stalled} times: ${failure?.message ?? ''}`;
  return withoutSpecifier(judged, () => finish(task, abandon(next.reason, why), facts, policy, now));
}

/** What the rules say of a contract that nobody has settled and no coder has begun; null when there is no doubt. */
export function doubts(task: Task, policy: Policy): Readiness | null {
  if (task.kind !== 'issue' || task.plan || task.spec !== null || task.sessionIds.length > 0) return null;
  const judged = readiness(task.contract.title, task.contract.body);
  return judged.decision !== 'ready' || (judged.thin && policy.spec.expand !== 'off') ? judged : null;
}

/** A person has to agree; until then the slot is somebody else's. */
export function propose(task: Task): Decision {
  const asks = hold('spec_proposed', 'its specification is in a comment; a person has to agree to it');
  return task.state === 'queued' ? act([asks]) : stepBack(task, 'a specification was proposed', [asks]);
}

const stopped = (last: RoleMemory['last']): string =>
  last?.status === 'interrupted' ? 'the specifier was interrupted' : 'the specifier failed';

const stepBack = (task: Task, why: string, events: NewEvent[], actions: Action[] = []): Decision =>
  act([transition(task, 'queued', why), ...events], actions);

function withoutSpecifier(judged: Readiness, otherwise: () => Decision): Decision {
  if (!judged.checkable) return otherwise();
  const why = 'the specifier gave no usable answer, and the rules found something to check';
  return act([event('spec_settled', { spec: { status: 'taken', why } })]);
}

function declineByRules({ questions }: Readiness, problem: string): Decision {
  const spec = { status: 'declined' as const, problem, questions };
  return act([event('spec_settled', { spec })]);
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
  if (!parsed.ok)
    return {
      events: [event('answer_unusable', { role: 'specifier', problem: parsed.problem })],
      actions: [],
    };
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
