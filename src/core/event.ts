/**
 * Everything that can happen, as typed events.
 *
 * A task's row is the fold of its events (`apply` in task.ts), so an event carries every value the row takes from it.
 */

import type { DecidedStatus } from './change/findings.ts';
import type { RemarkRef } from './change/remark.ts';
import type { BaseRun, Evidence } from './gate.ts';
import type { Criterion } from './issue/criteria.ts';
import type { Spec, Specification } from './issue/specification.ts';
import type { Ahead, Misfit } from './line/line.ts';
import type { LoopRelease, WrittenLoopHold } from './loop/loop-hold.ts';
import type { Reason, State } from './machine.ts';
import type { Condition } from './merge.ts';
import type { Disagreement } from './money/two-accounts.ts';
import type { AuditFinding } from './plan/audit.ts';
import type { Phase } from './plan/phase.ts';
import type { Amendment, AuditSummary, PlanBirth } from './plan/progress.ts';
import type { StoredPlan } from './plan/stored.ts';
import type { Role } from './role.ts';
import type { LimitWindow, RefusalCode } from './tell/progress.ts';
import type { Trial } from './trial.ts';
import type { Judgement, Verdict } from './verdict.ts';

export type TaskKind = 'issue' | 'plan' | 'goal';

export type HoldReason =
  | 'retry_backoff'
  | 'interrupted'
  | 'provider_limit'
  | 'fetch_failed'
  | 'spend_unknown'
  | 'gate_could_not_run'
  | 'gate_empty'
  | 'trunk_red'
  | 'critic_unusable'
  | 'needs_approval'
  | 'needs_merge'
  | 'dirty_checkout'
  | 'body_edited'
  | 'operator_pause'
  | 'protected_paths'
  | 'verification_changed'
  | 'secret_found'
  | 'publish_refused'
  | 'merge_refused'
  | 'rules_unmet'
  | 'merge_queued'
  | 'prompt_broken'
  | 'sandbox_unavailable'
  | 'filter_unsupported'
  | 'trunk_rewritten'
  | 'checks_pending'
  | 'checks_red'
  | 'changes_requested'
  | 'spec_proposed'
  | 'waits_for_loops'
  | 'attached';

/** Why a task waits. Without `until` only a person or a changed fact ends it. */
export interface Hold {
  reason: HoldReason;
  detail: string;
  until: number | null;
  /** When it was set, as its event says. */
  since?: number;
  /** The provider's account it waits for; the hold ends with that account's limit. */
  account?: string;
  /** That account failed for everybody: what failed of this task before is not held against it. */
  outage?: true;
  /** Digest of the settings it rests on, where its cause may be in them: others end it. Absent in rows of before. */
  settings?: string;
}

/** What a coder says of its work, in its own words. */
export interface CoderSummary {
  summary: string;
  tests: string;
  open: string[];
  /** What it had to choose, and why; absent in what older versions wrote. */
  choices?: string[];
}

/** How a turn ended. `interrupted` (its runner died or stopped) does not count as a turn. */
export type TurnStatus = 'finished' | 'failed' | 'interrupted' | 'cancelled' | 'stalled' | 'timed_out';

export type PromptKind =
  | 'task'
  | 'continuation'
  | 'revise'
  | 'interrupted'
  | 'handover'
  | 'critic'
  | 'next_round'
  | 'spec'
  | 'plan'
  | 'milestone'
  | 'audited'
  | 'final_fix'
  | 'audit'
  | 'final_audit'
  | 'audit_again'
  | 'post_action'
  | 'plan_draft'
  | 'plan_draft_again';

const GOING_ON: readonly PromptKind[] = [
  'continuation',
  'revise',
  'interrupted',
  'next_round',
  'milestone',
  'audited',
  'audit_again',
  'plan_draft_again',
];

/** The other prompts go on with a conversation. */
export const opensSession = (prompt: PromptKind): boolean => !GOING_ON.includes(prompt);

type FeedbackKind = 'critic' | 'rule' | 'conflict' | 'landed' | 'gate' | 'ci' | 'review' | 'contract';

export interface Feedback {
  kind: FeedbackKind;
  text: string;
  /** Names what was said for ever, so that it is told once; absent for what the loop found by itself. */
  id?: string;
  /** Answered when it was worked in. */
  remark?: RemarkRef;
}

