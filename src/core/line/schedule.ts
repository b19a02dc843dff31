/**
 * Who works next. Pure: what is eligible and in what order, which tasks get a slot, which critics may start. Whatever is
 * not taken has a standing that says why.
 */

import type { WorkItem } from '../claim.ts';
import { approvedAtHead } from '../decision.ts';
import { type Alignment, alignments } from '../direction/align.ts';
import { type Frontier, NO_FRONTIER } from '../direction/frontier.ts';
import { agreedHash } from '../issue/text-hash.ts';
import { REASONS } from '../machine.ts';
import { type AccountLimit, accountOf, limitOf } from '../money/account.ts';
import type { Policy } from '../policy.ts';
import {
  isAtWork,
  isEnded,
  isJudging,
  isReworked,
  needsSlot,
  occupiesSlot,
  runsAlone,
  type Task,
} from '../task.ts';
import { isWaiting } from '../waiting.ts';
import { type Clash, changedBy, keptApart } from './apart.ts';
import { movesLine } from './line.ts';
import { type Backlog, backlogOf, isFull, type Pace } from './pace.ts';

export interface ScheduleInput {
  items: readonly WorkItem[];
  /** Every task, ended ones included. */
  tasks: readonly Task[];
  /** Those that a runner which is gone left to people: they keep no slot and no place from others. */
  left: ReadonlySet<Task>;
  policy: Policy;
  now: number;
  accountLimits: readonly AccountLimit[];
  /** Issues whose next attempt a person forced: no cooldown. */
  forced: ReadonlySet<number>;
  pace: Pace;
  /** What of it this run may take up; everything unless it is said. */
  quota?: Quota;
  /** Reorders items that are as urgent as each other; none where nobody stated a direction. */
  frontier?: Frontier;
}

/** `--issue` and `--max-issues` of a run: only these issues, and at most so many more. */
export interface Quota {
  only: ReadonlySet<number> | null;
  left: number;
}

export const NO_QUOTA: Quota = { only: null, left: Number.POSITIVE_INFINITY };

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
  /** To be claimed now, in order. */
  claims: WorkItem[];
  /** To be claimed now or when there is room, in order. */
  eligible: WorkItem[];
  /** What the direction says of each of those. */
  alignment: (item: WorkItem) => Alignment;
  /** Of those, the ones that may be started as soon as there is a slot. */
  startable: WorkItem[];
  /** The ones that go behind others as urgent, or wait, because of a file that work under way names or has changed. */
  clashes: ReadonlyMap<WorkItem, Clash>;
  /** Ready, but nobody could check when they are done; each is answered with questions once. */
  declines: { item: WorkItem; problem: string; questions: string[] }[];
  /** Ready, but their text was edited since. */
  withdrawals: WorkItem[];
  standings: Map<WorkItem, Standing>;
  /** Which of the tasks goes first. */
  order: Order;
  /** What waits to be judged and merged; when it is full, nothing is claimed. */
  backlog: Backlog;
}

export function schedule(input: ScheduleInput): Schedule {
  const { items, tasks, policy, now } = input;
  const standings = standingsOf(input);
  const urgency = byUrgency(blockedOn(items));
  const unordered = items.filter((item) => standings.get(item)?.kind === 'eligible');
  const alignment = alignments(unordered, tasks, input.frontier ?? NO_FRONTIER);
  const ready = unordered.sort((a, b) => urgency(a, b) || whenAsUrgent(a, b, alignment));
  const live = tasks.filter((task) => !isEnded(task) && !input.left.has(task));
  const latest = latestAttempts(tasks);
  const apart = keptApart(
    ready,
    live.filter((task) => !isHeld(task, now)),
    (a, b) => urgency(a, b) === 0,
    ({ number }) => {
      const last = latest.get(number);
      return last ? changedBy(last) : [];
    },
  );
  const taken = tasks.filter(({ issue }) => issue !== null).length;
  const inOrder = inTurn(apart.inOrder, taken);
  const longestWaiting = isTurnByAge(taken) ? inOrder[0] : null;
  const eligible = within(input.quota ?? NO_QUOTA, inOrder, standings);
  const order = orderBy(items, tasks, now);
  const backlog = backlogOf(waitingToLand(live, now), input.pace, policy);
  const { clashes, clashing } = apart;
  let room = backlog.waiting === 0 ? Infinity : 1 - clashing.filter(isBeforeLanding).length;
  const mayStart = (item: WorkItem): boolean => {
    const clash = clashes.get(item);
    if (!clash || item === longestWaiting) return true;
    room -= 1;
    if (room < 0) clashes.set(item, { ...clash, isKeptBack: true });
    return room >= 0;
  };
  const startable = isFull(backlog) ? [] : eligible.filter(mayStart);
  // What is not taken up anyway keeps no slot from revisions.
  const { slots, critics, free } = grants(live, startable.length, policy, now, input.accountLimits, order);
  const all = [...standings];
  return {
    slots,
    critics,
    claims: startable.slice(0, free),
    eligible,
    alignment,
    startable,
    clashes,
    backlog,
    declines: all.flatMap(([item, standing]) =>
      standing.kind === 'declined'
        ? [{ item, problem: standing.problem, questions: standing.questions }]
        : [],
    ),
    withdrawals: all.flatMap(([item, standing]) => (standing.kind === 'edited' ? [item] : [])),
    standings,
    order,
  };
}

