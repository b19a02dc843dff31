/**
 * The row is the fold of its events. `apply` is the only place where a task changes, so replaying the events of a task
 * from the first yields its row.
 */
import { fitting } from './delivery.ts';
import type { LoopEvent } from './event.ts';
import { type Evidence, isRedAsBefore } from './gate.ts';
import { isEdge, isTerminal } from './machine.ts';
import { withSpecified } from './specification.ts';
import { born, NOT_ASKED, restarted, type Task, withCriteria } from './task.ts';

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

/** Interruptions that say nothing about the task: told to stop, out of the loop's money, a template a person has to mend. */
const isNobodys = (code: string | null): boolean =>
  code === 'runner_stopped' || code === 'out_of_budget' || code === 'prompt_broken';

/** A forge's queue drops what gets another head. */
const outOfQueue = ({ queued }: Task): Pick<Task, 'queued'> => (queued ? { queued: null } : {});
