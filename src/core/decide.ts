/**
 * What follows for one task from what is known about it.
 *
 * Pure, level-triggered and total: it looks at the row and the facts, never at what woke it. It answers with events
 * and actions to write down, with "stop the run in flight", or with a rest and the reason for it.
 */
import { accountOf, limitOf } from './account.ts';
import type { Action } from './action.ts';
import { requiredChecks, wantsOf } from './checks.ts';
import { contractOf } from './criteria.ts';
import {
  approvalFor,
  approve,
  approvedAtHead,
  awaitGrant,
  type Decision,
  type Facts,
  graveOf,
  hold,
  isEdited,
  OUT_OF_BUDGET,
  personPushed,
  rest,
  secretsIn,
  stepAside,
  stop,
  transition,
} from './decision.ts';
import { endingOf, finish } from './ending.ts';
import { event, type Hold, type NewEvent } from './event.ts';
import { hear, isNews, objections } from './feedback.ts';
import { fence, oneLine } from './fence.ts';
import { decideFinding } from './finding-decision.ts';
import { gateDigest, holdsFor } from './gate.ts';
import { judge, merge } from './judge.ts';
import type { Policy } from './policy.ts';
import type { Check } from './remark.ts';
import { backoffMs, isHeld } from './schedule.ts';
import { isByPerson, isEnded, needsSlot, type Task } from './task.ts';
import { dispatch, prepare, work } from './work.ts';

export function decide(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  const decision = follow(task, facts, policy, now);
  // What costs nothing goes on: a gate, a push, a merge that was paid for.
  if (decision.kind !== 'act' || !costs(decision.actions)) return decision;
  if (facts.loopLimit) {
    const { why, until } = facts.loopLimit;
    if (task.state === 'merging') return stepAside(task, why);
    return { kind: 'rest', why, until, for: 'budget' };
  }
  return paid(task, decision, facts, policy, now);
}

/** It starts a turn, or takes a slot for one. */
const costs = (actions: readonly Action[]): boolean =>
  actions.some(({ kind }) => kind === 'turn' || kind === 'prepare_workspace');

/** A turn of an account that is used up waits for its reset; where that would keep a slot from others, held. */
function paid(
  task: Task,
  decision: Extract<Decision, { kind: 'act' }>,
  facts: Facts,
  policy: Policy,
  now: number,
): Decision {
  const turn = decision.actions.find((action) => action.kind === 'turn');
  const account = accountOf(policy.agents[turn?.role ?? 'coder']);
  const limit = limitOf(facts.accountLimits, account, now);
  if (!limit) return turn ? { ...decision, account } : decision;
  const why = `${account}: ${limit.why}`;
  if (task.state === 'merging') return stepAside(task, why);
  if (task.state === 'awaiting_critic') return rest(why, limit.until);
  const held = event('hold_set', { reason: 'provider_limit', detail: why, until: limit.until, account });
  const back = task.state === 'dispatched' ? [transition(task, 'queued', why)] : [];
  return { kind: 'act', events: [...back, held], actions: [] };
}

function follow(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (isEnded(task)) return rest(task.why);
  const end = endingOf(task, facts, policy, now);
  if (facts.inFlight) {
    const why = end?.why ?? facts.unconfined;
    return why ? stop('cancelled', why) : supervise(task, facts, facts.inFlight, policy, now);
  }
  if (end) return finish(task, end, facts, policy, now);
  if (facts.stuck) {
    if (task.state !== 'merging') return rest(facts.stuck);
    return stepAside(task, facts.stuck, hold('retry_backoff', facts.stuck, now + backoffMs(1, facts.jitter)));
  }

  const asked = answerRequests(task, facts, policy, now);
  if (asked) return asked;
  if (task.hold) {
    const held = judgeHold(task, task.hold, facts, policy, now);
    if (held) return held;
  }
  if (facts.paused) return rest(facts.paused);
  if (facts.unconfined)
    return { kind: 'act', events: [hold('sandbox_unavailable', facts.unconfined)], actions: [] };
  if (hasNewContract(task, facts)) return acceptContract(task, facts);

  switch (task.state) {
    case 'queued':
      return dispatch(task, facts, policy);
    case 'dispatched':
      return prepare(task, facts, policy, now);
    case 'running':
    case 'revising':
      return work(task, facts, policy, now);
    case 'awaiting_critic':
      return judge(task, facts, policy, now);
    case 'merging':
      return merge(task, facts, policy, now);
    case 'merged':
    case 'completed':
    case 'abandoned':
      return rest(task.why);
    default:
      return task.state satisfies never;
  }
}