/**
 * Slots and critics for the tasks at hand. Revisions go first, since their prompt cache is warm; but while new work
 * exists and there are two or more slots, one is kept for it. Nor do plans take all slots while issues wait, or issues
 * while plans do.
 */
export function grants(
  live: readonly Task[],
  eligible: number,
  policy: Policy,
  now: number,
  limits: readonly AccountLimit[],
  order: Order = oldestFirst,
): Grants {
  const nothing: Grants = { slots: [], critics: [], free: 0 };
  const working = live.filter(isAtWork);
  if (working.some(runsAlone)) return nothing;
  // A critic whose account is not asked now waits for that, and nobody waits for it.
  const canJudge = limitOf(limits, accountOf(policy.agents.critic), now) === null;
  const isDue = (task: Task): boolean =>
    wantsSlot(task, now) ||
    (canJudge && wantsCritic(task, now)) ||
    (task.state === 'queued' && !isHeld(task, now));
  const alone = live.filter((task) => runsAlone(task) && isDue(task)).sort(leastInterrupted);
  if (alone.length === 0) return grantsTogether(live, eligible, policy, now, order);
  // What is in hand goes on first; nothing new is taken up before the lonely ones have had their turn.
  const others = live.filter((task) => !alone.includes(task));
  const granted = { ...grantsTogether(others, 0, policy, now, order), free: 0 };
  const isJudged = canJudge && granted.critics.length > 0;
  if (working.length > 0 || granted.slots.length > 0 || isJudged) return granted;
  return { ...grantsTogether(alone.slice(0, 1), 0, policy, now, order), free: 0 };
}

interface Grants {
  slots: string[];
  critics: string[];
  /** How many issues may be claimed. */
  free: number;
}

function grantsTogether(
  live: readonly Task[],
  eligible: number,
  policy: Policy,
  now: number,
  order: Order,
): Grants {
  const used = live.filter(occupiesSlot).length;
  let free = Math.max(0, policy.maxConcurrent - used);

  const resuming = live.filter((task) => wantsSlot(task, now)).sort(order);
  const queued = live.filter((task) => task.state === 'queued' && !isHeld(task, now)).sort(order);
  const reserve = queued.length + eligible > 0 && policy.maxConcurrent >= 2 ? 1 : 0;
  const revising = live.filter((task) => occupiesSlot(task) && task.state === 'revising').length;
  const room = {
    revising: Math.min(policy.perState.revising ?? Infinity, policy.maxConcurrent - reserve) - revising,
    running: (policy.perState.running ?? Infinity) - (used - revising),
  };
  const share = sharesOf(live, [...resuming, ...queued], eligible, policy);
  const admit = (task: Task, as: keyof typeof room): boolean => {
    const kind = kindOf(task);
    if (free <= 0 || room[as] <= 0 || share[kind] <= 0) return false;
    free -= 1;
    room[as] -= 1;
    share[kind] -= 1;
    return true;
  };
  const resumed = resuming.filter((task) =>
    admit(task, task.state === 'running' || task.state === 'dispatched' ? 'running' : 'revising'),
  );
  const dispatched = queued.filter((task) => admit(task, 'running'));

  const judging = live.filter(isJudging).length;
  const critics = live
    .filter((task) => wantsCritic(task, now))
    .sort(order)
    .slice(0, Math.max(0, policy.critic.parallel - judging));
  return {
    slots: [...resumed, ...dispatched].map((task) => task.id),
    critics: critics.map((task) => task.id),
    free: Math.max(0, Math.min(free, room.running, share.issues)),
  };
}

