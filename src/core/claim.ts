/**
 * How work becomes a task, and how it is turned away: what is written down, and what is done where the work came from.
 * Each kind of work has a row in `RULES`; loop/source.ts lists what there is of it.
 */

import type { Action } from './action.ts';
import { type EventData, event, type NewEvent, type Related } from './event.ts';
import { contractOf } from './issue/criteria.ts';
import type { Readiness } from './issue/readiness.ts';
import { holdsPlan, parsePlan } from './plan/plan.ts';
import type { PlanBirth } from './plan/progress.ts';
import { placed } from './plan/start.ts';
import { planId } from './plan/stored.ts';
import type { Policy } from './policy.ts';
import type { Task } from './task.ts';
import { declinedComment, withdrawnComment } from './words/comments.ts';
import { NEW_ATTEMPT_CLOSES } from './words/review-text.ts';

/** What a task can be made of, as its source shows it. */
export interface WorkItem {
  kind: 'issue';
  number: number;
  /** Its name in paths and branches. */
  slug: string;
  title: string;
  body: string;
  textHash: string;
  related?: Related;
  state: 'open' | 'closed';
  labels: readonly string[];
  priority: number | null;
  blockedBy: readonly number[];
  /** What blocks it in other repositories: open, or not to be seen. */
  blockedElsewhere?: readonly { name: string; isSeen: boolean }[];
  /** The text that was agreed to, and when; null where that is unknown. */
  readyHash: string | null;
  readyAt: number | null;
  /** Why being made ready does not count. */
  readyProblem?: string;
  /** Nobody can tell yet whether its text is the one that was agreed to. */
  unproved?: { why: string; until: number };
  createdAt: number;
  /** Can its text be worked to? */
  readiness(): Pick<Readiness, 'decision' | 'problem' | 'questions'>;
}

/** What the rules read of it. */
type Subject = Pick<WorkItem, 'kind' | 'number' | 'slug' | 'title' | 'body' | 'textHash' | 'related'>;
type Asked = Pick<Readiness, 'problem' | 'questions'>;

/** Committed together. */
export interface Written {
  events: NewEvent[];
  actions: Action[];
}

interface Rules {
  claim(item: Subject, earlier: readonly Task[], policy: Policy): Written;
  /** Nobody could check when it is done: its author is asked. */
  decline(item: Subject, asked: Asked, policy: Policy): Written;
  /** It was edited since somebody agreed to its text. */
  withdraw(item: Subject, policy: Policy): Written;
}

export const RULES: Record<WorkItem['kind'], Rules> = {
  issue: { claim: claimIssue, decline: declineIssue, withdraw: withdrawIssue },
};

function claimIssue(issue: Subject, earlier: readonly Task[], { labels }: Policy): Written {
  const swap: Action = {
    kind: 'label',
    issue: issue.number,
    add: [labels.running],
    remove: [labels.ready, labels.needsReview, labels.needsSpec],
  };
  return {
    events: [
      event('task_created', nextAttempt(issue, earlier)),
      event('worker_state_transition', {
        from: 'none',
        to: 'queued',
        reason: null,
        why: 'claimed',
        sessionId: null,
        turn: 0,
        headSha: null,
      }),
    ],
    // The label says that it was taken up. Only what an earlier attempt left standing has to be put right at once.
    actions: [
      ...closeEarlierPulls(earlier),
      swap,
      ...(earlier.length > 0 ? [{ kind: 'tell_status' as const, issue: issue.number }] : []),
    ],
  };
}

/** What the next attempt at an issue is called, and the contract it works to. */
export function nextAttempt(issue: Subject, earlier: readonly Task[]): EventData['task_created'] {
  const attempt = 1 + Math.max(0, ...earlier.map((task) => task.attempt));
  const slug = earlier[0]?.slug ?? issue.slug;
  const suffix = attempt > 1 ? `-a${attempt}` : '';
  return {
    kind: issue.kind,
    issue: issue.number,
    attempt,
    slug,
    branch: `loop/${issue.number}-${slug}${suffix}`,
    ...contractAndPlan(issue, slug),
  };
}

/** A body that holds a plan is worked through by its milestones, whose own criteria an auditor judges. */
export function contractAndPlan(
  issue: Pick<Subject, 'number' | 'title' | 'body' | 'textHash' | 'related'>,
  slug: string,
): Pick<EventData['task_created'], 'contract' | 'plan'> {
  const contract = contractOf(issue);
  const parsed = holdsPlan(issue.body) ? parsePlan(issue.body, { markers: 'optional' }) : null;
  if (!parsed?.ok) return { contract };
  const { name, objective, shared, milestones } = parsed.plan;
  const plan: PlanBirth = {
    name: name ?? slug,
    mode: 'loop',
    delivers: 'pull',
    recovery: 'auto',
    startedBy: `issue #${issue.number}`,
    models: {},
    planId: planId(parsed.plan),
    objective,
    shared,
    milestones: milestones.map(({ title, text }) => ({ title, text })),
    ...(parsed.warnings.length > 0 && { warnings: parsed.warnings.map(placed) }),
  };
  return { contract: { ...contract, criteria: [] }, plan };
}

/** An earlier attempt's pull request is closed before a new one is opened: never two for one issue. */
function closeEarlierPulls(earlier: readonly Task[]): Action[] {
  return earlier.flatMap(({ pull, state }) =>
    pull !== null && state === 'abandoned' ? [{ kind: 'close_pull', pull, comment: NEW_ATTEMPT_CLOSES }] : [],
  );
}

function declineIssue(
  { number: issue, textHash }: Subject,
  { problem, questions }: Asked,
  { labels }: Policy,
): Written {
  const marker = `declined:${textHash.slice(0, 12)}`;
  return {
    events: [event('issue_declined', { issue, textHash, problem, questions })],
    actions: [
      { kind: 'comment', issue, marker, body: declinedComment(problem, questions, labels.ready) },
      { kind: 'label', issue, add: [labels.needsSpec], remove: [labels.ready] },
    ],
  };
}

/** The label says that somebody agreed to the text, which is not so any more. */
function withdrawIssue({ number: issue, textHash }: Subject, { labels }: Policy): Written {
  const marker = `edited:${textHash.slice(0, 12)}`;
  return {
    events: [event('readiness_withdrawn', { issue, textHash })],
    actions: [
      { kind: 'comment', issue, marker, body: withdrawnComment(labels.ready) },
      { kind: 'label', issue, add: [], remove: [labels.ready] },
    ],
  };
}
