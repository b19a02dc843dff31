/**
 * What follows for one task from what is known about it.
 *
 * Pure, level-triggered and total: it looks at the row and the facts, never at what woke it. It answers with events
 * and actions to write down, with "stop the run in flight", or with a rest and the reason for it.
 */
import type { Action, Run } from './action.ts';
import { exhausted, spent } from './budget.ts';
import { protectedAmong } from './danger.ts';
import {
  type Checkpoint,
  event,
  type Hold,
  type HoldReason,
  type NewEvent,
  type PromptKind,
  type TurnStatus,
} from './event.ts';
import { type Finding, isStuck } from './findings.ts';
import { REASONS, type Reason, type State } from './machine.ts';
import { mergeGate } from './merge.ts';
import type { Policy } from './policy.ts';
import { fence, gateFailureText, oneLine } from './prompts.ts';
import { backoffMs, hasLabel, isHeld } from './schedule.ts';
import { isEnded, needsSlot, type Task } from './task.ts';
import { claimedComment, endedComment } from './words.ts';

export interface Facts {
  /** Null when the issue is gone altogether. */
  issue: {
    state: 'open' | 'closed';
    title: string;
    body: string;
    bodyHash: string;
    labels: readonly string[];
    readyHash: string | null;
  } | null;
  pull: {
    state: 'open' | 'closed' | 'merged';
    mergedSha: string | null;
    approvals: readonly { headSha: string; by: string }[];
  } | null;
  /** The published branch; null when it does not exist. */
  branch: Checkpoint | null;
  spend: { costUsd: number; tokens: number };
  openFindings: readonly Finding[];
  requests: readonly { id: number; kind: string; by: string }[];
  /** What the schedule grants this task now. */
  slot: boolean;
  criticSlot: boolean;
  mergeFree: boolean;
  /** What the candidate would bring to trunk; empty until one is built. */
  change: { files: readonly string[]; secrets: readonly string[] };
  /** Why a merge could not land now, such as a dirty checkout. */
  mergeBlocker: string | null;
  /** No new run may start: the loop is paused or draining. */
  paused: string | null;
  /** An effect that can't be performed now; until it can, only an ending is decided. */
  stuck: string | null;
  /** The run at work, or about to be started. */
  inFlight: { action: Run; startedAt: number; lastProgressAt: number } | null;
  /** Randomness, passed in. */
  newSessionId: string;
  jitter: number;
}

export type Decision =
  /** `for` says what ends the rest: a grant of the schedule, a time, or a changed fact. */
  | { kind: 'rest'; why: string; until: number | null; for: 'grant' | 'time' | 'fact' }
  | { kind: 'stop'; status: Extract<TurnStatus, 'cancelled' | 'stalled' | 'timed_out'>; why: string }
  | {
      kind: 'act';
      events: NewEvent[];
      actions: Action[];
      limits?: { slots?: number; critics?: number; merging?: number };
      consume?: number[];
    };

export const MAX_INTERRUPTED = 3;
export const MAX_FAILED = 3;
export const MAX_STALLED = 5;
export const MAX_WORKSPACE_FAILURES = 3;
export const MAX_CRITIC_BACKOFFS = 5;

