/**
 * Who works next. Pure: which issues are eligible and in what order, which tasks get a slot, which critics may start.
 * Every issue that is not taken has a standing that says why.
 */
import { REASONS } from './machine.ts';
import type { Policy } from './policy.ts';
import { readiness } from './spec.ts';
import { isEnded, isJudging, needsSlot, occupiesSlot, type Task } from './task.ts';
import { agreedHash } from './text-hash.ts';

export interface IssueFacts {
  number: number;
  title: string;
  body: string;
  textHash: string;
  state: 'open' | 'closed';
  labels: readonly string[];
  priority: number | null;
  blockedBy: readonly number[];
  readyHash: string | null;
  readyAt: number | null;
  readyProblem?: string;
  createdAt: number;
}

export interface ScheduleInput {
  issues: readonly IssueFacts[];
  /** Every task, ended ones included. */
  tasks: readonly Task[];
  policy: Policy;
  now: number;
  /** Issues whose next attempt a person forced: no cooldown. */
  forced: ReadonlySet<number>;
  /** How an issue's text is judged; the rules of spec.ts unless the caller remembers their answers. */
  readiness?: typeof readiness;
  /** Reorders issues of the same priority; higher goes first. Never drops one. */
  alignment?: (issue: IssueFacts) => number;
}

export type Standing =
  | { kind: 'eligible' }
  | { kind: 'declined'; problem: string; questions: string[] }
  | { kind: 'not_ready'; why: string }
  /** Made ready with another text than it has now; said once, and its label is taken back. */
  | { kind: 'edited'; why: string }
  | { kind: 'waiting'; why: string; until: number | null }
  | { kind: 'in_hand'; task: string };

export interface Schedule {
  /** Tasks that may take a slot now: revisions first, then queued ones. */
  slots: string[];
  /** Tasks whose critic may start now. */
  critics: string[];
  /** Issues to claim now, in order. */
  claims: number[];
  /** Ready issues that nobody could check when they are done; each is answered with questions once. */
  declines: { issue: number; problem: string; questions: string[] }[];
  /** Ready issues whose text was edited since. */
  withdrawals: number[];
  standings: Map<number, Standing>;
}

export function schedule(input: ScheduleInput): Schedule {
  const { issues, tasks, policy, now } = input;
  const standings = standingsOf(input);
  const eligible = issues
    .filter((issue) => standings.get(issue.number)?.kind === 'eligible')
    .sort(byUrgency(input.alignment));
  const live = tasks.filter((task) => !isEnded(task));
  const { slots, critics, free } = grants(live, eligible.length, policy, now);
  const declines = issues.flatMap((issue) => {
    const standing = standings.get(issue.number);
    if (standing?.kind !== 'declined') return [];
    return [{ issue: issue.number, problem: standing.problem, questions: standing.questions }];
  });
  return {
    slots,
    critics,
    claims: eligible.slice(0, free).map((issue) => issue.number),
    declines,
    withdrawals: issues.flatMap(({ number }) => (standings.get(number)?.kind === 'edited' ? [number] : [])),
    standings,
  };
}

/**
 * Slots and critics for the tasks at hand. Revisions go first, since their prompt cache is warm; but while new work
 * exists and there are two or more slots, one is kept for it.
 */
export function grants(
  live: readonly Task[],
  eligible: number,
  policy: Policy,
  now: number,
): { slots: string[]; critics: string[]; free: number } {
  const used = live.filter(occupiesSlot).length;
  let free = Math.max(0, policy.maxConcurrent - used);

  const resuming = live.filter((task) => wantsSlot(task, now)).sort(oldestFirst);
  const queued = live.filter((task) => task.state === 'queued' && !isHeld(task, now)).sort(oldestFirst);
  const reserve = queued.length + eligible > 0 && policy.maxConcurrent >= 2 ? 1 : 0;
  const revising = live.filter((task) => occupiesSlot(task) && task.state === 'revising').length;
  const room = {
    revising: Math.min(policy.perState.revising ?? Infinity, policy.maxConcurrent - reserve) - revising,
    running: (policy.perState.running ?? Infinity) - (used - revising),
  };
  const admit = (as: keyof typeof room): boolean => {
    if (free <= 0 || room[as] <= 0) return false;
    free -= 1;
    room[as] -= 1;
    return true;
  };
  const resumed = resuming.filter((task) =>
    admit(task.state === 'running' || task.state === 'dispatched' ? 'running' : 'revising'),
  );
  const dispatched = queued.filter(() => admit('running'));

  const judging = live.filter(isJudging).length;
  const critics = live
    .filter((task) => wantsCritic(task, now))
    .sort(oldestFirst)
    .slice(0, Math.max(0, policy.critic.parallel - judging));
  return {
    slots: [...resumed, ...dispatched].map((task) => task.id),
    critics: critics.map((task) => task.id),
    free: Math.max(0, Math.min(free, room.running)),
  };
}

/** Feedback to work in, or a hold that ran out in the middle of work: both need a slot again. */
function wantsSlot(task: Task, now: number): boolean {
  if (isHeld(task, now)) return false;
  if (task.state === 'awaiting_critic' || task.state === 'merging')
    return task.feedback.length > 0 || task.mergeInto !== null;
  return task.hold !== null && needsSlot(task);
}

/** Verified and not yet approved; a task that waits for its merge must not keep a critic from others. */
function wantsCritic(task: Task, now: number): boolean {
  if (task.state !== 'awaiting_critic' || task.turn !== null || isHeld(task, now) || wantsSlot(task, now))
    return false;
  const { head, gate, verdict } = task;
  const verified = head !== null && gate?.tree === head.tree && gate.outcome === 'pass';
  return verified && !(verdict?.verdict === 'APPROVE' && verdict.headSha === head.sha);
}

