/**
 * A task: our durable record of one attempt at one issue.
 *
 * The row is the fold of its events. `apply` is the only place where a task changes, so replaying the events of a task
 * from the first yields its row.
 */

import { fitting } from './delivery.ts';
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
import { type Evidence, isRedAsBefore } from './gate.ts';
import { isEdge, isTerminal, type Reason, type State } from './machine.ts';
import type { Role } from './policy.ts';
import type { RemarkRef } from './remark.ts';
import { type Spec, withSpecified } from './specification.ts';
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

/** A forge's queue drops what gets another head. */
const outOfQueue = ({ queued }: Task): Pick<Task, 'queued'> => (queued ? { queued: null } : {});

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

export const isEnded = (task: Task): boolean => isTerminal(task.state);

export function fold(id: string, events: readonly LoopEvent[]): Task {
  let task: Task | null = null;
  for (const happened of events) if (happened.task === id) task = apply(task, happened);
  if (!task) throw new Error(`no task_created among the events of ${id}`);
  return task;
}

/** The next row. Events that say nothing about the row leave it as it is. */
export function apply(task: Task | null, happened: LoopEvent): Task {
  if (happened.type === 'task_created') return born(happened.task ?? '', happened.data, happened.at);
  if (!task) throw new Error(`${happened.type} before task_created`);
  const at = happened.at;
  switch (happened.type) {
    case 'worker_state_transition': {
      const { from, to, reason, why } = happened.data;
      const here = from === 'none' ? 'queued' : from;
      if (here !== task.state || !isEdge(from, to)) {
        throw new Error(`task ${task.id} has no edge ${task.state} → ${to} (event said ${from})`);
      }
      return {
        ...task,
        state: to,
        reason,
        why,
        startedAt: to === 'dispatched' ? (task.startedAt ?? at) : task.startedAt,
        endedAt: isTerminal(to) ? at : null,
        hold: isTerminal(to) || from === 'abandoned' ? null : task.hold,
        candidate: to === 'merging' || to === 'merged' ? task.candidate : null,
        candidateGate: to === 'merging' || to === 'merged' ? task.candidateGate : null,
        // The answers are among the actions of this very edge.
        owed: to === 'awaiting_critic' && from !== 'merging' ? [] : task.owed,
        ...(from === 'abandoned' ? restarted(task) : {}),
      };
    }
    case 'contract_updated':
      return {
        ...task,
        contract: withCriteria(happened.data.contract),
        spec: null,
        specifier: NOT_ASKED,
        verdict: null,
      };
    case 'spec_settled':
      return { ...task, spec: happened.data.spec, specifier: NOT_ASKED };
    case 'spec_expanded': {
      const { specification, status } = happened.data;
      const { contract } = task;
      const criteria =
        status === 'adopted' ? withSpecified(contract.criteria, specification, null) : contract.criteria;
      const spec = { status, specification, by: null };
      return { ...task, contract: { ...contract, criteria }, spec, specifier: NOT_ASKED };
    }
    case 'spec_approved': {
      if (task.spec?.status !== 'proposed') return task;
      const { by } = happened.data;
      const { specification } = task.spec;
      const criteria = withSpecified(task.contract.criteria, specification, by);
      const spec = { status: 'adopted' as const, specification, by };
      return { ...task, contract: { ...task.contract, criteria }, spec };
    }
    case 'specifier_failed':
      return {
        ...task,
        specifier: {
          ...task.specifier,
          unusable: task.specifier.unusable + 1,
          problem: happened.data.problem,
        },
      };
    case 'workspace_ready':
      return {
        ...task,
        workspace: happened.data.path,
        baseSha: task.baseSha ?? happened.data.baseSha,
        streaks: { ...task.streaks, workspace: 0 },
        ...(task.unprepared ? { unprepared: null } : {}),
      };
    case 'workspace_failed':
      return {
        ...task,
        unprepared: happened.data.problem,
        retryAt: null,
        streaks: { ...task.streaks, workspace: task.streaks.workspace + 1 },
      };
    case 'turn_started': {
      const { turn, role, sessionId, prompt } = happened.data;
      const current = {
        turn,
        role,
        sessionId,
        startedAt: at,
        delivers: role === 'coder' ? fitting(task.feedback, prompt) : 0,
      };
      if (role !== 'coder') return { ...task, turn: current, retryAt: null };
      return {
        ...task,
        turn: current,
        turns: turn,
        sessionId,
        sessionIds: task.sessionIds.includes(sessionId) ? task.sessionIds : [...task.sessionIds, sessionId],
        head: null,
        refused: null,
        retryAt: null,
        lastTurn: null,
      };
    }
    case 'turn_completed': {
      const { role, status, durationMs, message, code, retryAt, summary } = happened.data;
      const workedMs = task.workedMs + durationMs;
      if (role === 'specifier')
        return { ...task, turn: null, workedMs, specifier: afterSpecifier(task.specifier, happened.data) };
      if (role !== 'coder') return { ...task, turn: null, workedMs, criticBroke: code };
      const { streaks } = task;
      return {
        ...task,
        turn: null,
        workedMs,
        turns: status === 'interrupted' ? task.turns - 1 : task.turns,
        feedback: status === 'finished' ? task.feedback.slice(task.turn?.delivers ?? 0) : task.feedback,
        lastTurn: { status, message, code, retryAt },
        ...(summary && { summary }),
        streaks: {
          ...streaks,
          interrupted: status === 'interrupted' ? streaks.interrupted + (isNobodys(code) ? 0 : 1) : 0,
          failed:
            status === 'failed' || status === 'timed_out'
              ? streaks.failed + 1
              : status === 'finished'
                ? 0
                : streaks.failed,
          stalled: status === 'stalled' ? streaks.stalled + 1 : status === 'finished' ? 0 : streaks.stalled,
        },
      };
    }
    case 'checkpointed': {
      const { head, baseSha, changed, empty } = happened.data;
      return {
        ...task,
        head,
        headSha: head.sha,
        baseSha,
        empty,
        tookIn: task.tookIn && empty,
        refused: null,
        streaks: {
          ...task.streaks,
          idle: changed ? 0 : task.streaks.idle + (task.lastTurn?.status === 'finished' ? 1 : 0),
          workspace: 0,
        },
      };
    }
    case 'checkpoint_refused':
      return {
        ...task,
        refused: happened.data.problem,
        streaks: { ...task.streaks, workspace: task.streaks.workspace + 1 },
      };
    case 'gate_completed':
      if (happened.data.scope === 'trunk')
        return happened.data.evidence.outcome === 'pass' ? { ...task, unverified: null } : task;
      return happened.data.scope === 'work'
        ? { ...task, gate: happened.data.evidence, streaks: afterGate(task, happened.data.evidence) }
        : { ...task, candidateGate: happened.data.evidence, candidateEvidence: happened.data.evidence };
    case 'merge_queued':
      return { ...task, queued: happened.data };
    case 'queue_left':
      return { ...task, queued: null };
    case 'trunk_unverified':
      return { ...task, unverified: happened.data };
    case 'push_rejected':
      return { ...task, pushedSha: happened.data.sha, pushedAt: at, mergeInto: happened.data.sha };
    case 'update_needed':
      return { ...task, mergeInto: happened.data.mergeInto };
    case 'work_updated':
      return {
        ...task,
        mergeInto: null,
        tookIn: true,
        head: happened.data.conflicts.length > 0 ? task.head : null,
      };
    case 'candidate_empty':
      return { ...task, superseded: true };
    case 'branch_pushed':
      return { ...task, ...outOfQueue(task), pushedSha: happened.data.sha, pushedAt: at };
    case 'person_pushed':
      return {
        ...task,
        ...outOfQueue(task),
        head: happened.data.head,
        headSha: happened.data.head.sha,
        pushedSha: happened.data.head.sha,
        pushedAt: at,
        superseded: false,
        feedback: task.feedback.filter(({ kind }) => !['critic', 'gate', 'ci'].includes(kind)),
      };
    case 'pull_ensured':
      return { ...task, pull: happened.data.pull };
    case 'verdict_recorded': {
      const { headSha, verdict, by, round } = happened.data;
      return {
        ...task,
        verdict: { headSha, verdict, by, round, criteria: happened.data.criteria ?? [] },
        criticRounds: round,
        changeRequests: task.changeRequests + (verdict === 'REQUEST_CHANGES' ? 1 : 0),
        streaks: { ...task.streaks, critic: 0 },
        reportProblem: null,
      };
    }
    case 'change_inspected': {
      const { headSha, grave, sentBack } = happened.data;
      return { ...task, inspected: { headSha, grave }, sentBack: task.sentBack || sentBack };
    }
    case 'finding_decided': {
      const { status, settles } = happened.data;
      if (status === 'open') return { ...task, verdict: null };
      if (!settles) return task;
      return { ...task, verdict: null, feedback: task.feedback.filter(({ kind }) => kind !== 'critic') };
    }
    case 'critic_failed':
      return {
        ...task,
        streaks: { ...task.streaks, critic: task.streaks.critic + 1 },
        ...(happened.data.unusable ? { reportProblem: happened.data.problem } : {}),
      };
    case 'feedback_added': {
      const { feedback } = happened.data;
      // A person's word is new work: turns that changed nothing before it do not count against it.
      const idle = feedback.kind === 'review' ? 0 : task.streaks.idle;
      return { ...task, feedback: [...task.feedback, feedback], streaks: { ...task.streaks, idle } };
    }
    case 'feedback_withdrawn':
      return {
        ...task,
        feedback: task.feedback.filter(({ id }) => id === undefined || !happened.data.ids.includes(id)),
      };
    case 'feedback_delivered': {
      const { ids, remarks, headSha } = happened.data;
      const owed = [...task.owed, ...remarks.map((remark) => ({ ...remark, headSha }))];
      return { ...task, delivered: [...task.delivered, ...ids], owed };
    }
    case 'remarks_ignored':
      return { ...task, ignored: [...task.ignored, ...happened.data.remarks.map(({ id }) => id)] };
    case 'candidate_built':
      return { ...task, candidate: happened.data.candidate, candidateGate: null };
    case 'candidate_dropped':
      return { ...task, candidate: null, candidateGate: null };
    case 'prompt_broken': {
      const { prompt, digest } = happened.data;
      return { ...task, brokenPrompt: { prompt, digest } };
    }
    case 'landing_blocked': {
      const { streaks } = task;
      const landing = (streaks.landing ?? 0) + 1;
      return { ...task, landProblem: happened.data.detail, streaks: { ...streaks, landing } };
    }
    case 'merge_observed':
      return { ...task, mergedSha: happened.data.sha };
    case 'hold_set': {
      const told = happened.data.reason === 'dirty_checkout' && task.landProblem ? { landProblem: null } : {};
      return { ...task, hold: happened.data, ...told };
    }
    case 'hold_cleared':
      return {
        ...task,
        hold: null,
        retryAt: task.retryAt === null ? null : 0,
        criticHeldOnce: task.criticHeldOnce || happened.data.reason === 'critic_unusable',
        ...(happened.data.reason === 'prompt_broken' ? { brokenPrompt: null } : {}),
        ...(happened.data.reason === 'trunk_red' ? { streaks: { ...task.streaks, redBefore: 0 } } : {}),
        gate: task.gate?.outcome === 'could_not_run' ? null : task.gate,
        candidateGate: task.candidateGate?.outcome === 'could_not_run' ? null : task.candidateGate,
      };
    case 'retry_scheduled':
      return { ...task, retryAt: happened.data.until };
    case 'session_lost':
      return { ...task, sessionId: null };
    case 'recovery_failed':
      return { ...task, unrecoverable: happened.data.why };
    case 'worktree_reaped':
      return { ...task, workspace: null };
    default:
      return task;
  }
}