function supervise(
  task: Task,
  { loopLimit }: Facts,
  run: NonNullable<Facts['inFlight']>,
  policy: Policy,
  now: number,
): Decision {
  if (run.action.kind !== 'turn')
    return rest(run.action.kind === 'gate' ? 'the gate is running' : `${run.action.name} is running`);
  if (loopLimit) return stop('interrupted', loopLimit.why, OUT_OF_BUDGET);
  const { turnTimeoutMs, stallTimeoutMs } = policy.agents[run.action.role];
  const timeoutAt = run.startedAt + turnTimeoutMs;
  const stallAt = stallTimeoutMs > 0 ? run.lastProgressAt + stallTimeoutMs : Number.POSITIVE_INFINITY;
  if (now >= timeoutAt) return stop('timed_out', `the turn took longer than ${turnTimeoutMs} ms`);
  if (now >= stallAt) return stop('stalled', `no sign of progress for ${stallTimeoutMs} ms`);
  const { wallMs } = policy.budget;
  const spentAt = wallMs === null ? Number.POSITIVE_INFINITY : run.startedAt + wallMs - task.workedMs;
  return rest(
    `turn ${run.action.turn} of the ${run.action.role} is running`,
    Math.min(timeoutAt, stallAt, spentAt),
  );
}

/** One at a time, in the order they were made: none of them is passed over for a later one. */
function answerRequests(task: Task, facts: Facts, policy: Policy, now: number): Decision | null {
  const [asked] = facts.requests;
  if (!asked) return null;
  const { kind, by } = asked;
  const answer = (...events: NewEvent[]) => ({
    kind: 'act' as const,
    events,
    actions: [],
    consume: [asked.id],
  });
  if (kind === 'pause') {
    const paused = hold('operator_pause', `paused by ${by}`);
    if (task.state !== 'dispatched') return answer(paused);
    return answer(transition(task, 'queued', `paused by ${by}`), paused);
  }
  if (kind === 'resume' && task.hold) {
    const { account, reason } = task.hold;
    const released = account === undefined ? [] : [event('account_released', { account, by })];
    if (needsSlot(task)) return answer(...released, event('hold_set', { ...task.hold, until: 0 }));
    return answer(...released, event('hold_cleared', { reason, by }));
  }
  if (kind === 'approve' && task.spec?.status === 'proposed') {
    const over = task.hold?.reason === 'spec_proposed';
    return answer(
      event('spec_approved', { by }),
      ...(over ? [event('hold_cleared', { reason: 'spec_proposed', by })] : []),
    );
  }
  if (kind === 'approve' && task.state === 'awaiting_critic' && task.head) {
    // A request of an older version names no head.
    const head = asked.head ?? task.head.sha;
    if (head !== task.head.sha) return answer(event('approval_outdated', { by, head }));
    return { ...answer(), ...approve(task, facts, by, now) };
  }
  if (kind === 'wontfix' || kind === 'reopen') {
    const said = decideFinding(task, facts, policy, asked, now);
    if (said) return { ...answer(...said.events), findings: said.findings };
  }
  return answer();
}

/** Null when the hold is over and the task may go on within this same decision's state. */
function judgeHold(task: Task, held: Hold, facts: Facts, policy: Policy, now: number): Decision | null {
  if (isHeld(task, now)) {
    if (isMoot(task, held, facts, policy, now)) {
      // The schedule grants a slot only to a hold whose time has come, so a hold that a fact has ended says so too.
      if (needsSlot(task))
        return { kind: 'act', events: [event('hold_set', { ...held, until: now })], actions: [] };
    } else if (task.state === 'merging') return stepAside(task, held.detail);
    else return rest(held.detail, held.until);
  }
  if (needsSlot(task) && !facts.slot) return awaitGrant('its hold is over; waiting for a slot');
  const limits = needsSlot(task) ? { slots: policy.maxConcurrent } : {};
  return {
    kind: 'act',
    events: [event('hold_cleared', { reason: held.reason, by: 'loop' })],
    actions: [],
    limits,
  };
}

