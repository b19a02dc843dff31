/**
 * The durable state of a loop, as domain verbs.
 *
 * One commit is one transaction: it appends events, writes the row they fold to, adds and finishes actions. It is
 * refused as a whole when the version moved (`VersionConflict`), when the lease is no longer ours (`LeaseLost`), or
 * when a limit it names is full (`LimitReached`). A verb either happened completely or not at all.
 */

import type { Action, PendingAction } from '../core/action.ts';
import type { Finding } from '../core/change/findings.ts';
import type { DeployState } from '../core/deploy.ts';
import type { LoopEvent, NewEvent, PromptKind, TurnStatus } from '../core/event.ts';
import type { LeaseTimes } from '../core/lease.ts';
import type { FoldedRow } from '../core/loop/loop-row.ts';
import type { Reason, State } from '../core/machine.ts';
import type { UnknownTurn, Usage } from '../core/money/cost.ts';
import type { StoredPlan } from '../core/plan/stored.ts';
import type { RequestKind } from '../core/request.ts';
import type { Role } from '../core/role.ts';
import type { StoredTask } from '../core/task.ts';
import type { NotifyState } from '../core/tell/notify.ts';

/** Proof that this runner owns `key`; every write about a task carries one. */
export interface Lease extends LeaseTimes {
  key: string;
  owner: string;
  /** Grows with every change of owner; a commit with an older number is refused. */
  fencing: number;
}

export const taskLease = (taskId: string): string => `task:${taskId}`;
export const INTAKE_LEASE = 'intake';
/** Of the nth runner at work here: it shows that a runner is there, also one that has no task. */
export const runnerLease = (n: number): string => `runner:${n}`;
export const isRunnerLease = (key: string): boolean => key.startsWith('runner:');
/** Of whoever starts plans: one at a time, so that a plan is started once and has a name of its own. */
export const PLANS_LEASE = 'plans';
/** What a claim is made under: issues are taken up by runners, plans are started by people. */
export const claimLease = ({ issue }: Pick<Claim, 'issue'>): string =>
  issue === null ? PLANS_LEASE : INTAKE_LEASE;

/** A child process that recovery can find again: pid and start time together never name two processes. */
export interface Child {
  task: string;
  pid: number;
  startTime: string;
  bootId: string;
  /** What it is for; of a shell command followed by a colon and the command. */
  purpose: string;
}

export interface ProcessRecord extends Child {
  /** The key of the lease it was started under: whoever holds that answers for it. */
  lease: string;
}

export interface UsageDelta extends Usage {
  /** Recording the same key again changes nothing. */
  key: string;
}

export interface Spend {
  tokens: number;
  costUsd: number;
  /** Of the tokens, those whose price is not known. */
  unpriced: number;
  /** False when some turn's usage or cost is unknown, so that the sums are lower bounds. */
  complete: boolean;
}

/** What a person asked of a task; read as a fact by the runner that owns it. */
export interface Request {
  id: number;
  task: string;
  kind: RequestKind;
  by: string;
  at: number;
  /** Which finding is decided, and why; of `write` the finding itself, as JSON; null for every other kind. */
  finding: string | null;
  why: string | null;
  /** Which head is approved; null for every other kind. */
  head: string | null;
}

type About = 'finding' | 'why' | 'head';
/** Who asks for something about a task as a whole need not say that it is about no finding and no head. */
export type NewRequest = Omit<Request, 'id' | About> & Partial<Pick<Request, About>>;

/** One prompt to one agent, as its start and its end recorded it; `status` is null while it runs. */
export interface TurnRow {
  task: string;
  turn: number;
  role: Role;
  sessionId: string;
  prompt: PromptKind;
  status: TurnStatus | null;
  startedAt: number;
  endedAt: number | null;
}

/** The loop's own row; part of it is a fold of events. */
export interface LoopRow extends FoldedRow {
  pausedBy: string | null;
  stop: 'no' | 'drain' | 'now';
  /** The last problem with WORKFLOW.md, kept until it is fixed. */
  configProblem: string | null;
  /** People's commands up to this time were looked at; null before the first look. */
  commandsSince: number | null;
  /** Null until a deploy command was first seen. Written under the intake lease. */
  deploy: DeployState | null;
  /** Who asked for another try of a deploy that did not succeed. */
  deployAgain: string | null;
  /** Null while there is nobody to tell. Written under the intake lease. */
  notify: NotifyState | null;
  /** Up to this event the log was sent to a collector; null before the first time. Written under the intake lease. */
  telemetry: number | null;
  /** The branch that work lands on, as the first run found it or a person accepted it since; null before. */
  trunk: string | null;
}

/** What of it is not a fold. */
export type LoopChange = Partial<Omit<LoopRow, keyof FoldedRow>>;

export interface Commit {
  lease: Lease;
  taskId: string;
  expectedVersion: number;
  /** Stamped with `at` and the next sequence numbers, folded into the row. */
  events: NewEvent[];
  at: number;
  addActions?: Action[];
  /** Removed in the same transaction: their outcomes are among the events, or they had nothing to say. */
  finishActions?: readonly number[];
  /** Actions that no longer make sense, dropped unperformed. */
  dropActions?: 'all';
  findings?: Finding[];
  consumeRequests?: number[];
  /** Refuse when granting would exceed these: tasks that hold a slot; critics at work; tasks in line. */
  limits?: { slots?: number; critics?: number; merging?: number };
  /** Refuse when this account is used up at `at`. */
  account?: string;
}