export interface Contract {
  title: string;
  body: string;
  hash: string;
  /** What the text lists as checkable, extracted when it was accepted. */
  criteria: Criterion[];
  /** Absent where the forge knows of none. */
  related?: Related;
}

/** Issues around an issue, as they were when its text was accepted: context, and no part of what was agreed. */
export interface Related {
  parent: { number: number; title: string } | null;
  children: { number: number; title: string; state: 'open' | 'closed' }[];
}

export interface Checkpoint {
  sha: string;
  tree: string;
}

export interface Candidate {
  sha: string;
  tree: string;
  /** What it was built on: trunk, or the candidate of the task ahead in line. */
  trunk: string;
  /** The tree of that; absent in rows of before. */
  trunkTree?: string;
  headSha: string;
}

/** The commit that was tested for a candidate that it contains, and whose work it contains beside. */
export interface Within {
  sha: string;
  tree: string;
  with: Ahead[];
}

export interface NetworkRow {
  host: string;
  port: number;
  verdict: 'allowed' | 'refused' | 'failed';
  times: number;
  sentBytes: number;
  receivedBytes: number;
}

interface TaskEvents {
  task_created: {
    kind: TaskKind;
    issue: number | null;
    attempt: number;
    slug: string;
    branch: string;
    contract: Contract;
    /** Its text is a plan, worked through in phases. */
    plan?: PlanBirth;
  };
  worker_state_transition: {
    from: State | 'none';
    to: State;
    reason: Reason | null;
    why: string;
    sessionId: string | null;
    turn: number;
    headSha: string | null;
  };
  /** `plan`: of a plan that was not begun, cut anew. */
  contract_updated: { contract: Contract; plan?: PlanBirth };
  /** The contract is taken as it stands, or declined: by the specifier, or by the rules in its place. */
  spec_settled: { spec: Extract<Spec, { status: 'taken' | 'declined' }> };
  spec_expanded: { specification: Specification; status: 'adopted' | 'proposed' };
  spec_approved: { by: string };
  /** Said of a head that was not the task's any more when it was heard: it approves nothing. */
  approval_outdated: { by: string; head: string };
  workspace_ready: { path: string; baseSha: string };
  /** `unfetched`: what it needs could not be fetched, which is no fault of the task's. */
  workspace_failed: { problem: string; unfetched?: true };
  /** `triesAccount`: the account that failed for everybody, which this turn tries again; `probe` in older databases. */
  turn_started: {
    turn: number;
    role: Role;
    sessionId: string;
    prompt: PromptKind;
    triesAccount?: string;
    probe?: string;
  };
  turn_completed: {
    turn: number;
    role: Role;
    sessionId: string;
    status: TurnStatus;
    code: string | null;
    message: string;
    retryAt: number | null;
    durationMs: number;
    usage: 'known' | 'unknown';
    /** Who was asked; absent in events of older versions. */
    account?: string;
    /** It came to nothing with no sign of work: nothing used, no tool called, nothing changed. */
    workless?: true;
    /** It went silent after it had called tools; absent in events of older versions. */
    worked?: true;
    /** Its agent replaced what was said by a summary of it. */
    shortened?: true;
    /** No turn of its account can do better with these settings: their digest. */
    blocks?: string;
    /** A coder's, of the work that it called finished. */
    summary?: CoderSummary;
  };
  /** A call the agent was not allowed; `further` says how many more of that turn are not listed. */
  /** Events of older databases have no code. */
  tool_refused: {
    role: Role;
    turn: number;
    code?: RefusalCode;
    tool: string;
    detail: string;
    why: string;
    further?: number;
  };
  /** What the coder said to the loop through its tools, as it said it: nothing rests on it. */
  coder_reported: { turn: number; message: string };
  coder_asked: { turn: number; question: string; answer: string };
  coder_finished: { turn: number } & CoderSummary;
  /** What an auditor noted through its tools: no part of the ledger before its audit is recorded. */
  auditor_found: { turn: number; sessionId: string; finding: AuditFinding };
  auditor_resolved: { turn: number; sessionId: string; id: string; why: string };
  /** The agent shortened its own conversation near the model's limit. */
  context_compacted: { role: Role; turn: number; why: string };
  /** The agent's own names for its conversation and its turn, where it tells them. */
  session_started: { role: Role; turn: number; thread: string; agentTurn: string };
  /** The last word of a turn on the windows of its account. */
  rate_limits_seen: { role: Role; turn: number; windows: readonly LimitWindow[] };
  checkpointed: { head: Checkpoint; baseSha: string; changed: boolean; empty: boolean };
  checkpoint_refused: { problem: string };
  /** The gate of a batch was asked for, on this candidate: the others in line wait for what it finds. */
  batch_gated: { sha: string; with: Ahead[] };
  /**
   * `reused`: nothing was run, the evidence of an earlier candidate with the same tree stands. `within`: nothing was run on
   * the candidate itself, but on a commit that contains it.
   */
  gate_completed: {
    scope: 'work' | 'candidate' | 'trunk';
    evidence: Evidence;
    reused?: true;
    within?: Within;
  };
  /** A red command on the commit the work is measured against; looked up again for every task on that commit. */
  gate_base_completed: BaseRun;
  branch_pushed: { sha: string };
  /** The published branch has a commit of somebody else's: it is merged into the work before the next push. */
  push_rejected: { sha: string };
  person_pushed: { head: Checkpoint };
  pull_ensured: { pull: number; headSha: string };
  verdict_recorded: {
    headSha: string;
    verdict: Verdict;
    by: string;
    round: number;
    blocking: string[];
    /** What was found about each criterion; none when a person decided. */
    criteria: Judgement[];
  };
  /** It answered, and this was wrong with its answer. */
  answer_unusable: { role: Role; problem: string };
  /**
   * The rules looked at this head. `grave` are the findings that no critic can outweigh; `sentBack`: the coder is asked
   * to take them back. That happens once; after that a person decides.
   */
  /** `chars`: the length of the whole change, as a patch; `files`: the first of those it changes. Absent in events of older versions. */
  change_inspected: {
    headSha: string;
    open: string[];
    grave: string[];
    sentBack: boolean;
    chars?: number;
    files?: readonly string[];
  };
  /**
   * A person decided about a finding. `settles`: nothing else was asked for at this head, so that the critic is asked
   * anew instead of the coder.
   */
  finding_decided: {
    finding: string;
    status: DecidedStatus;
    by: string;
    why: string | null;
    headSha: string;
    settles: boolean;
  };
  /** What a person told a task that had no turn left to be told it in. */
  tell_unheard: { by: string; text: string };
  /** A person added a finding. */
  finding_written: { finding: string; by: string; headSha: string };
  feedback_added: { feedback: Feedback };
  /** It holds no more, and the coder was not told yet: CI turned green, or the head is another. */
  feedback_withdrawn: { ids: string[]; why: string };
  /** The turn that carried these, begun at this head, has finished; only now are they told. */
  feedback_acknowledged: { ids: string[]; turn: number; headSha: string; remarks: RemarkRef[] };
  /** Said on the pull request by people without write access: no instruction to anybody. */
  remarks_ignored: { remarks: { id: string; author: string }[] };
  /** `ahead`: whose work it contains although it has not landed. */
  candidate_built: { candidate: Candidate; ahead?: Ahead[] };
  /**
   * It does not go together with these, which are ahead of it: the gate is red on top of them (`text` has its output), or it
   * conflicts with them (`text` is null). It stands beside the line until it is known what becomes of them.
   */
  line_left: { with: Ahead[]; text: string | null };
  /** Fewer of those it may not go together with are left: with some of them it was tested. */
  line_narrowed: Misfit;
  /** What it did not go together with is gone: it lines up again. */
  line_rejoined: Record<string, never>;
  /** `mergeInto` is the commit the work has to be brought up to before the coder goes on. */
  update_needed: { mergeInto: string };
  work_updated: { mergedIn: string; conflicts: string[] };
  candidate_empty: { trunk: string };
  candidate_dropped: { why: string };
  /** Permitted, but the checkout could not be fast-forwarded; nothing has moved. */
  landing_blocked: { detail: string };
  /** Permitted, but the forge would not land it, in its own words; nothing has moved. */
  landing_refused: { detail: string };
  /** Permitted, but the forge did not answer, or not for this task's other effects. */
  landing_unanswered: { why: string };
  /**
   * A plan enters a phase, and what starts in it is among the actions of the same commit. `isFresh`: its coder begins a new
   * conversation. `delivered` is the end of the phases.
   */
  phase_entered: { phase: Phase | 'delivered'; milestone: number; isFresh: boolean };
  /** `isMissing`: the auditor gave no usable result, also when it was asked again. */
  audit_recorded: {
    audit: number;
    phase: Phase;
    milestone: number;
    head: Checkpoint;
    isClean: boolean;
    isMissing?: true;
    open: string[];
    says: string;
    summary: AuditSummary | null;
    amendments: Amendment[];
  };
  /** `commit` is null when the milestone changed nothing; else it is the head. */
  milestone_completed: {
    milestone: number;
    title: string;
    summary: AuditSummary;
    commit: string | null;
    head: Checkpoint;
  };
  /** What the post action said last, as it said it; null when it did not come to an end of its own. */
  /** `takenBack`: the head is again what it was before. */
  post_action_ended: { summary: string | null; problem: string | null; takenBack?: true };
  /** A plan to keep, once for each text; of a task that drafts one, its result. */
  plan_stored: Omit<StoredPlan, 'createdAt' | 'changedAt'>;
  /** Its template could not be rendered, so the turn never began; `digest` is of the template as it was. */
  prompt_broken: { prompt: PromptKind; problem: string; digest: string };
  /** The whole decision: each condition, its value, and what that rests on. */
  merge_decided: { permitted: boolean; conditions: Condition[] };
  /** The forge merges by a queue of its own, and has it; `tree` is what was tested here. */
  merge_queued: { tree: string };
  /** The forge stopped (or began again) to show it in its queue, and does not say what came of it. */
  queue_shows: { there: boolean };
  /** The forge gave it back unmerged. */
  queue_left: Record<string, never>;
  /** What landed has another tree than the one that was tested: the loop is held until trunk passes the gate. */
  trunk_unverified: { sha: string; tree: string; why: string };
  merge_observed: { sha: string; by: 'loop' | 'person' };
  hold_set: Hold;
  /** A person opens its session in the agent's own program. `headSha`: the last head before. */
  attached: { by: string; sessionId: string; headSha: string | null };
  /** They have left, or the program could not be started, or it was cut off with whoever started it. */
  detached: {
    by: string;
    sessionId: string;
    how: 'exited' | 'not_started' | 'cut_off';
    detail: string;
    durationMs: number;
    tokens: number;
    costUsd: number | null;
    usage: 'known' | 'unknown';
  };
  /** A provider's account is used up: no turn asks it until then. Kept in the loop's row, not in the task's. */
  account_limited: { account: string; why: string; until: number };
  account_released: { account: string; by: string };
  /** Nothing keeps it any more but that it has no slot yet: a person let it go on, or (`loop`) what it waited for is over. */
  hold_released: { by: string };
  hold_cleared: { reason: HoldReason; by: string };
  /** The next try waits until then; kept apart from the hold, which also ends by a person's word. */
  retry_scheduled: { until: number };
  session_lost: { sessionId: string; why: string };
  /** Workspace or session can't be had back: the task ends. */
  recovery_failed: { why: string };
  recovered: { plan: string; why: string };
  worktree_preserved: { path: string };
  /** Its directory is gone. It is made anew from this commit; what was not committed is lost. */
  workspace_lost: { saved: string; why: string };
  worktree_reaped: { path: string };
  /** The operator's checkout is at the branch of a plan that was asked for there, or why it is not. */
  checkout_switched: { problem: string | null };
  /** Its runner was stopped, or nobody needs it any more. What it found until then proves nothing. */
  gate_cut_off: { scope: 'work' | 'candidate' | 'trunk' };
  /** A command of the operator's that is run once for a task. */
  hook_completed: { name: 'after_merge'; problem: string | null };
  /** Where a turn or a command went through the gateway, or was not let; hosts, never what was said there. */
  network_used: { by: string; requests: NetworkRow[] };
  /** What the gateway counted of a turn, which is what was booked, and what its agent says are not the same. */
  accounts_differ: { role: Role; turn: number; sessionId: string } & Disagreement;
  /** 80 % of a limit are used; said once for each limit and, of the day's, each day. */
  budget_warned: {
    scope: 'task' | 'day' | 'loop';
    limit: 'usd' | 'tokens' | 'wall_ms';
    period: string;
    used: number;
    of: number;
    says: string;
  };
  effect_failed: { action: string; problem: string; attempt: number };
}