/** A plan out of an issue is an issue's. */
type SlotKind = 'plans' | 'issues';
const kindOf = ({ issue }: Task): SlotKind => (issue === null ? 'plans' : 'issues');
const otherThan = (kind: SlotKind): SlotKind => (kind === 'plans' ? 'issues' : 'plans');

/** How many more slots each kind may take: the last one is kept for the other while that waits. */
function sharesOf(
  live: readonly Task[],
  waiting: readonly Task[],
  eligible: number,
  { maxConcurrent }: Policy,
): Record<SlotKind, number> {
  const share = (kind: SlotKind): number => {
    const other = otherThan(kind);
    const isOtherWaiting =
      waiting.some((task) => kindOf(task) === other) || (other === 'issues' && eligible > 0);
    if (maxConcurrent < 2 || !isOtherWaiting) return Infinity;
    return maxConcurrent - 1 - live.filter((task) => occupiesSlot(task) && kindOf(task) === kind).length;
  };
  return { plans: share('plans'), issues: share('issues') };
}

/** For whom the slot is kept that this one waits for; null when it is not. */
export function keptFrom(task: Task, live: readonly Task[], policy: Policy, now: number): SlotKind | null {
  if (live.filter(occupiesSlot).length >= policy.maxConcurrent) return null;
  const waiting = live.filter(
    (other) => wantsSlot(other, now) || (other.state === 'queued' && !isHeld(other, now)),
  );
  const kind = kindOf(task);
  return sharesOf(live, waiting, 0, policy)[kind] > 0 ? null : otherThan(kind);
}

/** Feedback to work in, or a hold that ran out in the middle of work: both need a slot again. */
function wantsSlot(task: Task, now: number): boolean {
  if (isHeld(task, now)) return false;
  if (task.state === 'awaiting_critic' || task.state === 'merging')
    return task.feedback.length > 0 || task.mergeInto !== null || isReworked(task);
  return task.hold !== null && needsSlot(task);
}

/** Verified and not yet approved; a task that waits for its merge must not keep a critic from others. */
function wantsCritic(task: Task, now: number): boolean {
  if (task.state !== 'awaiting_critic' || task.turn !== null || isHeld(task, now) || wantsSlot(task, now))
    return false;
  const { head, gate } = task;
  const verified = head !== null && gate?.tree === head.tree && gate.outcome === 'pass';
  return verified && !approvedAtHead(task);
}

/** Another task that waits for a slot, a critic or the merge may get it now. */
export function givesWay(before: Task, after: Task): boolean {
  const stepsAside = before.hold === null && after.hold !== null;
  const hasJudged = isJudging(before) && !isJudging(after);
  return (
    before.state !== after.state ||
    stepsAside ||
    hasJudged ||
    movesLine(before, after) ||
    joinsOthers(before, after)
  );
}

/** Another issue may be taken up now. */
export function makesRoom(before: Task, after: Task): boolean {
  return (
    (takesRoom(before) && !takesRoom(after)) ||
    (!isEnded(before) && isEnded(after)) ||
    joinsOthers(before, after)
  );
}

const isBeforeLanding = (task: Task): boolean => task.state === 'queued' || occupiesSlot(task);

const joinsOthers = (before: Task, after: Task): boolean => runsAlone(before) && !runsAlone(after);

const takesRoom = (task: Task): boolean =>
  task.state === 'queued' ? task.hold === null : occupiesSlot(task);

/** Those that nobody but the loop keeps waiting. */
export const waitingToLand = (live: readonly Task[], now: number): number =>
  live.filter((task) => (task.state === 'awaiting_critic' || task.state === 'merging') && !isHeld(task, now))
    .length;

/** A hold whose time has come no longer counts, though its row still names it. */
export function isHeld(task: Task, now: number): boolean {
  if (task.hold === null) return false;
  const { until, since } = task.hold;
  return until === null || isWaiting({ until, since }, now);
}

