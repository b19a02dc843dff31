/** What a task rests on, in one line: the same words for `why` and for an answer to `/loop explain`. */
import type { AccountLimit } from './account.ts';
import type { Action, PendingAction } from './action.ts';
import { batchOf } from './batch.ts';
import type { PullFeedback } from './change/remark.ts';
import { decide } from './decide.ts';
import { approvedAtHead, type Decision, type Facts } from './decision.ts';
import type { LoopEvent } from './event.ts';
import { holdText } from './hold.ts';
import { agreedHash } from './issue/text-hash.ts';
import { aheadOf, freePlaces, isInLine, partnersOf } from './line.ts';
import type { Policy } from './policy.ts';
import { type Role, roleRow } from './role.ts';
import { grants, isHeld, keptFrom } from './schedule.ts';
import { isEnded, nameOfTask, occupiesSlot, type Task } from './task.ts';
import { isPutOff } from './waiting.ts';
import { oneLine } from './words/fence.ts';
import { shortSha } from './words/short-sha.ts';
import { adviceText, effectName, failedText, namesOf, togetherText } from './words/words.ts';

interface Explanation {
  why: string;
  /** When it goes on by itself, if that is known. */
  until: number | null;
}

interface Around {
  /** What is pending for it, first. */
  pending: PendingAction | null;
  /** Why that failed when it was tried last. */
  failure: string | null;
  /** What of it runs now, in words, where somebody looked. */
  working?: string | null;
  /** All tasks: what one waits for another may have. */
  all: readonly Task[];
  /** What was said about its pull request; asked for only where `hangsOnChecks`. */
  said: PullFeedback | null;
  accounts: readonly AccountLimit[];
  untried: string | null;
}

export function explain(task: Task, around: Around, policy: Policy, now: number): Explanation {
  const { pending, failure } = around;
  if (isEnded(task)) return { why: ending(task), until: null };
  if (task.hold && isHeld(task, now))
    return { why: holdText(task.hold, nameOfTask(task)), until: task.hold.until };
  if (pending && isPutOff(pending, now))
    return {
      why: `${failedText(pending.action.kind, pending.attempts)}${failure === null ? '' : `: ${oneLine(failure)}`}`,
      until: pending.notBefore,
    };
  if (pending) {
    if (around.working) return { why: `${task.state}: ${around.working}`, until: null };
    const stage = pending.startedAt === null ? 'is next' : 'in progress';
    return { why: `${task.state}: ${doing(pending.action)} ${stage}`, until: null };
  }
  const live = around.all.filter((other) => !isEnded(other));
  const decision = decide(task, factsKnown(task, live, around, policy, now), policy, now);
  if (decision.kind !== 'rest')
    return { why: `${task.state}: ready; the runner takes the next step`, until: null };
  return {
    why: `${task.state}: ${decision.why}${whoHasIt(decision, task, live, policy, now)}`,
    until: decision.until,
  };
}

/**
 * The facts as far as the store has them. What only the forge or git could tell is taken to be as the loop left it: `decide`
 * then says what the task waits for, in the words it says to the loop itself.
 */
function factsKnown(
  task: Task,
  live: readonly Task[],
  { all, said, accounts, untried }: Around,
  policy: Policy,
  now: number,
): Facts {
  const { title, body } = task.contract;
  const textHash = agreedHash(task.contract);
  const granted = grants(live, 0, policy, now, accounts);
  const lineLength = policy.merge.queue.ahead;
  return {
    issue: { state: 'open', title, body, textHash, labels: [policy.labels.running], readyHash: textHash },
    pull: task.pull === null ? null : { state: 'open', mergedSha: null, approvals: [] },
    feedback: said,
    awaits: null,
    branch: task.published && { sha: task.published.sha, tree: task.head?.tree ?? '' },
    spend: { costUsd: 0, tokens: 0 },
    openFindings: [],
    ledger: [],
    requests: [],
    slot: granted.slots.includes(task.id),
    criticSlot: granted.critics.includes(task.id),
    mergeFree: freePlaces(live, lineLength) > 0,
    lineLength,
    ahead: aheadOf(task, live),
    batch: policy.merge.queue.batch && lineLength > 1 && isInLine(task) ? batchOf(live) : null,
    partners: task.misfit ? partnersOf(task.misfit.with.map(({ task: id }) => byId(all, id))) : null,
    trunk: task.landing?.candidate.trunk ?? null,
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
  live: readonly Task[],
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
      return ` (${policy.critic.parallel} may judge at once)`;
    case 'merge':
      return task.state === 'merging' ? '' : ` (${namesOf(aheadOf(task, live))})`;
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
export const turnName = ({ turn, role }: { turn: number; role: Role }): string =>
  roleRow(role).place === 'workspace' ? `turn ${turn}` : `${role} round ${turn}`;

export const turnText = ({ turn, role }: { turn: number; role: string }): string =>
  `turn ${turn} of the ${role}`;
