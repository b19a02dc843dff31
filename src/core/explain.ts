/** What a task rests on, in one line: the same words for `why` and for an answer to `/loop explain`. */

import type { Action, PendingAction } from './action.ts';
import type { PullFeedback } from './change/remark.ts';
import { decide } from './decide.ts';
import { approvedAtHead, type Decision, type Facts } from './decision.ts';
import type { LoopEvent } from './event.ts';
import { holdText } from './hold.ts';
import { agreedHash } from './issue/text-hash.ts';
import { type Granted, grantedTo, NOTHING_GRANTED, type UnderWay } from './line/granted.ts';
import { aheadOf, commitOf, partnersIn, partnersOf } from './line/line.ts';
import { isHeld, keptFrom } from './line/schedule.ts';
import type { AccountLimit } from './money/account.ts';
import { whyAwaits } from './plan/each.ts';
import type { Policy } from './policy.ts';
import { isEnded, nameOfTask, occupiesSlot, type Task } from './task.ts';
import { isPutOff } from './waiting.ts';
import { oneLine } from './words/fence.ts';
import { shortSha } from './words/short-sha.ts';
import { adviceText, effectName, failureText, namesOf, togetherText, UNASKED } from './words/words.ts';

interface Explanation {
  why: string;
  /** When it goes on by itself, if that is known. */
  until: number | null;
}

export interface Around {
  /** What is pending for it, first. */
  pending: PendingAction | null;
  /** Why that failed when it was tried last. */
  failure: string | null;
  /** What of it runs now, in words, where somebody looked. */
  working?: string | null;
  /** All tasks, as far as known: those that it was started with may have ended. */
  all: readonly Task[];
  /** What it waits for these may have. */
  underWay: UnderWay;
  /** By task: what was said about its pull request, of those that `hangsOnChecks`. Null where the forge was not asked. */
  said: ReadonlyMap<string, PullFeedback | null> | null;
  accounts: readonly AccountLimit[];
  untried: string | null;
}

export function explain(task: Task, around: Around, policy: Policy, now: number): Explanation {
  const { pending, failure } = around;
  if (isEnded(task)) return { why: ending(task), until: null };
  const awaits = task.plan?.group
    ? whyAwaits(task, around.underWay.live, new Map(around.all.map((one) => [one.id, one])))
    : null;
  if (task.hold && isHeld(task, now)) {
    // What it waits for may have ended, or been started again, since it was held.
    const isForLoops = task.hold.reason === 'waits_for_loops' && awaits !== null;
    const held = isForLoops ? { ...task.hold, detail: awaits } : task.hold;
    return { why: holdText(held, nameOfTask(task)), until: held.until };
  }
  if (pending) {
    const isWaiting = isPutOff(pending, now);
    // Nobody tries it while no runner is there; what kept it from being done last is as true then.
    if (isWaiting || (pending.attempts > 0 && failure !== null && !around.working))
      return {
        why: failureText(pending.action.kind, pending.attempts, failure),
        until: isWaiting ? pending.notBefore : null,
      };
    if (around.working) return { why: `${task.state}: ${around.working}`, until: null };
    const stage = pending.startedAt === null ? 'is next' : 'in progress';
    return { why: `${task.state}: ${doing(pending.action)} ${stage}`, until: null };
  }
  if (awaits !== null) return { why: `${task.state}: ${awaits}`, until: null };
  const decided = (one: Task, granted: Granted): Decision =>
    decide(one, factsKnown(one, granted, around, policy), policy, now);
  const waitsForPlace = (other: Task): boolean => isForMerge(decided(other, NOTHING_GRANTED));
  const others = { ...around.underWay, waitsForPlace };
  const decision = decided(task, grantedTo(task, others, around.accounts, policy, now));
  if (around.said === null && hangsOnChecks(task) && (decision.kind !== 'rest' || isForMerge(decision)))
    return { why: `${task.state}: ${UNASKED}`, until: null };
  if (decision.kind !== 'rest')
    return { why: `${task.state}: ready; the runner takes the next step`, until: null };
  return {
    why: `${task.state}: ${decision.why}${whoHasIt(decision, task, around.underWay, policy, now)}`,
    until: decision.until,
  };
}

const isForMerge = (decision: Decision): boolean => decision.kind === 'rest' && decision.grant === 'merge';

/**
 * The facts as far as the store has them. What only the forge or git could tell is taken to be as the loop left it: `decide`
 * then says what the task waits for, in the words it says to the loop itself.
 */