/** The others stay ready, for another run. */
function within(
  { only, left }: Quota,
  ready: readonly WorkItem[],
  standings: Map<WorkItem, Standing>,
): WorkItem[] {
  let free = left;
  const taken = ready.filter((item) => {
    const isAsked = only === null || only.has(item.number);
    if (isAsked && free > 0) {
      free -= 1;
      return true;
    }
    standings.set(item, {
      kind: 'not_ready',
      why: isAsked
        ? 'ready; this run starts no more issues (--max-issues)'
        : 'ready; this run was not asked to take it up (--issue)',
    });
    return false;
  });
  // What this run does not look after it does not answer either.
  if (only !== null)
    for (const [item, { kind }] of standings)
      if (!only.has(item.number) && (kind === 'declined' || kind === 'edited'))
        standings.set(item, { kind: 'not_ready', why: 'this run was not asked to take it up (--issue)' });
  return taken;
}

function standingsOf({ items, tasks, policy, now, forced }: ScheduleInput): Map<WorkItem, Standing> {
  const open = new Set(items.filter((item) => item.state === 'open').map((item) => item.number));
  const latest = latestAttempts(tasks);
  return new Map(
    items.map((item) => {
      const last = latest.get(item.number) ?? null;
      return [item, standing(item, { last, open, policy, now, forced: forced.has(item.number) })];
    }),
  );
}

/** By issue. */
export function latestAttempts(tasks: readonly Task[]): Map<number, Task> {
  const latest = new Map<number, Task>();
  for (const task of tasks) {
    if (task.issue === null) continue;
    const other = latest.get(task.issue);
    if (!other || task.attempt > other.attempt) latest.set(task.issue, task);
  }
  return latest;
}

interface Around {
  last: Task | null;
  open: ReadonlySet<number>;
  policy: Policy;
  now: number;
  forced: boolean;
}

