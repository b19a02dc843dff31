/**
 * A task: our durable record of one attempt at one issue. What it is, how it is born and begun again, and what can be
 * said of it without looking at anything else. How it changes is in fold.ts.
 */

import type {
  Candidate,
  Checkpoint,
  CoderSummary,
  Contract,
  Feedback,
  Hold,
  LoopEvent,
  PromptKind,
  TaskKind,
  TurnStatus,
} from './event.ts';
import type { Evidence } from './gate.ts';
import { isTerminal, type Reason, type State } from './machine.ts';
import type { Role } from './policy.ts';
import type { RemarkRef } from './remark.ts';
import type { Spec } from './specification.ts';
import type { Judgement, Verdict } from './verdict.ts';

export interface RecordedVerdict {
  headSha: string;
  verdict: Verdict;
  by: string;
  round: number;
  criteria: Judgement[];
}

export interface Task {
  id: string;
  kind: TaskKind;
  issue: number | null;
  attempt: number;
  slug: string;
  branch: string;
  contract: Contract;
  /** What was settled about the contract; null while nobody had to ask, or nobody has answered. */
  spec: Spec | null;
  /** The specifier's turns on this contract: unusable answers, failures, interruptions, and how the last one broke. */
  specifier: {
    unusable: number;
    failed: number;
    interrupted: number;
    last: { code: string | null; message: string; retryAt: number | null } | null;
    /** What was wrong with its last answer. Absent in rows from before it was kept. */
    problem?: string;
  };

  state: State;
  reason: Reason | null;
  /** One sentence: why it is in this state. */
  why: string;
  hold: Hold | null;

  /** Coder turns, counted when they start; an interrupted one is taken back. */
  turns: number;
  /** Verdicts so far, and how many of them asked for changes. */
  criticRounds: number;
  changeRequests: number;
  /**
   * In a row: turns killed with their runner, failed turns, stalled turns, turns without a change, unusable reports.
   * `landing` counts landings that a checkout blocked, `redBefore` gates that were red only as trunk itself is; rows
   * from before they were counted lack them.
   */
  streaks: {
    interrupted: number;
    failed: number;
    stalled: number;
    idle: number;
    critic: number;
    workspace: number;
    landing?: number;
    redBefore?: number;
  };
  /** The coder's session; null until the first turn and after it was lost. */
  sessionId: string | null;
  sessionIds: string[];
  /** The turn in progress, whatever its role; `delivers` is how much of `feedback` its prompt carries. */
  turn: { turn: number; role: Role; sessionId: string; startedAt: number; delivers: number } | null;
  /** How the last coder turn ended; null before the first and while one runs. */
  lastTurn: { status: TurnStatus; message: string; code: string | null; retryAt: number | null } | null;

  workspace: string | null;
  baseSha: string | null;
  /** The last checkpoint. Null when the work tree may hold something newer. */
  head: Checkpoint | null;
  /** The last head ever recorded; `head` is null while a turn may be changing it. */
  headSha: string | null;
  /** The head has no difference to its base. */
  empty: boolean;
  /** Why the work tree could not be checkpointed; the coder is asked to mend it. */
  refused: string | null;
  /** When the scheduled retry is due; null when none was scheduled since the last turn. */
  retryAt: number | null;
  /** A commit (trunk's, or a person's on the branch) that the work must contain before the coder goes on. */
  mergeInto: string | null;
  /** What recovery could not get back; ends the task. */
  unrecoverable: string | null;
  /** Trunk was merged into the work, and nothing of its own was seen since. */
  tookIn: boolean;
  /** Trunk already has everything this task did. */
  superseded: boolean;
  gate: Evidence | null;
  pushedSha: string | null;
  /** When that was published; null when it was before this was kept. */
  pushedAt: number | null;
  pull: number | null;
  /** The last one on this contract; it counts only for its own head. */
  verdict: RecordedVerdict | null;
  /** The last head that the rules looked at, and the findings there that no critic can outweigh. */
  inspected: { headSha: string; grave: string[] } | null;
  /** The coder was asked once to take such a thing back. */
  sentBack: boolean;
  /** What the coder has not been told yet. */
  feedback: Feedback[];
  /** Ids of what it was told, and of what does not count. */
  delivered: string[];
  ignored: string[];
  /** Remarks that were told and not answered yet, with the head they were told at. */
  owed: (RemarkRef & { headSha: string })[];
  candidate: Candidate | null;
  candidateGate: Evidence | null;
  /** What the gate last found on a candidate. It outlives the candidate: one with the same tree need not be tested again. */
  candidateEvidence: Evidence | null;
  /** The template the last turn could not be told by. Absent in rows from before it was kept. */
  brokenPrompt?: { prompt: PromptKind; digest: string } | null;
  /** Why the workspace is not ready although it was once: it is prepared again before the next turn. */
  unprepared?: string | null;
  /** Why the last landing was blocked, until that is a hold. Absent in rows from before it was kept. */
  landProblem?: string | null;
  /** The forge's own merge queue has it, with this tree as tested here. Absent in older rows. */
  queued?: { tree: string } | null;
  /** What landed and was never tested; null when trunk has passed the gate since. Absent in older rows. */
  unverified?: { sha: string; tree: string; why: string } | null;
  mergedSha: string | null;
  /** What was wrong with the critic's last report; it is told with the next request. Absent in older rows. */
  reportProblem?: string | null;
  /** Set when a person released a critic hold: the next unusable report ends the task. */
  criticHeldOnce: boolean;
  /** How the critic's last turn failed; null when it did not. Absent in rows from before it was kept. */
  criticBroke?: string | null;
  /** What its coder said last of the work as finished. Absent when it said nothing, and in older rows. */
  summary?: CoderSummary;