function factsKnown(
  task: Task,
  granted: Granted,
  { all, said, accounts, untried }: Around,
  policy: Policy,
): Facts {
  const { title, body } = task.contract;
  const textHash = agreedHash(task.contract);
  const last = task.misfit?.on?.at(-1);
  const testedOn = last ? byId(all, last.task) : null;
  return {
    issue: { state: 'open', title, body, textHash, labels: [policy.labels.running], readyHash: textHash },
    pull: task.pull === null ? null : { state: 'open', mergedSha: null, approvals: [] },
    feedback: said?.get(task.id) ?? null,
    awaits: null,
    branch: task.published && { sha: task.published.sha, tree: task.head?.tree ?? '' },
    spend: { costUsd: 0, tokens: 0 },
    openFindings: [],
    ledger: [],
    requests: [],
    ...granted,
    partners: task.misfit ? partnersOf(partnersIn(task.misfit).map(({ task: id }) => byId(all, id))) : null,
    onto: testedOn ? commitOf(testedOn) : null,
    // Where it is changes what a merging task does, and nothing that is said of it.
    trunk: task.landing?.candidate.trunk ?? (task.state === 'merging' ? 'trunk' : null),
    trunkTree: null,
    change: { files: [], secrets: [], guarded: [] },
    mergeBlocker: null,
    unconfined: null,
    unfiltered: null,
    promptChanged: false,
    loopLimit: null,
    accountLimits: accounts,
    untried,
    paused: null,
    stuck: null,
    inFlight: null,
    newSessionId: '',
    jitter: 0,
  };
}

const byId = (all: readonly Task[], id: string): Task | null => all.find((one) => one.id === id) ?? null;

/** What it waits for is others' for now. */
function whoHasIt(
  { grant }: Extract<Decision, { kind: 'rest' }>,
  task: Task,
  { live }: UnderWay,
  policy: Policy,
  now: number,
): string {
  switch (grant) {
    case 'slot': {
      const kept = keptFrom(task, live, policy, now);
      const inUse = `${live.filter(occupiesSlot).length} of ${policy.maxConcurrent} in use`;
      return ` (${inUse}${kept === null ? '' : `, one is kept for ${kept}`})`;
    }
    case 'critic':
      return ` (at most ${policy.critic.parallel} critics at a time)`;
    case 'merge': {
      const ahead = task.state === 'merging' ? [] : aheadOf(task, live);
      return ahead.length === 0 ? '' : ` (${namesOf(ahead)})`;
    }
    default:
      return '';
  }
}

export function ending(task: Task): string {
  if (task.state !== 'abandoned' || !task.reason)
    return `attempt ${task.attempt} was ${task.state}: ${task.why}`;
  const [first] = task.why.split('\n', 1);
  const { spec } = task;
  const isAsked = task.reason === 'spec_rejected' && spec?.status === 'declined';
  const asked = isAsked ? ` (${spec.questions.join(' ')})` : '';
  return `attempt ${task.attempt} ended (${task.reason}): ${first}${asked} — ${adviceText(task)}`;
}

/** One event, for somebody who was not there. */
export function eventText(happened: LoopEvent): string {
  switch (happened.type) {
    case 'worker_state_transition': {
      const { from, to, why } = happened.data;
      return `${from} → ${to}: ${oneLine(why)}`;
    }
    case 'turn_started':
      return `turn ${happened.data.turn} of the ${happened.data.role} started`;
    case 'turn_completed':
      return `turn ${happened.data.turn} of the ${happened.data.role} ended: ${happened.data.status}`;
    case 'gate_completed':
      return `gate on the ${happened.data.scope}: ${happened.data.evidence.outcome}${togetherIn(happened)}`;
    case 'verdict_recorded':
      return `${happened.data.verdict} by ${happened.data.by} at ${shortSha(happened.data.headSha)}`;
    case 'hold_set':
      return `held (${happened.data.reason}): ${oneLine(happened.data.detail)}`;
    case 'request_made':
      return `${happened.data.kind} requested by ${oneLine(happened.data.by)}`;
    default:
      return happened.type.replaceAll('_', ' ');
  }
}

const togetherIn = ({ data: { within } }: Extract<LoopEvent, { type: 'gate_completed' }>): string =>
  within ? `, tested ${togetherText(within.with, within.sha)}` : '';

/** Approved, with nothing to do: if it does not go on, its checks are what it waits for. */
export const hangsOnChecks = (task: Task): boolean =>
  task.state === 'awaiting_critic' && task.hold === null && approvedAtHead(task) && task.pull !== null;

const GATES = { work: 'the gate', candidate: 'the gate on the merged tree', trunk: 'the gate on trunk' };

export function doing(action: Action): string {
  switch (action.kind) {
    case 'turn':
      return turnText(action);
    case 'gate':
      return `${GATES[action.scope]}${action.with ? `, together with ${namesOf(action.with)}` : ''}`;
    case 'hook':
      return `the hook ${action.name}`;
    default:
      return effectName(action.kind);
  }
}

/** `turn 3`, `critic round 2`: where there is only room for a name. */
export const turnText = ({ turn, role }: { turn: number; role: string }): string =>
  `turn ${turn} of the ${role}`;
