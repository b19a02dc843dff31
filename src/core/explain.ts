/** What a task rests on, in one line: the same words for `why` and for an answer to `/loop explain`. */
import { type AccountLimit, accountOf, limitOf } from './account.ts';
import type { Action, PendingAction } from './action.ts';
import { namesOf, requiredChecks } from './checks.ts';
import { approvedAtHead } from './decision.ts';
import type { LoopEvent } from './event.ts';
import { oneLine } from './fence.ts';
import type { Policy } from './policy.ts';
import type { PullFeedback } from './remark.ts';
import { grants, isHeld } from './schedule.ts';
import { isEnded, occupiesSlot, type Task } from './task.ts';
import { adviceText, holdText } from './words.ts';

export interface Explanation {
  why: string;
  /** When it goes on by itself, if that is known. */
  until: number | null;
}

export interface Around {
  /** What is pending for it, first. */
  pending: PendingAction | null;
  /** All tasks: what one waits for another may have. */
  all: readonly Task[];
  /** What was said about its pull request; asked for only where `hangsOnChecks`. */
  said: PullFeedback | null;
  accounts: readonly AccountLimit[];
}

export function explain(task: Task, around: Around, policy: Policy, now: number): Explanation {
  const { pending } = around;
  if (isEnded(task)) return { why: ending(task), until: null };
  if (task.hold && isHeld(task, now)) return { why: holdText(task.hold, task.issue), until: task.hold.until };
  if (pending && pending.notBefore > now)
    return {
      why: `${pending.action.kind} failed ${pending.attempts}×; tried again`,
      until: pending.notBefore,
    };
  const limit = pending ? null : criticLimit(task, around, policy, now);
  if (limit) return { why: `${task.state}: waiting for ${limit.account}: ${limit.why}`, until: limit.until };
  return { why: `${task.state}: ${restsOn(task, around, policy, now)}`, until: null };
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
      return `gate on the ${happened.data.scope}: ${happened.data.evidence.outcome}`;
    case 'verdict_recorded':
      return `${happened.data.verdict} by ${happened.data.by} at ${happened.data.headSha.slice(0, 10)}`;
    case 'hold_set':
      return `held (${happened.data.reason}): ${oneLine(happened.data.detail)}`;
    case 'request_made':
      return `${happened.data.kind} asked by ${oneLine(happened.data.by)}`;
    default:
      return happened.type.replaceAll('_', ' ');
  }
}

/** Approved, with nothing to do: if it does not go on, its checks are what it waits for. */
export const hangsOnChecks = (task: Task): boolean =>
  task.state === 'awaiting_critic' && task.hold === null && approvedAtHead(task) && task.pull !== null;

/** Whoever works in a slot is held for it; a critic that can't be paid now is only waited for. */
function criticLimit(task: Task, { accounts }: Around, policy: Policy, now: number): AccountLimit | null {
  if (task.state !== 'awaiting_critic' || approvedAtHead(task)) return null;
  const role = task.feedback.length > 0 ? 'coder' : 'critic';
  return limitOf(accounts, accountOf(policy.agents[role]), now);
}

function restsOn(task: Task, { pending, all, said }: Around, policy: Policy, now: number): string {
  if (pending)
    return pending.startedAt === null
      ? `${doing(pending.action)} is next`
      : `${doing(pending.action)} at work`;
  const live = all.filter((other) => !isEnded(other));
  const { slots, critics } = grants(live, 0, policy, now);
  const used = `${live.filter(occupiesSlot).length} of ${policy.maxConcurrent} in use`;
  const needsSlot = task.state === 'queued' || task.hold !== null || task.feedback.length > 0;
  if (needsSlot && !slots.includes(task.id)) return `waiting for a slot (${used})`;
  if (
    task.state === 'awaiting_critic' &&
    task.verdict?.headSha !== task.head?.sha &&
    !critics.includes(task.id)
  )
    return `waiting for a critic (${policy.critic.parallel} may judge at once)`;
  const checks = requiredChecks(said, task.head?.sha ?? null, policy) ?? [];
  const pendingChecks = namesOf(checks, 'pending');
  if (hangsOnChecks(task) && pendingChecks) return `approved; waiting for the checks ${pendingChecks}`;
  const merging = live.find((other) => other.id !== task.id && other.state === 'merging');
  if (task.state === 'awaiting_critic' && task.verdict?.verdict === 'APPROVE' && merging)
    return `approved; waiting for the merge of #${merging.issue}`;
  return 'goes on with the next step of its runner';
}

export function doing(action: Action): string {
  switch (action.kind) {
    case 'turn':
      return turnText(action);
    case 'gate':
      return { work: 'the gate', candidate: 'the gate on the merged tree', trunk: 'the gate on trunk' }[
        action.scope
      ];
    case 'hook':
      return `the hook ${action.name}`;
    default:
      return action.kind.replaceAll('_', ' ');
  }
}

export const turnText = ({ turn, role }: { turn: number; role: string }): string =>
  `turn ${turn} of the ${role}`;