interface LoopEvents {
  runner_started: { owner: string; pid: number; version: string };
  runner_stopped: { owner: string; why: string };
  /** It stood still (SIGSTOP, a closed lid) past its own leases: what it ran was stopped, what it had is anybody's. */
  runner_overslept: { owner: string; sleptMs: number; tasks: string[] };
  /** `problem` is missing in events of an older version. */
  issue_declined: { issue: number; textHash: string; problem?: string; questions: string[] };
  /** Its text was edited after it was made ready: the label is taken back, and somebody has to put it on again. */
  readiness_withdrawn: { issue: number; textHash: string };
  loop_paused: { by: string };
  loop_resumed: { by: string };
  /** Work lands there from now on, until a person accepts another branch. */
  trunk_pinned: { branch: string };
  /** Kept in the loop's row: no run starts anywhere until it is released. */
  loop_held: WrittenLoopHold;
  loop_released: LoopRelease;
  /** What the operator's commands came to on trunk, before anybody worked for them. Kept in the loop's row. */
  gate_tried: Trial & { sha: string; durationMs: number };
  /** A gate that could not run is tried again; what passed or failed still counts. */
  gate_retry_requested: { by: string };
  /** The same in older databases. */
  gate_trials_forgotten: { by: string };
  /** A person lets a stored plan be started. */
  plan_approved: { plan: string; by: string };
  /** Another text has taken its place. */
  plan_archived: { plan: string; by: string };
  /** What ended tasks left was looked through; the next sweep judges their age by this time. */
  swept: { removed: number };
  loop_stop_requested: { by: string; now: boolean };
  request_made: { kind: string; by: string };
  /** Somebody wrote `/loop …` into a comment; `says` is the answer. */
  command_answered: {
    id: string;
    command: string;
    author: string;
    task: string | null;
    accepted: boolean;
    says: string;
  };
  deploy_started: { id: string; sha: string };
  deploy_completed: {
    id: string;
    sha: string;
    status: 'succeeded' | 'failed' | 'interrupted';
    problem: string | null;
    durationMs: number;
  };
  config_reloaded: { path: string };
  config_invalid: { path: string; problem: string };
  process_stopped: { pid: number; why: string };
  /** It can't be asked now: an outage, a limit (`until` is when it ends, if that is known), a token that expired. */
  /** Every issue that is left out because it can't be read, whenever these change; none once all can be read again. */
  issues_unreadable: { problems: readonly string[] };
  forge_unavailable: { problem: string; until: number | null };
  forge_answers: Record<string, never>;
  /** The forge reported that something happened; whoever sees this looks. */
  webhook_received: { kinds: string[] };
  /** A person wants the forge looked at now; whoever sees this looks. */
  look_requested: { by: string };
  loop_failed: { where: string; problem: string };
  /** Nothing is left that goes on by itself; `waiting` things wait for a person. Said once after something was done. */
  loop_idle: { waiting: number };
  /** A message of notices was sent to a channel; `id` is the message's. */
  notified: { channel: string; id: string; notices: string[] };
  /** It could not be sent, and is tried again; said once for each message. */
  notify_failed: { channel: string; id: string; problem: string };
  /** It was tried for a day, or its channel is gone. */
  notify_given_up: { channel: string; id: string; problem: string };
}

export type EventData = TaskEvents & LoopEvents;
export type EventType = keyof EventData;

/** An event before the store gives it its place. */
export type NewEvent = { [T in EventType]: { type: T; data: EventData[T] } }[EventType];

/** An event as stored: `seq` has no gaps, `task` is null for the loop's own. */
export type LoopEvent = NewEvent & { seq: number; at: number; task: string | null };

export function event<T extends EventType>(type: T, data: EventData[T]): NewEvent {
  return { type, data } as NewEvent;
}