export interface Claim {
  lease: Lease;
  taskId: string;
  issue: number | null;
  events: NewEvent[];
  actions: Action[];
  at: number;
}

export interface TaskFilter {
  /** Only tasks that have not ended, or have ended with actions still pending. */
  live?: boolean;
  issue?: number;
}

export interface EventQuery {
  after?: number;
  since?: number;
  task?: string;
  limit?: number;
  last?: number;
  type?: string;
  /** Of one type: those that say this of themselves, such as `{ scope: 'candidate' }`. */
  data?: Readonly<Record<string, string>>;
}

export interface Outcome {
  state: State;
  reason: Reason | null;
  tasks: number;
}

export interface Store {
  /** Null when another task of the issue has not ended. */
  claim(claim: Claim): Promise<StoredTask | null>;
  task(id: string): Promise<StoredTask | null>;
  /** Oldest first. */
  tasks(filter?: TaskFilter): Promise<readonly StoredTask[]>;
  /** Those that have ended, the latest end first; with `since`, at that time and later. */
  ended(page?: { since?: number; limit?: number; skip?: number }): Promise<readonly StoredTask[]>;
  /** How many have ended, and as what. */
  outcomes(): Promise<Outcome[]>;
  commit(commit: Commit): Promise<StoredTask>;

  /** In the order they were decided; `null` for the loop's own. */
  pendingActions(taskId: string | null): Promise<PendingAction[]>;
  /** Of all tasks, what was marked as started and has no outcome yet. */
  startedActions(): Promise<PendingAction[]>;
  /** Throws LeaseLost unless this lease is held now. Writes nothing: an effect is simply performed again. */
  proveLease(lease: Lease, at: number): Promise<void>;
  /** Marks a run as started: after a crash it is not simply started again. */
  startAction(lease: Lease, id: number, at: number): Promise<void>;
  /** Puts an effect off after a failure, with its event. */
  deferAction(lease: Lease, id: number, notBefore: number, events: NewEvent[], at: number): Promise<void>;
  /**
   * The loop's own events and actions, such as declining an issue; also finishes one of its actions, and passes on what
   * people asked of tasks, and changes the loop's row. With `task`, the events are about that task, and must not be of those that change its row.
   */
  record(record: {
    lease?: Lease;
    task?: string;
    events: NewEvent[];
    at: number;
    addActions?: Action[];
    finishAction?: number;
    loop?: LoopChange;
    requests?: NewRequest[];
  }): Promise<void>;

  /**
   * Ours, or nobody's, or its owner's that lapsed or is among `dead`; null when somebody alive has it. Leases of the same boot
   * lapse by its clock, which the store is opened with; `now` and other `at`s of wall time judge the others.
   */
  acquireLease(
    key: string,
    owner: string,
    now: number,
    ttlMs: number,
    dead: (owner: string) => boolean,
  ): Promise<Lease | null>;
  /** Extends all leases of this owner that have not been taken over; returns those it still has. */
  renewLeases(owner: string, now: number, ttlMs: number): Promise<Lease[]>;
  releaseLease(lease: Lease): Promise<void>;
  /** Those that somebody has; with `key` only that one. */
  leases(key?: string): Promise<Lease[]>;

  /** Written before a child is let go. Refused with `LeaseLost` when the lease is not ours any more. */
  recordProcess(lease: Lease, child: Child): Promise<void>;
  forgetProcess(child: Child): Promise<void>;
  processes(taskId?: string): Promise<ProcessRecord[]>;

  /** In the order they started. */
  turns(taskId: string): Promise<TurnRow[]>;
  /**
   * Of the task that the lease is of. Refused with `LeaseLost` when it was taken over: whoever did reads from the agent's
   * own record what the turn used, and what an old runner finds there may be its successor's. Nothing is ever taken back.
   */
  addUsage(lease: Lease, deltas: UsageDelta[]): Promise<void>;
  /** In the order they were booked; with `since`, those of that time and later. */
  usage(of?: { task?: string | undefined; since?: number }): Promise<UsageDelta[]>;
  spend(taskId: string): Promise<Spend>;
  /** Of all tasks together, at this time and later. */
  spendSince(at: number): Promise<Spend>;
  /** Turns of which nobody knows what they used, in the order they ended. */
  unknownTurns(of?: { task?: string | undefined; since?: number }): Promise<UnknownTurn[]>;
  findings(taskId: string): Promise<Finding[]>;

  /** Also appends `request_made` with the task, which wakes the runner that owns it. */
  request(request: NewRequest): Promise<void>;
  requests(taskId: string): Promise<Request[]>;

  /** As events left them, oldest first; with `archived`, also those that another text has replaced. */
  plans(filter?: { archived?: boolean }): Promise<StoredPlan[]>;

  loop(): Promise<LoopRow>;
  /** Refused with `LeaseLost` when a lease is shown that is not ours any more. */
  updateLoop(change: LoopChange, events: NewEvent[], at: number, lease?: Lease): Promise<LoopRow>;

  /** Strictly after `after`, of `since` and later, in sequence. `last` gives only that many of the newest. */
  events(query?: EventQuery): Promise<LoopEvent[]>;
  close(): Promise<void>;
}
