/** What a decision is made of: the facts it rests on, the answers it can give, and the small words they share. */

import type { Action, Run } from './action.ts';
import { type Said, saidAt } from './change/checks.ts';
import type { Finding } from './change/findings.ts';
import type { PullFeedback } from './change/remark.ts';
import {
  type Checkpoint,
  event,
  type HoldReason,
  type NewEvent,
  type Related,
  type TurnStatus,
} from './event.ts';
import { isTrunksRed } from './gate.ts';
import { agreedHash } from './issue/text-hash.ts';
import type { InBatch } from './line/batch.ts';
import type { InLine, Partners } from './line/line.ts';
import type { Reason, State } from './machine.ts';
import type { AccountLimit } from './money/account.ts';
import type { LoopLimit } from './money/budget.ts';
import type { Policy } from './policy.ts';
import { type RecordedVerdict, runsAlone, type Task, verdictAt } from './task.ts';
import type { ToolWatch } from './tool-watch.ts';

export interface Facts {
  /** Null when the issue is gone altogether. */
  issue: {
    state: 'open' | 'closed';
    title: string;
    body: string;
    textHash: string;
    labels: readonly string[];
    readyHash: string | null;
    readyProblem?: string;
    unproved?: { why: string; until: number };
    related?: Related;
  } | null;
  pull: {
    state: 'open' | 'closed' | 'merged';
    mergedSha: string | null;
    /** The tree of that commit, and whether a queue of the forge has it; absent where nobody can tell. */
    mergedTree?: string | null;
    inMergeQueue?: boolean;
    /** When and why a queue of the forge gave it back last; null when it did not. */
    queueLeft?: { at: number; why: string } | null;
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
  /** It may line up for trunk. */
  mergeFree: boolean;
  /** So many may be in line. */
  lineLength: number;
  /** Who is ahead of it in line, first to land first; and, of a task that stands beside it, what became of the others. */
  ahead: readonly InLine[];
  partners: Partners | null;
  /** Beside the line, the commit it is tested on top of; null where it is tested alone, or there is none now. */
  onto: string | null;
  /** Everybody in line, where they are tested together and it is one of them; null where each is tested by itself. */
  batch: readonly InBatch[] | null;
  /** Where trunk is now; null unless the task is about to land, or a red of trunk's own keeps it. */
  trunk: string | null;
  /** Its tree; null where it is not asked for. */
  trunkTree: string | null;
  /** What the candidate would bring to trunk; empty until one is built. */
  change: TouchedChange;
  /** What a loop waits for before it begins: others it was started with. */
  awaits: string | null;
  /** Why a merge could not land now, such as a dirty checkout. */
  mergeBlocker: string | null;
  /** Why nothing may be run here: a sandbox is required and there is none. */
  unconfined: string | null;
  /** Which paths of trunk have a filter that is not applied here. Asked before the first turn. */
  unfiltered: string | null;
  /** The template that could not be rendered is another one now. */
  promptChanged: boolean;
  /** The budget of the day or of the loop is spent: no turn may run. */
  loopLimit: LoopLimit | null;
  /** Accounts of providers that are used up. */
  accountLimits: readonly AccountLimit[];
  /** Why no turn may be paid for: the gate was not tried on trunk, or can't run there. */
  untried: string | null;
  /** No new run may start: the loop is paused or draining. */
  paused: string | null;
  /** An effect that can't be performed now; until it can, only an ending is decided. */
  stuck: string | null;
  /** The run at work, or about to be started. */
  inFlight: { action: Run; startedAt: number; lastProgressAt: number; tools: ToolWatch } | null;
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
  /** `for` says what ends the rest: a grant of the schedule (and of what), a time, money, a gate that runs, or a changed fact. */
  | {
      kind: 'rest';
      why: string;
      until: number | null;
      for: 'grant' | 'time' | 'budget' | 'gate' | 'fact';
      grant?: 'slot' | 'critic' | 'merge';
    }
  | { kind: 'stop'; status: StopStatus; why: string; code: string | null }
  | Act;

export interface Act {
  kind: 'act';
  events: NewEvent[];
  actions: Action[];
  limits?: { slots?: number; critics?: number; merging?: number };
  /** The account a turn is to be paid by; the commit is refused when it is used up by then. */
  account?: string;
  consume?: number[];
  /** Findings as they are from now on. */
  findings?: Finding[];
}

export const act = (events: NewEvent[], actions: Action[] = []): Act => ({ kind: 'act', events, actions });

export const MAX_WORKSPACE_FAILURES = 3;

/** Three quarters of an hour of tries: what could not be fetched until then needs a person. */
export const MAX_FETCH_FAILURES = 12;

/** A quarter of an hour of tries: what the forge refuses to land until then needs a person. */
export const MAX_LANDING_REFUSALS = 8;

/** So late a forge may show what its queue made of a pull request. */
export const QUEUE_LAG_MS = 300_000;

/** The transition event, with what a reader of the log wants to see beside it. */
export function transition(task: Task, to: State, why: string, reason: Reason | null = null): NewEvent {
  return event('worker_state_transition', {
    from: task.state,
    to,
    reason,
    why,
    sessionId: task.roles.coder.session,
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

export const awaitGrant = (grant: 'slot' | 'critic' | 'merge', why: string): Decision => ({
  kind: 'rest',
  why,
  until: null,
  for: 'grant',
  grant,
});

/** How many may have a slot when this task takes one. */
export const slotLimit = (task: Task, policy: Policy): number => (runsAlone(task) ? 1 : policy.maxConcurrent);

/** What it waits for when it is granted none. */
export const slotWords = (task: Task): string =>
  runsAlone(task) ? 'it runs alone, once no other turn is at work' : 'waiting for a slot';

export const stop = (status: StopStatus, why: string, code: string | null = null): Decision => ({
  kind: 'stop',
  status,
  why,
  code,
});

/** One candidate at a time: a task that has to wait must not keep the merge from others. */
export const stepAside = (task: Task, why: string, ...events: NewEvent[]): Decision =>
  act([...putAside(task, why), ...events]);

export const putAside = (task: Task, why: string): NewEvent[] => [
  event('candidate_dropped', { why }),
  transition(task, 'awaiting_critic', why),
];

export const isGateEmpty = (policy: Policy): boolean =>
  policy.gate.commands !== 'none' && policy.gate.commands.length === 0;

export const gateEmpty = (): NewEvent => hold('gate_empty', 'no gate.commands are configured');

/** A turn that was stopped for the loop's budget; it waits, and then goes on where it was. */
export const OUT_OF_BUDGET = 'out_of_budget';

/** A turn that was stopped since its budget may be spent, and nobody knows whether it is: a person says whether it goes on. */
export const SPEND_UNKNOWN = 'spend_unknown';

/** A turn that was stopped, or never begun, for a person who works in its place. */
export const ATTACHED = 'attached';

export const waitedFor = (task: Task, now: number): boolean => task.retryAt !== null && now >= task.retryAt;

export function approvalFor(task: Task, facts: Facts): { by: string } | null {
  return facts.pull?.approvals.find((one) => one.headSha === task.head?.sha) ?? null;
}

export const verdictAtHead = (task: Task): RecordedVerdict | null => verdictAt(task, task.head?.sha ?? null);

export const approvedAtHead = (task: Task): boolean => verdictAtHead(task)?.verdict === 'APPROVE';

/** What was said about the task's head; null when nobody could be asked. */
export const saidOf = ({ head }: Task, { feedback }: Pick<Facts, 'feedback'>, policy: Policy): Said | null =>
  saidAt(head?.sha ?? null, feedback, policy);

/** What the rules found at this head that no critic can outweigh and nobody has decided about. */
export const graveOf = (task: Task, facts: Facts): Finding[] =>
  facts.openFindings.filter(
    ({ id }) => task.inspected?.headSha === task.head?.sha && task.inspected?.grave.includes(id),
  );

/** The text is not the one that was agreed to. */
export const isEdited = (task: Task, facts: Facts): boolean =>
  (facts.issue !== null && facts.issue.textHash !== agreedHash(task.contract)) || isDisproved(task, facts);

/** What the task works to was not agreed to: the issue had been edited, and its history shows it only now. */
export const isDisproved = (task: Task, { issue }: Facts): boolean =>
  issue !== null && issue.readyHash !== null && issue.readyHash !== agreedHash(task.contract);

/** The issue was edited and then made ready again in its new form, by somebody who may. */
export const hasNewContract = (task: Task, { issue }: Facts): boolean =>
  issue !== null &&
  issue.textHash !== agreedHash(task.contract) &&
  issue.readyHash === issue.textHash &&
  issue.readyProblem === undefined &&
  issue.unproved === undefined;

/** What the forge says of its queue, where it has given this back since it was put in. */
export function givenBack({ inMergeQueue }: Task, { pull }: Facts): string | null {
  const left = pull?.queueLeft;
  return inMergeQueue && left && left.at > (inMergeQueue.at ?? 0) ? left.why : null;
}

/** Text shaped like a secret, at this head, that nobody has decided about. */
export const secretsIn = (task: Task, facts: Facts): Finding[] =>
  graveOf(task, facts).filter(({ category }) => category === 'secret');

/** A red that trunk has too may be gone on a newer trunk: the commit to take in before anything else is tried. */
export function newerTrunk({ gate, baseSha, mergedIn }: Task, { trunk }: Facts): string | null {
  if (trunk === null || gate === null || !isTrunksRed(gate)) return null;
  return trunk === baseSha || trunk === mergedIn ? null : trunk;
}

export const personPushed = (task: Task, facts: Facts): boolean =>
  task.state === 'awaiting_critic' && facts.branch !== null && facts.branch.sha !== task.published?.sha;
