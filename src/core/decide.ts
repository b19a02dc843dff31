/**
 * What follows for one task from what is known about it.
 *
 * Pure, level-triggered and total: it looks at the row and the facts, never at what woke it. It answers with events
 * and actions to write down, with "stop the run in flight", or with a rest and the reason for it.
 */

import type { Action } from './action.ts';
import { approve } from './approval.ts';
import { decideFinding } from './change/finding-decision.ts';
import { contractAndPlan } from './claim.ts';
import {
  type Act,
  ATTACHED,
  act,
  awaitGrant,
  type Decision,
  type Facts,
  hasNewContract,
  hold,
  isDisproved,
  OUT_OF_BUDGET,
  rest,
  slotLimit,
  slotWords,
  stepAside,
  stop,
  transition,
} from './decision.ts';
import { endingOf, finish, treeHandedOver } from './ending.ts';
import { event, type Hold, type NewEvent } from './event.ts';
import { isEndedByWord, isOver, withSettings } from './hold.ts';
import { holdEdited, judge, merge, whyVoid } from './judge.ts';
import { backoffMs, isHeld } from './line/schedule.ts';
import { accountOf, limitOf, outageOf } from './money/account.ts';
import { REPEATING } from './outcome.ts';
import { policyFor } from './plan/limits.ts';
import type { Policy } from './policy.ts';
import { isOutOfTurns } from './request.ts';
import { isBeforeWork, isEnded, needsSlot, type Task } from './task.ts';
import { isInTool } from './tool-watch.ts';
import { toldText } from './words/feedback-text.ts';
import { fence, oneLine } from './words/fence.ts';
import { lasting, repeatedText, silentText } from './words/words.ts';
import { dispatch, prepare, work } from './work.ts';

export function decide(task: Task, facts: Facts, settings: Policy, now: number): Decision {
  const policy = policyFor(task, settings);
  const decision = decideWithin(task, facts, policy, now);
  if (decision.kind !== 'act') return decision;
  return { ...decision, events: decision.events.map((one) => withSettings(one, policy)) };
}

/** Within what all tasks together and its provider's account may spend. */
function decideWithin(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  const decision = decideByState(task, facts, policy, now);
  // What costs nothing goes on: a gate, a push, a merge that was paid for.
  if (decision.kind !== 'act' || !costs(decision.actions)) return decision;
  if (facts.loopLimit) {
    const { why, until } = facts.loopLimit;
    if (task.state === 'merging') return stepAside(task, why);
    return { kind: 'rest', why, until, for: 'budget' };
  }
  if (facts.untried) {
    if (task.state === 'merging') return stepAside(task, facts.untried);
    return { kind: 'rest', why: facts.untried, until: null, for: 'gate' };
  }
  return waitForAccount(task, decision, facts, policy, now);
}

/** It starts a turn, or takes a slot for one. */
const costs = (actions: readonly Action[]): boolean =>
  actions.some(({ kind }) => kind === 'turn' || kind === 'prepare_workspace');

/** A turn of an account that is used up waits for its reset; where that would keep a slot from others, held. */
function waitForAccount(task: Task, decision: Act, facts: Facts, policy: Policy, now: number): Decision {
  const turn = decision.actions.find((action) => action.kind === 'turn');
  const account = accountOf(policy.agents[turn?.role ?? 'coder']);
  const limit = limitOf(facts.accountLimits, account, now);
  if (!limit) return turn ? { ...asTry(decision, account, facts), account } : decision;
  const why = `${account}: ${limit.why}`;
  if (task.state === 'merging') return stepAside(task, why);
  const until = limit.blocked ? null : limit.until;
  // Who waits for a person is held, so that they are told.
  if (task.state === 'awaiting_critic' && until !== null) return rest(`waiting for ${why}`, until);
  const held = event('hold_set', {
    reason: 'provider_limit',
    detail: why,
    until,
    account,
    ...((limit.outage || limit.blocked) && { outage: true }),
  });
  const back = task.state === 'dispatched' ? [transition(task, 'queued', why)] : [];
  return act([...back, held]);
}

/** The one turn that tries an account again. The commit that starts it keeps the others waiting. */
function asTry(decision: Act, account: string, { accountLimits }: Facts): Act {
  if (!outageOf(accountLimits, account)) return decision;
  const events = decision.events.map((one) =>
    one.type === 'turn_started' ? event('turn_started', { ...one.data, triesAccount: account }) : one,
  );
  return { ...decision, events };
}