export function decide(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (isEnded(task)) return rest(task.why);
  const end = endingOf(task, facts, policy, now);
  if (facts.inFlight) return end ? stop('cancelled', end.why) : supervise(task, facts.inFlight, policy, now);
  if (end) return finish(task, end, facts, policy, now);
  if (facts.stuck) {
    if (task.state !== 'merging') return rest(facts.stuck);
    return stepAside(task, facts.stuck, hold('retry_backoff', facts.stuck, now + backoffMs(1, facts.jitter)));
  }

  const asked = answerRequests(task, facts);
  if (asked) return asked;
  if (task.hold) {
    const held = judgeHold(task, task.hold, facts, policy, now);
    if (held) return held;
  }
  if (facts.paused) return rest(facts.paused);
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

// --- endings -------------------------------------------------------------------------------------------------------

type Ending = { to: 'merged'; sha: string; why: string } | { to: 'abandoned'; reason: Reason; why: string };

/** What ends a task whatever it is doing. A person's merge comes first: "Fixes #n" has closed the issue by then. */
function endingOf(task: Task, facts: Facts, policy: Policy, now: number): Ending | null {
  if (task.mergedSha) return { to: 'merged', sha: task.mergedSha, why: 'its candidate is on trunk' };
  if (facts.pull?.state === 'merged') {
    const sha = facts.pull.mergedSha ?? '';
    return { to: 'merged', sha, why: isOurs(task, sha) ? 'its candidate is on trunk' : 'a person merged it' };
  }
  const asked = facts.requests.find((request) => request.kind === 'cancel' || request.kind === 'abandon');
  if (asked) {
    return {
      to: 'abandoned',
      reason: asked.kind === 'cancel' ? 'cancelled' : 'operator_abandon',
      why: `${asked.kind} asked by ${asked.by}`,
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
  if (task.pull !== null && task.pushedSha !== null && facts.branch === null)
    return abandon('branch_deleted');
  if (task.unrecoverable !== null) return abandon('crash_recovery_failed', task.unrecoverable);
  const { inFlight } = facts;
  const inFlightMs = inFlight?.action.kind === 'turn' ? now - inFlight.startedAt : 0;
  const over = exhausted(spent(task, facts.spend, inFlightMs), policy.budget);
  const paidFor = task.state === 'merging' || (task.state === 'awaiting_critic' && approvedAtHead(task));
  if (over && !paidFor) return abandon('budget_exhausted', over);
  return null;
}

/** Landed by us, though the answer was lost. */
const isOurs = (task: Task, sha: string): boolean => task.candidate !== null && task.candidate.sha === sha;

const abandon = (reason: Reason, why: string = REASONS[reason].says): Ending => ({
  to: 'abandoned',
  reason,
  why,
});

function finish(task: Task, end: Ending, facts: Facts, policy: Policy, now: number): Decision {
  const isNews = end.to === 'merged' && task.mergedSha === null;
  const by = end.to === 'merged' && isOurs(task, end.sha) ? 'loop' : 'person';
  const observed = isNews ? [event('merge_observed', { sha: end.sha, by })] : [];
  const reason = end.to === 'abandoned' ? end.reason : null;
  const ended: Task = {
    ...task,
    state: end.to,
    reason,
    mergedSha: end.to === 'merged' ? end.sha : null,
    endedAt: now,
  };
  return {
    kind: 'act',
    events: [...observed, transition(task, end.to, end.why, reason)],
    actions: endingActions(ended, end.why, facts, policy),
    consume: facts.requests.map((request) => request.id),
  };
}

function endingActions(task: Task, why: string, facts: Facts, policy: Policy): Action[] {
  const { labels } = policy;
  const actions: Action[] = [];
  if (task.issue !== null && facts.issue) {
    const add = task.state === 'merged' ? [labels.merged] : labelsForReason(task.reason, labels);
    const marker = `${task.id}:ended:${task.endedAt}`;
    actions.push(
      { kind: 'label', issue: task.issue, add, remove: [labels.running, labels.ready] },
      { kind: 'comment', issue: task.issue, marker, body: endedComment(task, why) },
    );
    if (task.state === 'merged') actions.push({ kind: 'close_issue', issue: task.issue });
  }
  if (task.state === 'merged') actions.push({ kind: 'reap_workspace' }, { kind: 'delete_branch' });
  else if (task.workspace) actions.push({ kind: 'preserve_workspace' });
  return actions;
}

/** A failure asks for a person; a neutral end or an operator's own decision does not. */
function labelsForReason(reason: Reason | null, labels: Policy['labels']): string[] {
  if (!reason || REASONS[reason].outcome !== 'failure') return [];
  if (reason === 'spec_rejected') return [labels.needsSpec];
  return [reason === 'critic_blocked' ? labels.blocked : labels.needsReview];
}

// --- while a run is at work ----------------------------------------------------------------------------------------

function supervise(task: Task, run: NonNullable<Facts['inFlight']>, policy: Policy, now: number): Decision {
  if (run.action.kind !== 'turn') return rest('the gate is running');
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

// --- requests and holds --------------------------------------------------------------------------------------------

/** One at a time, in the order they were made: none of them is passed over for a later one. */
function answerRequests(task: Task, facts: Facts): Decision | null {
  const [asked] = facts.requests;
  if (!asked) return null;
  const { kind, by } = asked;
  const answer = (...events: NewEvent[]): Decision => ({
    kind: 'act',
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
    if (needsSlot(task)) return answer(event('hold_set', { ...task.hold, until: 0 }));
    return answer(event('hold_cleared', { reason: task.hold.reason, by }));
  }
  if (kind === 'approve' && task.state === 'awaiting_critic' && task.head)
    return answer(approval(task, task.head.sha, by));
  return answer();
}

const approval = (task: Task, headSha: string, by: string): NewEvent =>
  event('verdict_recorded', { headSha, verdict: 'APPROVE', by, round: task.criticRounds, blocking: [] });

/** Null when the hold is over and the task may go on within this same decision's state. */
function judgeHold(task: Task, held: Hold, facts: Facts, policy: Policy, now: number): Decision | null {
  if (isHeld(task, now)) {
    if (isMoot(task, held, facts, policy)) {
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
function isMoot(task: Task, held: Hold, facts: Facts, policy: Policy): boolean {
  if (held.reason === 'operator_pause') return false;
  if (held.until === null && personPushed(task, facts)) return true;
  switch (held.reason) {
    case 'protected_paths':
      return approvedAtHead(task) && task.verdict?.by !== 'critic';
    case 'gate_empty':
      return policy.gate.commands === 'none' || policy.gate.commands.length > 0;
    case 'critic_unusable':
      return approvedAtHead(task);
    case 'needs_approval':
      return approvedAtHead(task) || policy.critic.enabled || approvalFor(task, facts) !== null;
    case 'needs_merge':
      return policy.merge.enabled;
    case 'dirty_checkout':
      return facts.mergeBlocker === null;
    case 'body_edited':
      return facts.issue?.bodyHash === task.contract.hash || hasNewContract(task, facts);
    default:
      return false;
  }
}

const personPushed = (task: Task, facts: Facts): boolean =>
  task.state === 'awaiting_critic' && facts.branch !== null && facts.branch.sha !== task.pushedSha;

const approvedAtHead = (task: Task): boolean =>
  task.verdict?.verdict === 'APPROVE' && task.verdict.headSha === task.head?.sha;

// --- the contract --------------------------------------------------------------------------------------------------

/** The issue was edited and then made ready again in its new form. */
function hasNewContract(task: Task, facts: Facts): boolean {
  const { issue } = facts;
  return issue !== null && issue.bodyHash !== task.contract.hash && issue.readyHash === issue.bodyHash;
}

function acceptContract(task: Task, facts: Facts): Decision {
  const issue = facts.issue!;
  const contract = { title: issue.title, body: issue.body, hash: issue.bodyHash };
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

// --- queued, dispatched --------------------------------------------------------------------------------------------

function dispatch(task: Task, facts: Facts, policy: Policy): Decision {
  if (!facts.slot) return awaitGrant('waiting for a slot');
  return {
    kind: 'act',
    events: [transition(task, 'dispatched', 'a slot was granted')],
    actions: [{ kind: 'prepare_workspace' }],
    limits: { slots: policy.maxConcurrent },
  };
}

function prepare(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (task.workspace && task.baseSha && task.streaks.workspace === 0) {
    const ready = transition(task, 'running', 'its workspace is ready');
    return startTurn(task, facts, policy, [ready], redGate(task));
  }
  const { workspace: failures } = task.streaks;
  if (failures >= MAX_WORKSPACE_FAILURES)
    return finish(task, abandon('workspace_failed'), facts, policy, now);
  if (failures === 0) return { kind: 'act', events: [], actions: [{ kind: 'prepare_workspace' }] };
  const until = now + backoffMs(failures, facts.jitter);
  return {
    kind: 'act',
    events: [
      transition(task, 'queued', 'its workspace could not be prepared'),
      hold('retry_backoff', 'preparing its workspace failed', until),
    ],
    actions: [],
  };
}

// --- running, revising ---------------------------------------------------------------------------------------------

/** After a turn: save, judge how it ended, verify, publish. */
function work(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  const last = task.lastTurn;
  if (task.refused !== null) return afterRefusal(task, task.refused, facts, policy, now);
  if (task.head === null) return { kind: 'act', events: [], actions: [{ kind: 'checkpoint' }] };
  if (last && last.status !== 'finished') return afterBrokenTurn(task, last, facts, policy, now);
  if (task.mergeInto !== null)
    return { kind: 'act', events: [], actions: [{ kind: 'merge_in', sha: task.mergeInto }] };
  if (task.feedback.length > 0) return nextTurn(task, facts, policy, now, 'There is feedback to work in.');
  if (task.empty)
    return nextTurn(task, facts, policy, now, 'Nothing was changed: the work tree is the same as trunk.');
  if (
    task.state === 'revising' &&
    task.verdict?.verdict === 'REQUEST_CHANGES' &&
    task.verdict.headSha === task.head.sha
  ) {
    return nextTurn(task, facts, policy, now, 'Nothing was changed since the review that asked for changes.');
  }

  const verified = verify(task, policy);
  if (verified) return verified;
  const gate = task.gate!;
  if (gate.outcome === 'could_not_run')
    return { kind: 'act', events: [hold('gate_could_not_run', couldNotRun(gate))], actions: [] };
  if (gate.outcome === 'fail') return nextTurn(task, facts, policy, now, gateFailureText(gate));
  return publish(task, task.head);
}

/** The gate on the current head, unless its tree is already judged. */
function verify(task: Task, policy: Policy): Decision | null {
  const head = task.head!;
  if (isGateEmpty(policy)) return { kind: 'act', events: [gateEmpty()], actions: [] };
  if (task.gate?.tree === head.tree) return null;
  return {
    kind: 'act',
    events: [],
    actions: [{ kind: 'gate', scope: 'work', tree: head.tree, commit: head.sha }],
  };
}

const isGateEmpty = (policy: Policy): boolean =>
  policy.gate.commands !== 'none' && policy.gate.commands.length === 0;

const gateEmpty = (): NewEvent => hold('gate_empty', 'no gate.commands are configured');

function publish(task: Task, head: Checkpoint): Decision {
  const actions: Action[] = [];
  if (task.pushedSha !== head.sha) actions.push({ kind: 'push', sha: head.sha, expected: task.pushedSha });
  if (task.pull === null) actions.push({ kind: 'ensure_pull', headSha: head.sha });
  if (actions.length > 0) return { kind: 'act', events: [], actions };
  return {
    kind: 'act',
    events: [transition(task, 'awaiting_critic', 'verified and published')],
    actions: [],
  };
}

function nextTurn(task: Task, facts: Facts, policy: Policy, now: number, priorFailure: string): Decision {
  if (task.turns >= policy.maxTurns) {
    return finish(
      task,
      abandon(
        'max_turns_reached',
        `${task.turns} of ${policy.maxTurns} turns used. ${priorFailure}`.slice(0, 4000),
      ),
      facts,
      policy,
      now,
    );
  }
  if (task.streaks.idle >= policy.idleTurns) {
    return finish(
      task,
      abandon('no_progress', `${task.streaks.idle} turns in a row changed nothing. ${priorFailure}`),
      facts,
      policy,
      now,
    );
  }
  return startTurn(task, facts, policy, [], priorFailure);
}

function afterRefusal(task: Task, problem: string, facts: Facts, policy: Policy, now: number): Decision {
  if (task.streaks.workspace >= MAX_WORKSPACE_FAILURES) {
    return finish(task, abandon('workspace_failed', problem), facts, policy, now);
  }
  return nextTurn(task, facts, policy, now, `Your work tree could not be saved: ${problem}`);
}

function afterBrokenTurn(
  task: Task,
  last: NonNullable<Task['lastTurn']>,
  facts: Facts,
  policy: Policy,
  now: number,
): Decision {
  const { streaks } = task;
  if (last.code === 'session_lost') {
    if (policy.recovery.onLostSession === 'fresh_session')
      return nextTurn(task, facts, policy, now, stillOpen(task, last));
    return finish(task, abandon('crash_recovery_failed', 'the session is lost'), facts, policy, now);
  }
  if (last.code === 'workspace_refused')
    return finish(task, abandon('workspace_failed', last.message), facts, policy, now);
  if (last.code === 'sandbox_failed')
    return finish(task, abandon('sandbox_failed', last.message), facts, policy, now);
  if (streaks.interrupted >= MAX_INTERRUPTED) {
    return finish(
      task,
      abandon('crash_recovery_failed', `${streaks.interrupted} turns in a row were interrupted`),
      facts,
      policy,
      now,
    );
  }
  if (streaks.failed >= MAX_FAILED) {
    const reason = last.code === 'usage_limit' ? 'provider_limit' : 'error_max_retries';
    return finish(task, abandon(reason, last.message), facts, policy, now);
  }
  if (streaks.stalled >= MAX_STALLED)
    return finish(task, abandon('stall_timeout', last.message), facts, policy, now);
  if (
    task.hold === null &&
    (last.status === 'failed' || last.status === 'stalled') &&
    !waitedFor(task, now)
  ) {
    const until = Math.max(
      last.retryAt ?? 0,
      now + backoffMs(streaks.failed + streaks.stalled, facts.jitter),
    );
    const reason: HoldReason = last.retryAt === null ? 'retry_backoff' : 'provider_limit';
    return {
      kind: 'act',
      events: [event('retry_scheduled', { until }), hold(reason, last.message, until)],
      actions: [],
    };
  }
  return nextTurn(task, facts, policy, now, stillOpen(task, last));
}

/** After a turn that broke: why it did, and what the gate had found before it. */
function stillOpen(task: Task, last: NonNullable<Task['lastTurn']>): string {
  const broke = last.status === 'interrupted' ? null : last.message;
  return [broke, redGate(task)].filter((one) => one !== null).join('\n\n');
}

const redGate = (task: Task): string | null =>
  task.gate?.outcome === 'fail' ? gateFailureText(task.gate) : null;

const waitedFor = (task: Task, now: number): boolean => task.retryAt !== null && now >= task.retryAt;

function startTurn(
  task: Task,
  facts: Facts,
  policy: Policy,
  before: NewEvent[] = [],
  priorFailure: string | null = null,
): Decision {
  const fresh = task.sessionId === null || startsFresh(task, policy);
  const sessionId = fresh ? facts.newSessionId : task.sessionId!;
  const prompt = promptFor(task, fresh);
  const turn = task.turns + 1;
  return {
    kind: 'act',
    events: [...before, event('turn_started', { turn, role: 'coder', sessionId, prompt })],
    actions: [{ kind: 'turn', role: 'coder', turn, sessionId, prompt, priorFailure }],
  };
}

/** `fresh` never resumes; `rotate` begins a session for each pass over the work, which feedback begins. */
function startsFresh(task: Task, policy: Policy): boolean {
  if (task.turns === 0) return false;
  return policy.session === 'fresh' || (policy.session === 'rotate' && task.feedback.length > 0);
}

function promptFor(task: Task, fresh: boolean): PromptKind {
  if (fresh) return task.sessionIds.length === 0 || task.turns === 0 ? firstPrompt(task) : 'handover';
  const status = task.lastTurn?.status;
  if (status === 'interrupted' || status === 'cancelled') return 'interrupted';
  return task.feedback.length > 0 ? 'revise' : 'continuation';
}

/** A restart has no turns but has work in its tree: that is a hand-over, not a beginning. */
const firstPrompt = (task: Task): PromptKind => (task.headSha === null || task.empty ? 'task' : 'handover');

// --- awaiting_critic -----------------------------------------------------------------------------------------------

function judge(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (facts.branch && personPushed(task, facts)) {
    return {
      kind: 'act',
      events: [
        event('person_pushed', { head: facts.branch }),
        transition(task, 'awaiting_critic', 'a person pushed a new head'),
      ],
      actions: [{ kind: 'adopt_head', sha: facts.branch.sha }],
    };
  }
  const verdict = task.verdict && task.verdict.headSha === task.head?.sha ? task.verdict : null;
  if (verdict?.verdict === 'BLOCK') return finish(task, abandon('critic_blocked'), facts, policy, now);
  if (verdict?.verdict === 'BLOCK_ON_SPEC') return finish(task, abandon('spec_rejected'), facts, policy, now);
  if (task.changeRequests >= policy.critic.maxRounds && verdict?.verdict === 'REQUEST_CHANGES') {
    return finish(
      task,
      abandon('max_critic_rounds', `${task.changeRequests} rounds asked for changes`),
      facts,
      policy,
      now,
    );
  }
  const stuck = facts.openFindings.find((finding) => isStuck(finding) && finding.severity !== 'sev3');
  if (stuck && verdict?.verdict === 'REQUEST_CHANGES') {
    return finish(
      task,
      abandon('finding_stuck', `Open for ${stuck.rounds.length} rounds: ${stuck.message}`),
      facts,
      policy,
      now,
    );
  }
  if (task.superseded) return finish(task, abandon('superseded'), facts, policy, now);
  if (task.feedback.length > 0 || task.mergeInto !== null) return revise(task, facts, policy, now);

  const verified = verify(task, policy);
  if (verified) return verified;
  const gate = task.gate!;
  if (gate.outcome === 'could_not_run')
    return { kind: 'act', events: [hold('gate_could_not_run', couldNotRun(gate))], actions: [] };
  if (gate.outcome === 'fail') {
    return {
      kind: 'act',
      events: [event('feedback_added', { feedback: { kind: 'gate', text: gateFailureText(gate) } })],
      actions: [],
    };
  }
  if (verdict?.verdict !== 'APPROVE') return seekVerdict(task, facts, policy, now);
  return enterMerge(task, facts, policy);
}

function revise(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (task.turns >= policy.maxTurns) {
    return finish(
      task,
      abandon(
        'max_turns_reached',
        `${task.turns} of ${policy.maxTurns} turns used, and it still needs changes`,
      ),
      facts,
      policy,
      now,
    );
  }
  if (!facts.slot) return awaitGrant('changes were asked for; waiting for a slot');
  return {
    kind: 'act',
    events: [
      transition(task, 'revising', task.feedback.map((item) => item.kind).join(', ') || 'trunk moved'),
    ],
    actions: [{ kind: 'prepare_workspace' }],
    limits: { slots: policy.maxConcurrent },
  };
}

function seekVerdict(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  const head = task.head!;
  if (!policy.critic.enabled) {
    const approved = approvalFor(task, facts);
    if (approved) return { kind: 'act', events: [approval(task, head.sha, approved.by)], actions: [] };
    return {
      kind: 'act',
      events: [hold('needs_approval', `a person has to approve ${head.sha.slice(0, 10)}`)],
      actions: [],
    };
  }
  const { critic: failures } = task.streaks;
  if (task.criticHeldOnce && failures > MAX_CRITIC_BACKOFFS + 2) {
    return finish(task, abandon('critic_unusable'), facts, policy, now);
  }
  if (failures > 1 && !waitedFor(task, now)) {
    if (failures > MAX_CRITIC_BACKOFFS + 1) {
      return {
        kind: 'act',
        events: [
          event('retry_scheduled', { until: now }),
          hold('critic_unusable', `${failures} reports in a row were unusable`),
        ],
        actions: [],
      };
    }
    const until = now + backoffMs(failures - 1, facts.jitter);
    return {
      kind: 'act',
      events: [
        event('retry_scheduled', { until }),
        hold('retry_backoff', 'the critic gave no usable report', until),
      ],
      actions: [],
    };
  }
  if (!facts.criticSlot) return awaitGrant('waiting for a critic');
  const turn = task.criticRounds + 1;
  const sessionId = facts.newSessionId;
  return {
    kind: 'act',
    events: [event('turn_started', { turn, role: 'critic', sessionId, prompt: 'critic' })],
    actions: [{ kind: 'turn', role: 'critic', turn, sessionId, prompt: 'critic', priorFailure: null }],
    limits: { critics: policy.critic.parallel },
  };
}

function approvalFor(task: Task, facts: Facts): { by: string } | null {
  return facts.pull?.approvals.find((one) => one.headSha === task.head?.sha) ?? null;
}

function enterMerge(task: Task, facts: Facts, policy: Policy): Decision {
  if (!policy.merge.enabled)
    return { kind: 'act', events: [hold('needs_merge', 'merge.enabled is false')], actions: [] };
  if (facts.issue && facts.issue.bodyHash !== task.contract.hash) {
    return {
      kind: 'act',
      events: [hold('body_edited', 'the issue was edited after it was made ready')],
      actions: [],
    };
  }
  if (facts.mergeBlocker)
    return { kind: 'act', events: [hold('dirty_checkout', facts.mergeBlocker)], actions: [] };
  if (!facts.mergeFree) return awaitGrant('another task is merging');
  return {
    kind: 'act',
    events: [transition(task, 'merging', `approved by ${task.verdict?.by}`)],
    actions: [{ kind: 'build_candidate', headSha: task.head!.sha }],
    limits: { merging: 1 },
  };
}

// --- merging -------------------------------------------------------------------------------------------------------

function merge(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  const back = (why: string, ...events: NewEvent[]): Decision => stepAside(task, why, ...events);
  if (facts.branch?.sha !== task.head?.sha) return back('the head moved');
  if (facts.issue && facts.issue.bodyHash !== task.contract.hash) {
    return back('the issue was edited', hold('body_edited', 'the issue was edited after it was made ready'));
  }
  if (facts.mergeBlocker)
    return back('the checkout is not clean', hold('dirty_checkout', facts.mergeBlocker));
  if (task.superseded) return finish(task, abandon('superseded'), facts, policy, now);
  if (task.feedback.length > 0 || task.mergeInto !== null) {
    if (!facts.slot || task.turns >= policy.maxTurns)
      return back('the merged tree needs changes; waiting for a slot');
    return {
      kind: 'act',
      events: [
        event('candidate_dropped', { why: 'the merged tree needs changes' }),
        transition(task, 'revising', task.feedback[0]?.kind ?? 'conflict'),
      ],
      actions: [{ kind: 'prepare_workspace' }],
      limits: { slots: policy.maxConcurrent },
    };
  }
  if (isGateEmpty(policy)) return back('no gate is configured', gateEmpty());
  const { candidate, candidateGate: gate } = task;
  if (!candidate)
    return { kind: 'act', events: [], actions: [{ kind: 'build_candidate', headSha: task.head!.sha }] };
  if (!gate)
    return {
      kind: 'act',
      events: [],
      actions: [{ kind: 'gate', scope: 'candidate', tree: candidate.tree, commit: candidate.sha }],
    };
  if (gate.outcome === 'could_not_run')
    return back('the gate could not run', hold('gate_could_not_run', couldNotRun(gate)));
  if (gate.outcome === 'fail') {
    const feedback = { kind: 'gate' as const, text: gateFailureText(gate) };
    return {
      kind: 'act',
      events: [event('feedback_added', { feedback }), event('update_needed', { mergeInto: candidate.trunk })],
      actions: [],
    };
  }

  const byPerson = task.verdict !== null && task.verdict.by !== 'critic';
  if (facts.change.secrets.length > 0) {
    const text = `Take these out of the change and of its history:\n${facts.change.secrets.join('\n')}`;
    return {
      kind: 'act',
      events: [event('feedback_added', { feedback: { kind: 'gate', text } })],
      actions: [],
    };
  }
  const touched = protectedAmong(facts.change.files, policy.protectedPaths);
  if (touched.length > 0 && !byPerson) {
    return back('it touches protected paths', hold('protected_paths', touched.slice(0, 5).join(', ')));
  }
  const decision = mergeGate(
    task,
    {
      issueOpen: facts.issue?.state === 'open' || task.issue === null,
      bodyHash: facts.issue?.bodyHash ?? null,
      branchSha: facts.branch?.sha ?? null,
      openFindings: facts.openFindings,
      change: facts.change,
    },
    policy,
  );
  const recorded = event('merge_decided', {
    permitted: decision.permit !== null,
    conditions: decision.conditions,
  });
  if (decision.permit)
    return { kind: 'act', events: [recorded], actions: [{ kind: 'land', permit: decision.permit }] };
  const unmet = decision.conditions.filter((one) => !one.met).map((one) => `${one.name} (${one.value})`);
  return back('the merge gate refused', recorded, hold('merge_refused', `not met: ${unmet.join('; ')}`));
}

/** One candidate at a time: a task that has to wait must not keep the merge from others. */
const stepAside = (task: Task, why: string, ...events: NewEvent[]): Decision => ({
  kind: 'act',
  events: [event('candidate_dropped', { why }), transition(task, 'awaiting_critic', why), ...events],
  actions: [],
});

// --- small words ---------------------------------------------------------------------------------------------------

/** The transition event, with what a reader of the log wants to see beside it. */
export function transition(task: Task, to: State, why: string, reason: Reason | null = null): NewEvent {
  return event('worker_state_transition', {
    from: task.state,
    to,
    reason,
    why,
    sessionId: task.sessionId,
    turn: task.turns,
    headSha: task.headSha,
  });
}

/** The first events and effects of a task: the row comes first, then the label is swapped. */
export function claimed(task: Task, policy: Policy): Action[] {
  if (task.issue === null) return [];
  return [
    {
      kind: 'label',
      issue: task.issue,
      add: [policy.labels.running],
      remove: [policy.labels.ready, policy.labels.needsReview],
    },
    { kind: 'comment', issue: task.issue, marker: `${task.id}:claimed`, body: claimedComment(task) },
  ];
}

const hold = (reason: HoldReason, detail: string, until: number | null = null): NewEvent =>
  event('hold_set', { reason, detail, until });

const rest = (why: string, until: number | null = null): Decision => ({
  kind: 'rest',
  why,
  until,
  for: until === null ? 'fact' : 'time',
});
const awaitGrant = (why: string): Decision => ({ kind: 'rest', why, until: null, for: 'grant' });
const stop = (status: 'cancelled' | 'stalled' | 'timed_out', why: string): Decision => ({
  kind: 'stop',
  status,
  why,
});

function couldNotRun(gate: NonNullable<Task['gate']>): string {
  const broken = gate.results.find((result) => result.outcome === 'could_not_run');
  return broken ? `\`${broken.command}\` ${broken.problem}` : 'the gate could not run';
}
