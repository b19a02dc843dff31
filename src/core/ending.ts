/** How a task ends whatever it is doing: merged by a person, given up, called off, paid out. */

import type { Action } from './action.ts';
import { act, approvedAtHead, type Decision, type Facts, graveOf, transition } from './decision.ts';
import { type Checkpoint, event, type NewEvent } from './event.ts';
import { hasLabel } from './line/schedule.ts';
import { untestedMerge } from './loop/loop-hold.ts';
import { REASONS, type Reason } from './machine.ts';
import { exhausted, spent } from './money/budget.ts';
import type { PlanProgress } from './plan/progress.ts';
import type { Policy } from './policy.ts';
import { type Task, testedTree } from './task.ts';
import { endedComment } from './words/comments.ts';
import { takenBackText, untestedText } from './words/words.ts';

type Ending =
  | { to: 'merged'; sha: string; why: string }
  | { to: 'completed'; why: string }
  | { to: 'abandoned'; reason: Reason; why: string };

/** What ends a task whatever it is doing. A person's merge comes first: "Fixes #n" has closed the issue by then. */
export function endingOf(task: Task, facts: Facts, policy: Policy, now: number): Ending | null {
  if (task.mergedSha) return { to: 'merged', sha: task.mergedSha, why: 'landed on trunk' };
  if (facts.pull?.state === 'merged') {
    const sha = facts.pull.mergedSha ?? '';
    if (task.inMergeQueue) return { to: 'merged', sha, why: "the forge's merge queue merged it" };
    const why = isOurs(task, facts.pull) ? 'landed on trunk' : 'a person merged it';
    return { to: 'merged', sha, why };
  }
  const asked = facts.requests.find((request) => request.kind === 'cancel' || request.kind === 'abandon');
  if (asked) {
    return {
      to: 'abandoned',
      reason: asked.kind === 'cancel' ? 'cancelled' : 'operator_abandon',
      why: `${asked.kind} requested by ${asked.by}`,
    };
  }
  if (task.issue !== null) {
    const { labels } = policy;
    if (!facts.issue || facts.issue.state === 'closed') return abandon('issue_closed');
    if (hasLabel(facts.issue.labels, labels.abandon))
      return abandon('operator_abandon', `labelled ${labels.abandon}`);
    const active = hasLabel(facts.issue.labels, labels.running) || hasLabel(facts.issue.labels, labels.ready);
    if (!active)
      return abandon('label_withdrawn', `neither ${labels.running} nor ${labels.ready} is on the issue`);
  }
  if (facts.pull?.state === 'closed') return abandon('pull_closed');
  if (task.pull !== null && task.published !== null && facts.branch === null)
    return abandon('branch_deleted');
  if (task.unrecoverable !== null) return abandon('crash_recovery_failed', task.unrecoverable);
  const { inFlight } = facts;
  const inFlightMs = inFlight?.action.kind === 'turn' ? now - inFlight.startedAt : 0;
  const over = exhausted(spent(task, facts.spend, inFlightMs), policy.budget);
  const paidFor = task.state === 'merging' || (task.state === 'awaiting_critic' && approvedAtHead(task));
  if (over && !paidFor) return abandon('budget_exhausted', over);
  return null;
}

/** Landed by us, though the answer was lost, or by the queue we put it into. */
const isOurs = (task: Task, { mergedSha, mergedTree }: NonNullable<Facts['pull']>): boolean =>
  (mergedSha !== null && task.landing?.candidate.sha === mergedSha) ||
  Boolean(task.inMergeQueue) ||
  (Boolean(mergedTree) && treeHandedOver(task) !== null);

/**
 * The tested tree that the forge has, or was about to be asked, to land. A forge that makes its own commit may have
 * landed another: somebody pushed in between, and the answer that says so may be lost.
 */
export function treeHandedOver({ inMergeQueue, state, landing }: Task): string | null {
  if (inMergeQueue) return inMergeQueue.tree;
  if (state !== 'merging' || landing?.gate?.outcome !== 'pass') return null;
  return landing.gate.tree === testedTree(landing) ? landing.candidate.tree : null;
}

/** What landed, where that is not what was tested here. */
function untestedIn(task: Task, { pull }: Facts): { sha: string; tree: string; why: string } | null {
  const { mergedSha: sha, mergedTree: tree } = pull ?? {};
  const tested = treeHandedOver(task);
  if (tested === null || !sha || !tree || tree === tested) return null;
  return { sha, tree, why: untestedText(sha, tested) };
}

export const abandon = (reason: Reason, why: string = REASONS[reason].says): Ending => ({
  to: 'abandoned',
  reason,
  why,
});

/** The plan is done: nothing that goes wrong after it changes what came of it. A pull request is still to be made. */
function afterPlan({ state, plan }: Task, end: Ending): Ending {
  const isDone = state === 'running' && plan?.phase === 'post_action' && plan.delivers === 'branch';
  if (!isDone || end.to !== 'abandoned' || REASONS[end.reason].outcome !== 'failure') return end;
  return { to: 'completed', why: `the plan is done; its post action was stopped: ${end.why}` };
}