  workedMs: number;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
}

/** The critic's word is bound by every condition of the merge gate; a person's stands for some of them. */
export const isByPerson = (verdict: RecordedVerdict | null): boolean =>
  verdict !== null && verdict.by !== 'critic';

/** A task with the version the store compares when it commits. */
export interface StoredTask {
  task: Task;
  version: number;
}

/** dispatched is a reservation; running and revising burn tokens. */
export const needsSlot = (task: Task): boolean => ['dispatched', 'running', 'revising'].includes(task.state);

/** A held task has no slot, whatever its state. */
export const occupiesSlot = (task: Task): boolean => needsSlot(task) && task.hold === null;

/** A critic is at work on it. */
export const isJudging = (task: Task): boolean => task.turn?.role === 'critic';

export const isEnded = (task: Task): boolean => isTerminal(task.state);

/** A row as an older version wrote it, with what it lacks. */
export function revived(row: Task): Task {
  const verdict = row.verdict && { ...row.verdict, criteria: row.verdict.criteria ?? [] };
  const lacks = Object.entries(ADDED).filter(([name]) => !(name in row));
  // A plain copy is many times as quick as two that are laid over each other, and every row is read on every look.
  return Object.assign({ ...row }, Object.fromEntries(lacks), {
    contract: withCriteria(row.contract),
    verdict,
  });
}

export const NOT_ASKED: Task['specifier'] = { unusable: 0, failed: 0, interrupted: 0, last: null };

const ADDED = {
  inspected: null,
  sentBack: false,
  spec: null,
  specifier: NOT_ASKED,
  pushedAt: null,
  delivered: [],
  ignored: [],
  owed: [],
} satisfies Partial<Task>;

export const withCriteria = (contract: Contract): Contract => ({
  ...contract,
  criteria: contract.criteria ?? [],
});

type Birth = Extract<LoopEvent, { type: 'task_created' }>['data'];

export function born(id: string, birth: Birth, at: number): Task {
  return {
    id,
    kind: birth.kind,
    issue: birth.issue,
    attempt: birth.attempt,
    slug: birth.slug,
    branch: birth.branch,
    contract: withCriteria(birth.contract),
    spec: null,
    specifier: NOT_ASKED,
    state: 'queued',
    reason: null,
    why: 'claimed',
    hold: null,
    turns: 0,
    criticRounds: 0,
    changeRequests: 0,
    streaks: NO_STREAKS,
    sessionId: null,
    sessionIds: [],
    turn: null,
    lastTurn: null,
    workspace: null,
    baseSha: null,
    head: null,
    headSha: null,
    empty: true,
    refused: null,
    retryAt: null,
    mergeInto: null,
    tookIn: false,
    superseded: false,
    unrecoverable: null,
    gate: null,
    pushedSha: null,
    pushedAt: null,
    pull: null,
    verdict: null,
    inspected: null,
    sentBack: false,
    feedback: [],
    delivered: [],
    ignored: [],
    owed: [],
    candidate: null,
    candidateGate: null,
    candidateEvidence: null,
    mergedSha: null,
    criticHeldOnce: false,
    workedMs: 0,
    createdAt: at,
    startedAt: null,
    endedAt: null,
  };
}

const NO_STREAKS: Task['streaks'] = {
  interrupted: 0,
  failed: 0,
  stalled: 0,
  idle: 0,
  critic: 0,
  workspace: 0,
};

/** A restart keeps identity, work, findings and money spent; it resets the counters and opens a fresh session. */
export function restarted({ spec }: Task): Partial<Task> {
  return {
    // Whoever restarts a task that was declined wants it judged again.
    spec: spec?.status === 'declined' ? null : spec,
    specifier: NOT_ASKED,
    streaks: NO_STREAKS,
    turn: null,
    turns: 0,
    criticRounds: 0,
    changeRequests: 0,
    criticHeldOnce: false,
    head: null,
    refused: null,
    unrecoverable: null,
    superseded: false,
    sentBack: false,
    sessionId: null,
  };
}