function standing(issue: WorkItem, { last, open, policy, now, forced }: Around): Standing {
  if (last && !isEnded(last)) return { kind: 'in_hand', task: last.id };
  const { labels } = policy;
  if (issue.state !== 'open') return { kind: 'not_ready', why: 'closed' };
  if (!hasLabel(issue.labels, labels.ready)) {
    if (hasLabel(issue.labels, labels.needsSpec)) {
      return {
        kind: 'not_ready',
        why: `declined: answer the questions in its comments, then mark it ready again`,
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
  const [elsewhere] = issue.blockedElsewhere ?? [];
  if (elsewhere)
    return {
      kind: 'waiting',
      why: elsewhere.isSeen
        ? `blocked by the open issue ${elsewhere.name}`
        : `blocked by ${elsewhere.name}, which the loop can't see: let its account read that repository, or remove the reference`,
      until: null,
    };
  if (issue.unproved) return { kind: 'waiting', ...issue.unproved };
  if (issue.readyProblem !== undefined) return { kind: 'not_ready', why: issue.readyProblem };
  if (issue.readyHash !== null && issue.readyHash !== issue.textHash) {
    return { kind: 'edited', why: 'edited since it was made ready; mark it ready again' };
  }
  if (!forced && last?.endedAt && issue.readyAt !== null && issue.readyAt <= last.endedAt) {
    return { kind: 'not_ready', why: `attempt ${last.attempt} has ended since; mark it ready again` };
  }
  const cooling = coolingUntil(issue, last, policy);
  if (!forced && cooling !== null && isWaiting({ until: cooling, since: last?.endedAt ?? 0 }, now)) {
    return {
      kind: 'waiting',
      why: `cooling down: attempt ${last?.attempt} failed (${last?.reason}) and the issue is unchanged`,
      until: cooling,
    };
  }
  const { decision, problem, questions } = issue.readiness();
  return decision === 'declined' ? { kind: 'declined', problem, questions } : { kind: 'eligible' };
}

/** Only after a failure, and only while the text is the one that failed. */
function coolingUntil(issue: WorkItem, last: Task | null, policy: Policy): number | null {
  if (last?.state !== 'abandoned' || last.reason === null || last.endedAt === null) return null;
  if (REASONS[last.reason].outcome !== 'failure' || agreedHash(last.contract) !== issue.textHash) return null;
  return last.endedAt + policy.cooldownMs;
}

export function hasLabel(labels: readonly string[], wanted: string): boolean {
  return labels.some((label) => normal(label) === normal(wanted));
}

const normal = (label: string): string => label.trim().replace(/\s+/g, ' ').toLowerCase();

const byUrgency =
  (unblocks: (issue: number) => number) =>
  (a: WorkItem, b: WorkItem): number =>
    rank(a) - rank(b) || unblocks(b.number) - unblocks(a.number);

const whenAsUrgent = (a: WorkItem, b: WorkItem, alignment: (item: WorkItem) => Alignment): number =>
  // Two that were both passed over are as aligned as each other.
  alignment(b).score - alignment(a).score || a.createdAt - b.createdAt || a.number - b.number;

/** Every so many claims one goes to whoever has waited longest, so that more urgent ones that keep coming starve nobody. */
const LONGEST_WAITING_EVERY = 10;

/** `taken`: how many were claimed before, ever. */
function inTurn(ready: readonly WorkItem[], taken: number): WorkItem[] {
  const left = new Set(ready);
  const byUrgency = ready.values();
  const byAge = [...ready].sort((a, b) => waitsSince(a) - waitsSince(b)).values();
  return ready.map((_, index) => {
    const from = isTurnByAge(taken + index) ? byAge : byUrgency;
    let next = from.next().value!;
    while (!left.delete(next)) next = from.next().value!;
    return next;
  });
}

const isTurnByAge = (taken: number): boolean => (taken + 1) % LONGEST_WAITING_EVERY === 0;

const waitsSince = ({ readyAt, createdAt }: WorkItem): number => readyAt ?? createdAt;

const rank = ({ priority }: Pick<WorkItem, 'priority'>): number =>
  priority !== null && priority >= 1 && priority <= 4 ? priority : 5;

/** How many open issues wait for this one. */
function blockedOn(items: readonly WorkItem[]): (issue: number) => number {
  const waiting = new Map<number, number>();
  for (const { state, blockedBy } of items)
    for (const number of state === 'open' ? blockedBy : [])
      waiting.set(number, (waiting.get(number) ?? 0) + 1);
  return (issue) => waiting.get(issue) ?? 0;
}

/** Which of two tasks goes first. */
export type Order = (a: Task, b: Task) => number;

/** In hand for so long, or overtaken by so many, a task goes before more urgent ones: they would keep it from its place for ever. */
const OVERDUE_MS = 12 * 3_600_000;
const OVERTAKEN_BY = 20;

/** By the priority of their issues, then by how many others wait for them, then by age. `tasks`: every one, as far as known. */
export function orderBy(items: readonly WorkItem[], tasks: readonly Task[], now: number): Order {
  const unblocks = blockedOn(items);
  const byNumber = new Map(items.map((item) => [item.number, item]));
  const overdueBefore = Math.max(now - OVERDUE_MS + 1, overtakenBefore(tasks));
  const urgency = ({ issue, createdAt }: Task): [number, number] => {
    const item = issue === null ? undefined : byNumber.get(issue);
    const isOverdue = createdAt < overdueBefore;
    return [isOverdue ? 0 : rank(item ?? { priority: null }), issue === null ? 0 : unblocks(issue)];
  };
  return (a, b) => {
    const [first, second] = [urgency(a), urgency(b)];
    return first[0] - second[0] || second[1] - first[1] || oldestFirst(a, b);
  };
}

/** Of those claimed before then, each has seen so many end that were claimed later. */
function overtakenBefore(tasks: readonly Task[]): number {
  const ended = tasks.filter(isEnded).map(({ createdAt }) => createdAt);
  return ended.sort((a, b) => b - a)[OVERTAKEN_BY - 1] ?? Number.NEGATIVE_INFINITY;
}

export const oldestFirst: Order = (a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);

const leastInterrupted: Order = (a, b) => interruptions(a) - interruptions(b) || oldestFirst(a, b);

const interruptions = ({ roles }: Task): number =>
  Math.max(...Object.values(roles).map(({ interrupted }) => interrupted));

/** `min(10 s · 2^(n-1), longest)`, the shorter ones spread by up to a quarter; `jitter` is in [0, 1). */
export function backoffMs(attempt: number, jitter: number, longestMs: number): number {
  const base = 10_000 * 2 ** (Math.max(1, attempt) - 1);
  return Math.round(Math.min(base * (1 + jitter / 4), longestMs));
}