/**
 * What was audited, where a post action was stopped before all that it left was verified: the branch is delivered as that.
 * Null where there is nothing to take back.
 */
function auditedInstead(task: Task, end: Ending, facts: Facts): Checkpoint | null {
  const { plan, head, gate, inspected } = task;
  if (end.to !== 'completed' || plan?.phase !== 'post_action' || plan.delivers !== 'branch') return null;
  const { audited } = plan;
  const isVerified =
    head !== null &&
    (head.tree === audited?.tree ||
      (gate?.outcome === 'pass' &&
        gate.tree === head.tree &&
        inspected?.headSha === head.sha &&
        graveOf(task, facts).length === 0));
  return isVerified ? null : (audited ?? null);
}

export const takenBack = ({ sha }: Checkpoint, why: string): NewEvent =>
  event('post_action_ended', { summary: null, problem: takenBackText(sha, why), takenBack: true });

export const adopt = ({ sha }: Checkpoint): Action => ({ kind: 'adopt_head', sha });

export function finish(task: Task, wanted: Ending, facts: Facts, policy: Policy, now: number): Decision {
  const end = afterPlan(task, wanted);
  const isNews = end.to === 'merged' && task.mergedSha === null;
  const by = facts.pull && isOurs(task, facts.pull) ? 'loop' : 'person';
  const observed = isNews ? [event('merge_observed', { sha: end.sha, by })] : [];
  const reason = end.to === 'abandoned' ? end.reason : null;
  const untested = isNews ? untestedIn(task, facts) : null;
  const ended: Task = {
    ...task,
    unverified: untested ?? task.unverified,
    state: end.to,
    reason,
    mergedSha: end.to === 'merged' ? end.sha : null,
    endedAt: now,
  };
  const audited = auditedInstead(task, end, facts);
  const events = [
    ...observed,
    ...(audited ? [takenBack(audited, task.refused ?? end.why)] : []),
    ...(untested ? [event('trunk_unverified', untested)] : []),
    ...(task.inMergeQueue && end.to === 'abandoned' ? [event('queue_left', {})] : []),
    ...(task.plan && end.to === 'completed' ? [delivered(task.plan)] : []),
    transition(task, end.to, end.why, reason),
  ];
  return {
    ...act(events, [...(audited ? [adopt(audited)] : []), ...endingActions(ended, end.why, facts, policy)]),
    consume: facts.requests.map((request) => request.id),
  };
}

/** The end of a plan's phases. */
export const delivered = ({ milestone }: PlanProgress): NewEvent =>
  event('phase_entered', { phase: 'delivered', milestone, isFresh: false });

function endingActions(task: Task, why: string, facts: Facts, policy: Policy): Action[] {
  const { labels } = policy;
  const actions: Action[] = [];
  const { unverified } = task;
  if (task.state === 'abandoned') actions.push(...outOfQueue(task));
  // Nothing more is built on what nobody tested.
  if (unverified) actions.push({ kind: 'hold_loop', hold: untestedMerge(task.id, unverified) });
  if (task.issue !== null && facts.issue) {
    const add = task.state === 'merged' ? [labels.merged] : labelsForReason(task.reason, labels);
    actions.push({ kind: 'label', issue: task.issue, add, remove: [labels.running, labels.ready] });
    // A merge is told by the living comment, and the closing calls people; only what wants a person calls for one.
    if (task.state !== 'abandoned') actions.push({ kind: 'close_issue', issue: task.issue });
    else {
      const marker = `${task.id}:ended:${task.endedAt}`;
      actions.push({ kind: 'comment', issue: task.issue, marker, body: endedComment(task, why) });
    }
  }
  if (unverified)
    actions.push({ kind: 'gate', scope: 'trunk', tree: unverified.tree, commit: unverified.sha });
  if (task.state === 'merged' && policy.hooks.afterMerge !== null)
    actions.push({ kind: 'hook', name: 'after_merge', sha: task.mergedSha || null });
  if (task.state === 'merged') actions.push({ kind: 'reap_workspace' }, { kind: 'delete_branch' });
  else if (task.workspace)
    actions.push({ kind: task.state === 'completed' ? 'reap_workspace' : 'preserve_workspace' });
  if (task.state === 'completed' && task.plan?.mode === 'here') actions.push({ kind: 'switch_checkout' });
  return actions;
}

/** What is not to be merged must not wait where it is merged by itself. */
export const outOfQueue = ({ inMergeQueue, pull }: Task): Action[] =>
  inMergeQueue && pull !== null ? [{ kind: 'leave_queue', pull }] : [];

/** A failure asks for a person; a neutral end or an operator's own decision does not. */
function labelsForReason(reason: Reason | null, labels: Policy['labels']): string[] {
  if (!reason || REASONS[reason].outcome !== 'failure') return [];
  if (reason === 'spec_rejected') return [labels.needsSpec];
  return [reason === 'critic_blocked' ? labels.blocked : labels.needsReview];
}