function decideByState(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (isEnded(task)) return rest(task.why);
  const end = endingOf(task, facts, policy, now);
  if (facts.inFlight) {
    const why = end?.why ?? facts.unconfined;
    if (why) return stop('cancelled', why);
    const wanted = facts.requests.find(({ kind }) => kind === 'attach_now');
    if (wanted && facts.inFlight.action.kind !== 'hook')
      return stop('interrupted', `stopped for ${wanted.by}, who attaches to it`, ATTACHED);
    return supervise(task, facts, facts.inFlight, policy, now);
  }
  if (end) return finish(task, end, facts, policy, now);
  const queued = foundInQueue(task, facts);
  if (queued) return queued;
  if (facts.stuck) {
    if (task.state !== 'merging') return rest(facts.stuck);
    // What it waits for already is not forgotten for this.
    if (task.hold) return stepAside(task, facts.stuck);
    const until = now + backoffMs(task.streaks.unanswered + 1, facts.jitter, policy.maxBackoffMs);
    return stepAside(
      task,
      facts.stuck,
      event('landing_unanswered', { why: facts.stuck }),
      hold('retry_backoff', facts.stuck, until),
    );
  }

  const asked = answerRequests(task, facts, policy, now);
  if (asked) return asked;
  if (task.hold) {
    const held = judgeHold(task, task.hold, facts, policy, now);
    if (held) return held;
  }
  if (facts.paused) return rest(facts.paused);
  if (facts.unconfined) return act([hold('sandbox_unavailable', facts.unconfined)]);
  if (facts.unfiltered !== null && isBeforeWork(task)) return refuseFilters(task, facts.unfiltered);
  if (facts.issue && hasNewContract(task, facts)) return acceptContract(task, facts.issue);
  if (isBeforeWork(task) && task.turns === 0) {
    if (facts.issue?.unproved) return rest(facts.issue.unproved.why, facts.issue.unproved.until);
    if (isDisproved(task, facts)) return refuseText(task, facts, policy);
  }

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

/** Its files would be read and written wrongly, so nothing is spent on it. */
function refuseFilters(task: Task, why: string): Decision {
  const back = task.state === 'dispatched' ? [transition(task, 'queued', why)] : [];
  return act([...back, hold('filter_unsupported', why)]);
}

/** Nobody agreed to what it would work to. */
function refuseText(task: Task, facts: Facts, policy: Policy): Decision {
  const why = 'the issue was edited after it was made ready';
  return holdEdited(
    task,
    facts,
    policy,
    task.state === 'dispatched' ? [transition(task, 'queued', why)] : [],
  );
}

/** The forge has it in its merge queue, and its answer that says so was lost. */
function foundInQueue(task: Task, { pull }: Facts): Decision | null {
  const tree = task.inMergeQueue ? null : treeHandedOver(task);
  if (!pull?.inMergeQueue || tree === null) return null;
  const detail = 'it is in the merge queue';
  return act([
    event('merge_queued', { tree }),
    event('candidate_dropped', { why: detail }),
    hold('merge_queued', detail),
  ]);
}

function supervise(
  task: Task,
  facts: Facts,
  run: NonNullable<Facts['inFlight']>,
  policy: Policy,
  now: number,
): Decision {
  const { loopLimit } = facts;
  const stale = run.action.kind === 'gate' && whyVoid(task, run.action, facts);
  if (stale) return stop('cancelled', stale);
  if (run.action.kind !== 'turn')
    return rest(run.action.kind === 'gate' ? 'the gate is running' : `${run.action.name} is running`);
  if (loopLimit) return stop('interrupted', loopLimit.why, OUT_OF_BUDGET);
  const { turnTimeoutMs, stallTimeoutMs, toolTimeoutMs, repeatedCalls } = policy.agents[run.action.role];
  const { tools } = run;
  const timeoutAt = run.startedAt + turnTimeoutMs;
  const silenceMs = isInTool(tools) ? toolTimeoutMs : stallTimeoutMs;
  const stallAt = silenceMs > 0 ? run.lastProgressAt + silenceMs : Number.POSITIVE_INFINITY;
  if (now >= timeoutAt) return stop('timed_out', `the turn took longer than ${lasting(turnTimeoutMs)}`);
  if (now >= stallAt) return stop('stalled', silentText(silenceMs, isInTool(tools)));
  if (tools.row && repeatedCalls > 0 && tools.row.times > repeatedCalls)
    return stop('stalled', repeatedText(tools.row), REPEATING);
  const { wallMs } = policy.budget;
  const spentAt = wallMs === null ? Number.POSITIVE_INFINITY : run.startedAt + wallMs - task.workedMs;
  return rest(
    `turn ${run.action.turn} of the ${run.action.role} is running`,
    Math.min(timeoutAt, stallAt, spentAt),
  );
}

/** One at a time, in the order they were made. Only a pause that was taken back meanwhile is passed over. */
function answerRequests(task: Task, facts: Facts, policy: Policy, now: number): Decision | null {
  const [asked] = facts.requests;
  if (!asked) return null;
  const { kind, by } = asked;
  const answer = (...events: NewEvent[]): Act => ({ ...act(events), consume: [asked.id] });
  if (kind === 'pause') {
    if (facts.requests.some((later) => later.kind === 'resume')) return answer();
    const paused = hold('operator_pause', `paused by ${by}`);
    if (task.state !== 'dispatched') return answer(paused);
    return answer(transition(task, 'queued', `paused by ${by}`), paused);
  }
  if (kind === 'resume' && task.hold) {
    const { account, reason } = task.hold;
    const released = account === undefined ? [] : [event('account_released', { account, by })];
    if (needsSlot(task)) return answer(...released, event('hold_released', { by }));
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
    return { ...answer(), ...approve(task, task.head, facts, by, now) };
  }
  if (kind === 'tell' && asked.why) {
    if (isOutOfTurns(task, policy)) return answer(event('tell_unheard', { by, text: asked.why }));
    const feedback = { kind: 'review', id: `tell:${asked.id}`, text: toldText(by, asked.why) } as const;
    return answer(event('feedback_added', { feedback }), ...heard(task));
  }
  if (['wontfix', 'reopen', 'write', 'resolve'].includes(kind)) {
    const said = decideFinding(task, facts, policy, asked, now);
    const more = kind === 'write' ? heard(task) : [];
    if (said) return { ...answer(...said.events, ...more), findings: said.findings };
  }
  return answer();
}

/** What a person says about the work ends a wait for people, as a remark on its pull request does; it approves nothing. */
function heard(task: Task): NewEvent[] {
  const { hold: held } = task;
  if (!held || !isEndedByWord(task, held)) return [];
  return needsSlot(task)
    ? [event('hold_released', { by: 'loop' })]
    : [event('hold_cleared', { reason: held.reason, by: 'loop' })];
}

/** Null when the hold is over and the task may go on within this same decision's state. */
function judgeHold(task: Task, held: Hold, facts: Facts, policy: Policy, now: number): Decision | null {
  if (isHeld(task, now)) {
    if (isOver({ task, held, facts, policy, now })) {
      // The schedule grants a slot only to a hold whose time has come, so one that a fact has ended says so first.
      if (needsSlot(task)) return act([event('hold_released', { by: 'loop' })]);
    } else if (task.state === 'merging') return stepAside(task, held.detail);
    else return rest(held.detail, held.until);
  }
  if (needsSlot(task) && !facts.slot) return awaitGrant('slot', `its hold is over; ${slotWords(task)}`);
  const limits = needsSlot(task) ? { slots: slotLimit(task, policy) } : {};
  return { ...act([event('hold_cleared', { reason: held.reason, by: 'loop' })]), limits };
}

/** A plan that was begun keeps the milestones it was cut into: the coder is told the new text, the critic judges by it. */
function acceptContract(task: Task, issue: NonNullable<Facts['issue']>): Decision {
  const { contract, plan } = contractAndPlan({ ...issue, number: task.issue ?? 0 }, task.slug);
  const isBegun = task.sessionIds.length > 0;
  // A session that was told the old text needs the new one; a session yet to begin gets it with its first prompt.
  const text = `${oneLine(issue.title)}\n\n${fence('issue', issue.body)}`;
  const told =
    task.roles.coder.session === null
      ? []
      : [event('feedback_added', { feedback: { kind: 'contract', text } })];
  const back =
    task.state === 'merging'
      ? [transition(task, 'awaiting_critic', 'the issue was edited and marked ready again')]
      : [];
  const anew = task.plan && plan && !isBegun ? { plan } : {};
  const kept = task.plan ? { ...contract, criteria: [] } : contract;
  return act([event('contract_updated', { contract: kept, ...anew }), ...told, ...back]);
}