/** An answer that tampered with the work is as good as none; every other failure says nothing about the issue. */
function afterSpecifier(
  before: Task['specifier'],
  { status, code, message, retryAt }: Extract<LoopEvent, { type: 'turn_completed' }>['data'],
): Task['specifier'] {
  if (status === 'cancelled') return before;
  if (status === 'interrupted')
    return { ...before, interrupted: before.interrupted + (isNobodys(code) ? 0 : 1) };
  if (status === 'finished') return { ...before, failed: 0, interrupted: 0, last: null };
  const tampered = code === 'critic_wrote';
  return {
    unusable: before.unusable + (tampered ? 1 : 0),
    failed: before.failed + (tampered ? 0 : 1),
    interrupted: 0,
    last: { code, message, retryAt },
    ...(before.problem === undefined ? {} : { problem: before.problem }),
  };
}

function afterGate({ streaks }: Task, evidence: Evidence): Task['streaks'] {
  return { ...streaks, redBefore: isRedAsBefore(evidence) ? (streaks.redBefore ?? 0) + 1 : 0 };
}

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

const NOT_ASKED: Task['specifier'] = { unusable: 0, failed: 0, interrupted: 0, last: null };

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

const withCriteria = (contract: Contract): Contract => ({ ...contract, criteria: contract.criteria ?? [] });

/** Interruptions that say nothing about the task: told to stop, out of the loop's money, a template a person has to mend. */
const isNobodys = (code: string | null): boolean =>
  code === 'runner_stopped' || code === 'out_of_budget' || code === 'prompt_broken';

type Birth = Extract<LoopEvent, { type: 'task_created' }>['data'];

function born(id: string, birth: Birth, at: number): Task {
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
function restarted({ spec }: Task): Partial<Task> {
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
