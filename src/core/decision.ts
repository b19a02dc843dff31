/** What a decision is made of: the facts it rests on, the answers it can give, and the small words they share. */
import { createHash } from 'node:crypto';
import type { AccountLimit } from './account.ts';
import type { Action, Run } from './action.ts';
import type { LoopLimit } from './budget.ts';
import {
  type Checkpoint,
  event,
  type HoldReason,
  type NewEvent,
  type Related,
  type TurnStatus,
} from './event.ts';
import { approvedWith, type Finding } from './findings.ts';
import type { Evidence } from './gate.ts';
import type { Reason, State } from './machine.ts';
import type { Policy } from './policy.ts';
import type { PullFeedback } from './remark.ts';
import type { Task } from './task.ts';
import { agreedHash } from './text-hash.ts';
import { couldNotRunComment, couldNotRunText, holderOf, pullBody, pullTitle, refusedText } from './words.ts';

export interface Facts {
  /** Null when the issue is gone altogether. */
  issue: {
    state: 'open' | 'closed';
    title: string;
    body: string;
    textHash: string;
    labels: readonly string[];
    readyHash: string | null;
    related?: Related;
  } | null;
  pull: {
    state: 'open' | 'closed' | 'merged';
    mergedSha: string | null;
    /** The tree of that commit, and whether a queue of the forge has it; absent where nobody can tell. */
    mergedTree?: string | null;
    queued?: boolean;
    approvals: readonly { headSha: string; by: string }[];
  } | null;
  /** What people and CI said about it; null when it was not asked for, or there is no pull request. */
  feedback: PullFeedback | null;
  /** The published branch; null when it does not exist. */
  branch: Checkpoint | null;
  /** Lower bounds when `complete` is false. */
  spend: { costUsd: number; tokens: number; complete?: boolean };
  openFindings: readonly Finding[];
  /** Every finding, whatever its status. */
  ledger: readonly Finding[];
  requests: readonly Asked[];
  /** What the schedule grants this task now. */
  slot: boolean;
  criticSlot: boolean;
  mergeFree: boolean;
  /** What the candidate would bring to trunk; empty until one is built. */
  change: TouchedChange;
  /** Why a merge could not land now, such as a dirty checkout. */
  mergeBlocker: string | null;
  /** Why nothing may be run here: a sandbox is required and there is none. */
  unconfined: string | null;
  /** The template that could not be rendered is another one now. */
  promptChanged: boolean;
  /** The budget of the day or of the loop is spent: no turn may run. */
  loopLimit: LoopLimit | null;
  /** Accounts of providers that are used up. */
  accountLimits: readonly AccountLimit[];
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

/** `guarded` are files that the gate itself rests on. */
export interface TouchedChange {
  files: readonly string[];
  secrets: readonly string[];
  guarded: readonly string[];
}

/** What a person asked; `finding` and `why` only where a finding is decided. */
export interface Asked {
  id: number;
  kind: string;
  by: string;
  finding?: string | null;
  why?: string | null;
  head?: string | null;
}
/** `interrupted` is for what is no fault of the turn: it is resumed, and does not count. */
type StopStatus = Extract<TurnStatus, 'cancelled' | 'stalled' | 'timed_out' | 'interrupted'>;

export type Decision =
  /** `for` says what ends the rest: a grant of the schedule, a time, money, or a changed fact. */
  | { kind: 'rest'; why: string; until: number | null; for: 'grant' | 'time' | 'budget' | 'fact' }
  | { kind: 'stop'; status: StopStatus; why: string; code: string | null }
  | {
      kind: 'act';
      events: NewEvent[];
      actions: Action[];
      limits?: { slots?: number; critics?: number; merging?: number };
      /** The account a turn is to be paid by; the commit is refused when it is used up by then. */
      account?: string;
      consume?: number[];
      /** Findings as they are from now on. */
      findings?: Finding[];
    };

export const MAX_INTERRUPTED = 3;

export const MAX_FAILED = 3;

/** What nobody here can mend and time does: with the waits between them, a quarter of an hour. */
export const MAX_FAILED_BY_PROVIDER = 8;
const PROVIDERS_OWN = ['overload', 'rate_limit', 'network'];

/** How many failed turns in a row end a task, by the code of the last one. */
export function mostFailures(code: string | null): number {
  if (code === 'auth') return Number.POSITIVE_INFINITY;
  return PROVIDERS_OWN.includes(code ?? '') ? MAX_FAILED_BY_PROVIDER : MAX_FAILED;
}

/** A credential that is refused would be refused to every issue of the night: it waits for a person, and ends none. */
export function holdsLoop(
  { code, message }: { code: string | null; message: string },
  failed: number,
): Action[] {
  if (code !== 'auth' || failed < MAX_FAILED) return [];
  return [{ kind: 'hold_loop', by: holderOf({ why: refusedText(message) }) }];
}

export const MAX_STALLED = 5;

export const MAX_WORKSPACE_FAILURES = 3;

export const MAX_CRITIC_BACKOFFS = 5;

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

export const hold = (reason: HoldReason, detail: string, until: number | null = null): NewEvent =>
  event('hold_set', { reason, detail, until });

export const rest = (why: string, until: number | null = null): Decision => ({
  kind: 'rest',
  why,
  until,
  for: until === null ? 'fact' : 'time',
});

export const awaitGrant = (why: string): Decision => ({ kind: 'rest', why, until: null, for: 'grant' });

export const stop = (status: StopStatus, why: string, code: string | null = null): Decision => ({
  kind: 'stop',
  status,
  why,
  code,
});

/** One candidate at a time: a task that has to wait must not keep the merge from others. */
export const stepAside = (task: Task, why: string, ...events: NewEvent[]): Decision => ({
  kind: 'act',
  events: [...putAside(task, why), ...events],
  actions: [],
});

export const putAside = (task: Task, why: string): NewEvent[] => [
  event('candidate_dropped', { why }),
  transition(task, 'awaiting_critic', why),
];

/** Nobody's failure and never a pass: it waits for a person, who is told once for each thing that is broken. */
export function gateBroken(task: Task, gate: Evidence): Extract<Decision, { kind: 'act' }> {
  const detail = couldNotRunText(gate);
  const marker = `${task.id}:could-not-run:${createHash('sha256').update(detail).digest('hex').slice(0, 12)}`;
  const notice: Action[] =
    task.issue === null
      ? []
      : [{ kind: 'comment', issue: task.issue, marker, body: couldNotRunComment(task.issue, gate) }];
  return { kind: 'act', events: [hold('gate_could_not_run', detail)], actions: notice };
}

export const isGateEmpty = (policy: Policy): boolean =>
  policy.gate.commands !== 'none' && policy.gate.commands.length === 0;

export const gateEmpty = (): NewEvent => hold('gate_empty', 'no gate.commands are configured');

/** A turn that was stopped for the loop's budget; it waits, and then goes on where it was. */
export const OUT_OF_BUDGET = 'out_of_budget';

export const waitedFor = (task: Task, now: number): boolean => task.retryAt !== null && now >= task.retryAt;

const approval = (task: Task, headSha: string, by: string): NewEvent =>
  event('verdict_recorded', {
    headSha,
    verdict: 'APPROVE',
    by,
    round: task.criticRounds,
    blocking: [],
    criteria: [],
  });

/** A person's approval of the head, what it decides in the ledger, and the pull request's text that tells of it. */
export function approve(
  task: Task,
  facts: Facts,
  by: string,
  now: number,
): { events: NewEvent[]; actions: Action[]; findings: Finding[] } {
  const headSha = task.head!.sha;
  const verdict = { headSha, verdict: 'APPROVE' as const, by, round: task.criticRounds, criteria: [] };
  return {
    events: [approval(task, headSha, by)],
    actions: updatePull({ ...task, verdict }),
    findings: approvedWith(facts.openFindings, { by, at: now, sha: headSha }),
  };
}

/** The text of the pull request as this row tells it; said again after every verdict. */
export function updatePull(task: Task): Action[] {
  if (task.pull === null) return [];
  return [{ kind: 'update_pull', pull: task.pull, title: pullTitle(task), body: pullBody(task) }];
}

export function approvalFor(task: Task, facts: Facts): { by: string } | null {
  return facts.pull?.approvals.find((one) => one.headSha === task.head?.sha) ?? null;
}

export const approvedAtHead = (task: Task): boolean =>
  task.verdict?.verdict === 'APPROVE' && task.verdict.headSha === task.head?.sha;

/** What the rules found at this head that no critic can outweigh and nobody has decided about. */
export const graveOf = (task: Task, facts: Facts): Finding[] =>
  facts.openFindings.filter(
    ({ id }) => task.inspected?.headSha === task.head?.sha && task.inspected?.grave.includes(id),
  );

/** The text is not the one that was agreed to. */
export const isEdited = (task: Task, { issue }: Facts): boolean =>
  issue !== null && issue.textHash !== agreedHash(task.contract);

/** Text shaped like a secret, at this head, that nobody has decided about. */
export const secretsIn = (task: Task, facts: Facts): Finding[] =>
  graveOf(task, facts).filter(({ category }) => category === 'secret');

export const personPushed = (task: Task, facts: Facts): boolean =>
  task.state === 'awaiting_critic' && facts.branch !== null && facts.branch.sha !== task.pushedSha;