/** Holds that end by themselves when the fact they rest on has changed; a person's new head changes them all. */
function isMoot(task: Task, held: Hold, facts: Facts, policy: Policy, now: number): boolean {
  if (held.reason === 'operator_pause') return false;
  if (held.until === null && (personPushed(task, facts) || isNews(hear(task, facts.feedback, policy))))
    return true;
  switch (held.reason) {
    case 'protected_paths':
      return isProtectionMoot(task, facts);
    case 'secret_found':
      return secretsIn(task, facts).length === 0;
    case 'gate_empty':
      return policy.gate.commands === 'none' || policy.gate.commands.length > 0;
    case 'trunk_red':
      return !holdsFor(task.gate, task.head?.tree ?? '', gateDigest(policy.gate, task.contract));
    case 'critic_unusable':
      return approvedAtHead(task);
    case 'needs_approval':
      return approvedAtHead(task) || policy.critic.enabled || approvalFor(task, facts) !== null;
    case 'needs_merge':
      return policy.merge.enabled;
    case 'rules_unmet':
      return facts.feedback !== null && wantsOf(facts.feedback).length === 0;
    case 'merge_queued':
      return facts.pull?.state === 'open' && (facts.pull.queued === false || isEdited(task, facts));
    case 'dirty_checkout':
      return held.until === null && facts.mergeBlocker === null;
    case 'checks_pending':
      return hasNone('pending', task, facts, policy);
    case 'checks_red':
      return hasNone('red', task, facts, policy);
    case 'changes_requested':
      return (
        facts.feedback !== null && objections(facts.feedback.remarks, task.head?.sha ?? null).length === 0
      );
    case 'prompt_broken':
      return facts.promptChanged;
    case 'sandbox_unavailable':
      return facts.unconfined === null;
    case 'provider_limit':
      return held.account !== undefined && limitOf(facts.accountLimits, held.account, now) === null;
    case 'spec_proposed':
      return hasNewContract(task, facts);
    case 'body_edited':
      return (facts.issue !== null && !isEdited(task, facts)) || hasNewContract(task, facts);
    default:
      return false;
  }
}

/** A person approved this very head; or, before any critic judged it, decided to leave what the rules had found. */
function isProtectionMoot(task: Task, facts: Facts): boolean {
  if (approvalFor(task, facts) !== null) return true;
  if (approvedAtHead(task)) return isByPerson(task.verdict);
  return (task.inspected?.grave.length ?? 0) > 0 && graveOf(task, facts).length === 0;
}

/** Nobody's answer is no answer: what could not be asked has not changed. */
function hasNone(state: Check['state'], task: Task, facts: Facts, policy: Policy): boolean {
  const checks = requiredChecks(facts.feedback, task.head?.sha ?? null, policy);
  return checks?.every((check) => check.state !== state) ?? false;
}

/** The issue was edited and then made ready again in its new form. */
function hasNewContract(task: Task, facts: Facts): boolean {
  return isEdited(task, facts) && facts.issue?.readyHash === facts.issue?.textHash;
}

function acceptContract(task: Task, facts: Facts): Decision {
  const issue = facts.issue!;
  const contract = contractOf(issue);
  // A session that was told the old text needs the new one; a session yet to begin gets it with its first prompt.
  const text = `${oneLine(issue.title)}\n\n${fence('issue', issue.body)}`;
  const told =
    task.sessionId === null ? [] : [event('feedback_added', { feedback: { kind: 'contract', text } })];
  const back =
    task.state === 'merging'
      ? [transition(task, 'awaiting_critic', 'the issue was edited and made ready again')]
      : [];
  return { kind: 'act', events: [event('contract_updated', { contract }), ...told, ...back], actions: [] };
}

/** The first events and effects of a task: the row comes first, then the label is swapped. */
export function claimed(task: Task, policy: Policy): Action[] {
  if (task.issue === null) return [];
  return [
    {
      kind: 'label',
      issue: task.issue,
      add: [policy.labels.running],
      remove: [policy.labels.ready, policy.labels.needsReview, policy.labels.needsSpec],
    },
    { kind: 'tell_status', issue: task.issue },
  ];
}
