/**
 * A task: our durable record of one attempt at one issue. What it is, how it is born and begun again, and what can be
 * said of it without looking at anything else. How it changes is in fold.ts.
 */

import type { RemarkRef } from './change/remark.ts';
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
  Within,
} from './event.ts';
import type { Evidence } from './gate.ts';
import type { Spec } from './issue/specification.ts';
import type { Ahead, Misfit } from './line/line.ts';
import { isTerminal, type Reason, type State } from './machine.ts';
import { bornPlan, type PlanProgress, restartedPlan } from './plan/progress.ts';
import { type Mishap, ROLES, type Role, roleRow } from './role.ts';
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
  /** How far its plan has come; absent where its text is none. */
  plan?: PlanProgress;
  /** What was settled about the contract; null while nobody had to ask, or nobody has answered. */
  spec: Spec | null;

  state: State;
  reason: Reason | null;
  /** One sentence: why it is in this state. */
  why: string;
  hold: Hold | null;

  /** A person has its session open in the agent's own program; `before` is the hold it had. Absent in rows of before. */
  attached?: { by: string; sessionId: string; at: number; before: Hold | null } | null;

  /** Coder turns, counted when they start; one that was interrupted or failed at once is taken back. */
  turns: number;
  /** Verdicts so far, and how many of them asked for changes. */
  criticRounds: number;
  changeRequests: number;
  /** What each role has to remember from one turn to the next. */
  roles: Readonly<Record<Role, RoleMemory>>;
  /**
   * In a row: turns without a change, workspaces that could not be made or saved, landings that a checkout blocked, that
   * the forge refused, that it did not answer.
   */
  streaks: { idle: number; workspace: number; blocked: number; refused: number; unanswered: number };
  /** Every session of the coder. */
  sessionIds: string[];
  /** The turn in progress, whatever its role; `carries` is how much of `feedback` its prompt carries. */
  turn: { turn: number; role: Role; sessionId: string; startedAt: number; carries: number } | null;

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
  /** The last such commit that was merged in; absent in rows of older versions. */
  mergedIn?: string | null;
  /** What recovery could not get back; ends the task. */
  unrecoverable: string | null;
  /** Trunk was merged into the work, and nothing of its own was seen since. */
  tookIn: boolean;
  /** Trunk already has everything this task did. */
  superseded: boolean;
  gate: Evidence | null;
  /** What the branch was last brought to where others see it. */
  published: { sha: string; at: number } | null;
  pull: number | null;
  /** The last one on this contract; it counts only for its own head. */
  verdict: RecordedVerdict | null;
  /** The last head that the rules looked at, the findings there that no critic can outweigh, how long the change is, and what it changes. */
  inspected: { headSha: string; grave: string[]; chars?: number; files?: readonly string[] } | null;
  /** The coder was asked once to take such a thing back. */
  sentBack: boolean;
  /** What the coder has not been told yet. */
  feedback: Feedback[];
  /** Ids of what it was told, and of what does not count. */
  acknowledged: string[];
  ignored: string[];
  /** Remarks that were told and not answered yet, with the head they were told at. */
  owed: (RemarkRef & { headSha: string })[];
  /**
   * The commit that would land, whose unlanded work it contains, and what the gate found on it; or, in a batch, on the
   * commit that contains it (`within`). `testing`: in a batch, its gate was asked for.
   */
  landing: {
    candidate: Candidate;
    ahead?: Ahead[];
    gate: Evidence | null;
    within?: Within;
    testing?: true;
  } | null;
  /** Since when it is in line for trunk. Absent in rows of before. */
  linedUpAt?: number;
  /** Whom it does not go together with, and how that shows. Absent in rows of before. */
  misfit?: Misfit | null;
  /** What the gate last found on a candidate. It outlives the candidate: one with the same tree need not be tested again. */
  candidateEvidence: Evidence | null;
  /** The template the last turn could not be told by. */
  brokenPrompt: { prompt: PromptKind; digest: string } | null;
  /** Why the workspace has to be prepared, again, before the next turn. `unfetched`: it needs what could not be fetched. */
  unprepared: { why: string; unfetched: boolean } | null;
  /** What kept the last landing, until that is a hold: a checkout, or the forge, in its own words. */
  landProblem: { by: 'checkout' | 'forge'; detail: string } | null;
  /**
   * The forge's own merge queue has it, with this tree as tested here, since `at`. `unseenAt`: it does not show it there
   * any more, and does not say why.
   */
  inMergeQueue: { tree: string; at?: number; unseenAt?: number } | null;
  /** What landed and was never tested; null when trunk has passed the gate since. */
  unverified: { sha: string; tree: string; why: string } | null;
  mergedSha: string | null;
  /** What its coder said last of the work as finished. */
  summary: CoderSummary | null;

  workedMs: number;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
}

/** What a role has to remember from one turn to the next. */
export interface RoleMemory {
  /** The conversation to go on with; null before the first turn, after it was lost, and for who begins anew each time. */
  session: string | null;
  /** When its last answer came, of a role whose session goes on while it is warm. */
  answeredAt?: number;
  /** In a row, as `Patience` counts them. */
  unusable: number;
  failed: number;
  stalled: number;
  interrupted: number;
  /** Stalls before this row of them, since a turn last came to its end: work made up for them. Absent where there were none. */
  outworked?: number;
  /** How it failed last, in this row of mishaps; `atOnce`: before any work, which may be its account's doing. */
  failure: { code: string | null; message: string; atOnce?: true } | null;
  /** How its last turn ended; null before the first and while one runs. */
  last: { status: TurnStatus; message: string; code: string | null; retryAt: number | null } | null;
  /** What was wrong with its last answer; it is told with the next request. */
  problem: string | null;
  /** How often in a row it was that; absent in rows of older versions. */
  sameProblem?: number;
  /** How many mishaps it had when a person let it go on although its patience was used up: one more ends the task. */
  releasedAt: number | null;
}