/** Another task that waits for a slot, a critic or the merge may get it now. */
export function givesWay(before: Task, after: Task): boolean {
  const stepsAside = before.hold === null && after.hold !== null;
  const hasJudged = isJudging(before) && !isJudging(after);
  return before.state !== after.state || stepsAside || hasJudged;
}

/** Another issue may be taken up now. */
export function makesRoom(before: Task, after: Task): boolean {
  return (takesRoom(before) && !takesRoom(after)) || (!isEnded(before) && isEnded(after));
}

const takesRoom = (task: Task): boolean =>
  task.state === 'queued' ? task.hold === null : occupiesSlot(task);

/** A hold whose time has come no longer counts, though its row still names it. */
export function isHeld(task: Task, now: number): boolean {
  return task.hold !== null && (task.hold.until === null || task.hold.until > now);
}

function standingsOf({
  issues,
  tasks,
  policy,
  now,
  forced,
  readiness: judge = readiness,
}: ScheduleInput): Map<number, Standing> {
  const open = new Set(issues.filter((issue) => issue.state === 'open').map((issue) => issue.number));
  const byIssue = new Map<number, Task>();
  for (const task of tasks) {
    if (task.issue === null) continue;
    const other = byIssue.get(task.issue);
    if (!other || task.attempt > other.attempt) byIssue.set(task.issue, task);
  }
  return new Map(
    issues.map((issue) => [
      issue.number,
      standing(issue, {
        last: byIssue.get(issue.number) ?? null,
        open,
        policy,
        now,
        forced: forced.has(issue.number),
        judge,
      }),
    ]),
  );
}

interface Around {
  last: Task | null;
  open: ReadonlySet<number>;
  policy: Policy;
  now: number;
  forced: boolean;
  judge: typeof readiness;
}

function standing(issue: IssueFacts, { last, open, policy, now, forced, judge }: Around): Standing {
  if (last && !isEnded(last)) return { kind: 'in_hand', task: last.id };
  const { labels } = policy;
  if (issue.state !== 'open') return { kind: 'not_ready', why: 'closed' };
  if (!hasLabel(issue.labels, labels.ready)) {
    if (hasLabel(issue.labels, labels.needsSpec)) {
      return {
        kind: 'not_ready',
        why: `declined: answer the questions in its comments, then make it ready again`,
      };
    }
    return { kind: 'not_ready', why: `not labelled ${labels.ready}` };
  }
  const missing = policy.requiredLabels.find((label) => !hasLabel(issue.labels, label));
  if (missing !== undefined) return { kind: 'not_ready', why: `lacks the required label ${missing}` };
  if (hasLabel(issue.labels, labels.abandon)) return { kind: 'not_ready', why: `labelled ${labels.abandon}` };
  if (hasLabel(issue.labels, labels.blocked)) return { kind: 'not_ready', why: `labelled ${labels.blocked}` };
  const blocker = issue.blockedBy.find((number) => open.has(number));
  if (blocker !== undefined)
    return { kind: 'waiting', why: `blocked by the open issue #${blocker}`, until: null };
  if (issue.readyProblem !== undefined) return { kind: 'not_ready', why: issue.readyProblem };
  if (issue.readyHash !== null && issue.readyHash !== issue.textHash) {
    return { kind: 'edited', why: 'edited since it was made ready; make it ready again' };
  }
  if (!forced && last?.endedAt && issue.readyAt !== null && issue.readyAt <= last.endedAt) {
    return { kind: 'not_ready', why: `attempt ${last.attempt} has ended since; make it ready again` };
  }
  const cooling = coolingUntil(issue, last, policy);
  if (!forced && cooling !== null && cooling > now) {
    return {
      kind: 'waiting',
      why: `cooling down: attempt ${last?.attempt} failed (${last?.reason}) and the issue is unchanged`,
      until: cooling,
    };
  }
  const { decision, problem, questions } = judge(issue.title, issue.body);
  return decision === 'declined' ? { kind: 'declined', problem, questions } : { kind: 'eligible' };
}

/** Only after a failure, and only while the text is the one that failed. */
function coolingUntil(issue: IssueFacts, last: Task | null, policy: Policy): number | null {
  if (last?.state !== 'abandoned' || last.reason === null || last.endedAt === null) return null;
  if (REASONS[last.reason].outcome !== 'failure' || agreedHash(last.contract) !== issue.textHash) return null;
  return last.endedAt + policy.cooldownMs;
}

export function hasLabel(labels: readonly string[], wanted: string): boolean {
  return labels.some((label) => normal(label) === normal(wanted));
}

const normal = (label: string): string => label.trim().replace(/\s+/g, ' ').toLowerCase();

function byUrgency(alignment: ((issue: IssueFacts) => number) | undefined) {
  const rank = (issue: IssueFacts): number =>
    issue.priority !== null && issue.priority >= 1 && issue.priority <= 4 ? issue.priority : 5;
  return (a: IssueFacts, b: IssueFacts): number =>
    rank(a) - rank(b) ||
    (alignment ? alignment(b) - alignment(a) : 0) ||
    a.createdAt - b.createdAt ||
    a.number - b.number;
}

const oldestFirst = (a: Task, b: Task): number => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);

/** `min(10 s · 2^(n-1), 5 min)`, spread by up to a quarter; `jitter` is in [0, 1). */
export function backoffMs(attempt: number, jitter: number): number {
  const base = Math.min(10_000 * 2 ** (Math.max(1, attempt) - 1), 300_000);
  return Math.round(base * (1 + jitter / 4));
}