/** The tree that was tested, or has to be, before it lands. */
export const testedTree = ({ candidate, within }: NonNullable<Task['landing']>): string =>
  within?.tree ?? candidate.tree;

/** The critic's word is bound by every condition of the merge gate; a person's stands for some of them. */
export const isByPerson = (verdict: RecordedVerdict | null): boolean =>
  verdict !== null && verdict.by !== 'critic';

/** A verdict counts only for the head it was given at. */
export const verdictAt = ({ verdict }: Pick<Task, 'verdict'>, sha: string | null): RecordedVerdict | null =>
  verdict !== null && verdict.headSha === sha ? verdict : null;

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
export const isJudging = ({ turn }: Task): boolean => turn !== null && roleRow(turn.role).limit === 'critics';

/** Nothing was spent on it in this run of its life. */
export const isBeforeWork = ({ state }: Pick<Task, 'state'>): boolean =>
  state === 'queued' || state === 'dispatched';

/** What is under review is not what was published, or could not be saved: a person worked in its worktree. */
export const isReworked = ({ state, head, published, refused }: Task): boolean =>
  state === 'awaiting_critic' && head !== null && (head.sha !== published?.sha || refused !== null);

/** An agent is at work on it, or may begin at any moment. */
export const isAtWork = (task: Task): boolean => occupiesSlot(task) || isJudging(task);

/** So many interruptions in a row, and the next turn runs alone; see alone.ts. */
export const ALONE_AFTER = 3;

/** No other turn may run beside the next one of this task. */
export function runsAlone({ state, roles }: Task): boolean {
  const isJudged = state === 'awaiting_critic' || state === 'merging';
  return ROLES.some(
    (role) => (roleRow(role).limit === 'critics') === isJudged && roles[role].interrupted >= ALONE_AFTER,
  );
}

/** What a task that has come so far must have; without it, it could not be here. */
export function required<K extends keyof Task>(task: Task, field: K): NonNullable<Task[K]> {
  const value = task[field];
  if (value === null || value === undefined)
    throw new Error(`bug: task ${task.id} is ${task.state} and has no ${field}`);
  return value;
}

/** What people call it: its issue's number, its plan's name, or its id. */
export const nameOfTask = ({ issue, plan, id }: Pick<Task, 'issue' | 'plan' | 'id'>): string =>
  issue === null ? (plan?.name ?? id) : `#${issue}`;

/** What every line of the log about a task says, under the names that other tools look for. */
export const logFields = ({ turn, sessionIds, ...task }: Task) => ({
  issue_id: task.issue === null ? task.id : String(task.issue),
  issue_identifier: nameOfTask(task),
  session_id: turn?.sessionId ?? sessionIds.at(-1) ?? null,
});

/** Turns of this milestone, or since a plan was delivered: a long plan needs many. */
export const turnsHere = ({ turns, plan }: Task): number => turns - (plan?.turnsBefore ?? 0);

export const isEnded = (task: Task): boolean => isTerminal(task.state);

/** How many of these it has in a row. */
export const mishaps = (memory: RoleMemory, of: readonly Mishap[]): number =>
  of.reduce((sum, one) => sum + memory[one], 0);

export const NO_MEMORY: RoleMemory = {
  session: null,
  unusable: 0,
  failed: 0,
  stalled: 0,
  interrupted: 0,
  failure: null,
  last: null,
  problem: null,
  releasedAt: null,
};

export const NO_MEMORIES = Object.fromEntries(ROLES.map((role) => [role, NO_MEMORY])) as Task['roles'];

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
    ...(birth.plan && { plan: bornPlan(birth.plan) }),
    spec: null,
    state: 'queued',
    reason: null,
    why: 'claimed',
    hold: null,
    turns: 0,
    criticRounds: 0,
    changeRequests: 0,
    roles: NO_MEMORIES,
    streaks: NO_STREAKS,
    sessionIds: [],
    turn: null,
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
    published: null,
    pull: null,
    verdict: null,
    inspected: null,
    sentBack: false,
    feedback: [],
    acknowledged: [],
    ignored: [],
    owed: [],
    landing: null,
    candidateEvidence: null,
    brokenPrompt: null,
    unprepared: null,
    landProblem: null,
    inMergeQueue: null,
    unverified: null,
    mergedSha: null,
    summary: null,
    workedMs: 0,
    createdAt: at,
    startedAt: null,
    endedAt: null,
  };
}

const NO_STREAKS: Task['streaks'] = { idle: 0, workspace: 0, blocked: 0, refused: 0, unanswered: 0 };

/** A restart keeps identity, work, findings and money spent; it resets the counters and opens a fresh session. */
export function restarted({ spec, plan }: Task): Partial<Task> {
  return {
    ...(plan && { plan: restartedPlan(plan) }),
    // Whoever restarts a task that was declined wants it judged again.
    spec: spec?.status === 'declined' ? null : spec,
    roles: NO_MEMORIES,
    streaks: NO_STREAKS,
    turn: null,
    turns: 0,
    criticRounds: 0,
    changeRequests: 0,
    head: null,
    refused: null,
    unrecoverable: null,
    superseded: false,
    sentBack: false,
  };
}
