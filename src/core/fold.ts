/**
 * The row is the fold of its events. `apply` is the only place where a task changes, so replaying the events of a task
 * from the first yields its row.
 */

import { ATTACHED, OUT_OF_BUDGET, SPEND_UNKNOWN } from './decision.ts';
import type { EventData, HoldReason, LoopEvent } from './event.ts';
import { withSpecified } from './issue/specification.ts';
import { isEdge, isTerminal } from './machine.ts';
import { failedAtOnce, triedAccount } from './money/account.ts';
import { endsSession, isNotItsDoing, REPEATING, TAMPERED, waitsForAccount } from './outcome.ts';
import { isAudit, isCoding, isInPhases } from './plan/phase.ts';
import { milestoneTitle } from './plan/plan.ts';
import { bornPlan, changedMilestone, type PlanProgress } from './plan/progress.ts';
import { countsStallsAlone, type Mishap, ROLES, type Role, roleRow } from './role.ts';
import { born, mishaps, NO_MEMORY, type RoleMemory, restarted, type Task, withCriteria } from './task.ts';
import { fitting } from './words/prompt-size.ts';

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
        landing: to === 'merging' || to === 'merged' ? task.landing : null,
        landProblem: null,
        ...(to === 'merging' ? { linedUpAt: at } : {}),
        ...(task.misfit ? { misfit: null } : {}),
        // The answers are among the actions of this very edge.
        owed: to === 'awaiting_critic' && from !== 'merging' ? [] : task.owed,
        ...(from === 'abandoned' ? restarted(task) : {}),
      };
    }
    case 'contract_updated':
      return {
        ...task,
        contract: withCriteria(happened.data.contract),
        ...(happened.data.plan && { plan: bornPlan(happened.data.plan) }),
        spec: null,
        // A critic that was told the old text begins anew with the new one.
        roles: { ...forgotten(task, 'specifier'), critic: { ...task.roles.critic, session: null } },
        verdict: null,
      };
    case 'spec_settled':
      return { ...task, spec: happened.data.spec, roles: forgotten(task, 'specifier') };
    case 'spec_expanded': {
      const { specification, status } = happened.data;
      const { contract } = task;
      const criteria =
        status === 'adopted' ? withSpecified(contract.criteria, specification, null) : contract.criteria;
      const spec = { status, specification, by: null, at: happened.at };
      return { ...task, contract: { ...contract, criteria }, spec, roles: forgotten(task, 'specifier') };
    }
    case 'spec_approved': {
      if (task.spec?.status !== 'proposed') return task;
      const { by } = happened.data;
      const { specification } = task.spec;
      const criteria = withSpecified(task.contract.criteria, specification, by);
      const spec = { status: 'adopted' as const, specification, by };
      return { ...task, contract: { ...task.contract, criteria }, spec };
    }
    case 'answer_unusable': {
      const { role, problem } = happened.data;
      const before = task.roles[role];
      return {
        ...task,
        roles: remembering(task, role, {
          unusable: before.unusable + 1,
          session: roleRow(role).session === 'continues' ? before.session : null,
          problem,
          sameProblem: before.problem === problem ? (before.sameProblem ?? 1) + 1 : 1,
        }),
      };
    }
    case 'workspace_ready':
      return {
        ...task,
        workspace: happened.data.path,
        baseSha: task.baseSha ?? happened.data.baseSha,
        streaks: { ...task.streaks, workspace: 0 },
        unprepared: null,
      };
    case 'workspace_failed':
      return {
        ...task,
        unprepared: { why: happened.data.problem, unfetched: happened.data.unfetched === true },
        retryAt: null,
        streaks: { ...task.streaks, workspace: task.streaks.workspace + 1 },
      };
    case 'workspace_lost':
      return {
        ...task,
        unprepared: { why: happened.data.why, unfetched: false },
        // What is published is not lost with it.
        head: task.state === 'awaiting_critic' ? task.head : null,
        streaks: { ...task.streaks, workspace: 0 },
      };
    case 'turn_started': {
      const { turn, role, sessionId, prompt } = happened.data;
      const isTry = triedAccount(happened.data) !== null;
      const isWork = roleRow(role).place === 'workspace';
      const carries = isWork ? fitting(task.feedback, prompt) : 0;
      const goesOn = roleRow(role).session === 'continues' || task.roles[role].session === sessionId;
      const session = goesOn ? sessionId : null;
      const started = {
        ...task,
        turn: { turn, role, sessionId, startedAt: at, carries },
        roles: remembering(task, role, { session, last: null, ...(isTry && { failed: 0, stalled: 0 }) }),
        retryAt: null,
      };
      if (!isWork) return started;
      const { sessionIds } = task;
      return {
        ...started,
        turns: turn,
        sessionIds: sessionIds.includes(sessionId) ? sessionIds : [...sessionIds, sessionId],
        head: null,
        refused: null,
      };
    }
    case 'turn_completed': {
      const { role, status, durationMs, summary } = happened.data;
      const before = task.roles[role];
      const roles = remembering(task, role, { ...afterTurn(before, happened), ...warmAfter(happened) });
      const over = { ...task, turn: null, workedMs: task.workedMs + durationMs, roles };
      if (roleRow(role).place !== 'workspace') return over;
      return {
        ...over,
        turns: countsForNothing(happened.data) ? task.turns - 1 : task.turns,
        feedback: status === 'finished' ? task.feedback.slice(task.turn?.carries ?? 0) : task.feedback,
        summary: summary ?? task.summary,
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
          idle: changed ? 0 : task.streaks.idle + (isIdle(task.roles.coder.last) ? 1 : 0),
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
        ? { ...task, gate: happened.data.evidence }
        : candidateJudged(task, happened.data);
    case 'batch_gated':
      return { ...task, landing: task.landing && { ...task.landing, testing: true } };
    case 'merge_queued':
      return { ...task, inMergeQueue: { tree: happened.data.tree, at } };
    case 'queue_shows': {
      if (!task.inMergeQueue) return task;
      const { unseenAt: _, ...queued } = task.inMergeQueue;
      return { ...task, inMergeQueue: happened.data.there ? queued : { ...queued, unseenAt: at } };
    }
    case 'queue_left':
      return { ...task, inMergeQueue: null };
    case 'trunk_unverified':
      return { ...task, unverified: happened.data };
    case 'push_rejected':
      return { ...task, published: { sha: happened.data.sha, at }, mergeInto: happened.data.sha };
    case 'update_needed':
      return { ...task, mergeInto: happened.data.mergeInto };
    case 'work_updated':
      return {
        ...task,
        mergeInto: null,
        mergedIn: happened.data.mergedIn,
        tookIn: true,
        head: happened.data.conflicts.length > 0 ? task.head : null,
      };
    case 'candidate_empty':
      return { ...task, superseded: true };
    case 'branch_pushed':
      return {
        ...task,
        inMergeQueue: null,
        published: { sha: happened.data.sha, at },
        streaks: triedAnew(task),
      };
    case 'person_pushed':
      return {
        ...task,
        // A forge's queue drops what gets another head.
        inMergeQueue: null,
        head: happened.data.head,
        headSha: happened.data.head.sha,
        published: { sha: happened.data.head.sha, at },
        superseded: false,
        streaks: triedAnew(task),
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
        roles: { ...task.roles, critic: { ...NO_MEMORY, ...conversationOf(task.roles.critic) } },
      };
    }
    case 'change_inspected': {
      const { headSha, grave, sentBack, chars, files } = happened.data;
      const inspected = { headSha, grave, ...(chars !== undefined && { chars }), ...(files && { files }) };
      return { ...task, inspected, sentBack: task.sentBack || sentBack };
    }
    case 'finding_decided': {
      const { status, settles } = happened.data;
      if (status === 'open') return { ...task, verdict: null };
      if (!settles) return task;
      return { ...task, verdict: null, feedback: task.feedback.filter(({ kind }) => kind !== 'critic') };
    }
    // Whatever was judged before did not know of it.
    case 'finding_written':
      return isInPhases(task) ? task : { ...task, verdict: null };
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
    case 'feedback_acknowledged': {
      const { ids, remarks, headSha } = happened.data;
      const owed = [...task.owed, ...remarks.map((remark) => ({ ...remark, headSha }))];
      return { ...task, acknowledged: [...task.acknowledged, ...ids], owed };
    }
    case 'remarks_ignored':
      return { ...task, ignored: [...task.ignored, ...happened.data.remarks.map(({ id }) => id)] };
    case 'candidate_built':
      return { ...task, landing: { ...happened.data, gate: null } };
    case 'line_left':
    case 'line_narrowed':
      return { ...task, landing: null, misfit: happened.data };
    case 'line_rejoined':
      return { ...task, landing: null, misfit: null, linedUpAt: at };
    case 'candidate_dropped':
      return { ...task, landing: null };
    case 'prompt_broken': {
      const { prompt, digest } = happened.data;
      return { ...task, brokenPrompt: { prompt, digest } };
    }
    case 'landing_blocked': {
      const streaks = { ...task.streaks, blocked: task.streaks.blocked + 1 };
      return { ...task, landProblem: { by: 'checkout', detail: happened.data.detail }, streaks };
    }
    case 'landing_refused': {
      const streaks = { ...task.streaks, refused: task.streaks.refused + 1, unanswered: 0 };
      return { ...task, landProblem: { by: 'forge', detail: happened.data.detail }, streaks };
    }
    case 'landing_unanswered': {
      const streaks = { ...task.streaks, unanswered: task.streaks.unanswered + 1 };
      return { ...task, streaks };
    }
    case 'merge_observed':
      return { ...task, mergedSha: happened.data.sha };
    case 'hold_set':
      return { ...task, hold: { ...happened.data, since: happened.at } };
    // Events of older versions say it by a hold_set whose time is over.
    case 'hold_released':
      return { ...task, hold: task.hold && { ...task.hold, until: 0 } };
    case 'hold_cleared': {
      const { reason, by } = happened.data;
      const { landing } = task;
      return {
        ...task,
        hold: null,
        retryAt: task.retryAt === null ? null : 0,
        roles: released(task, reason, by),
        brokenPrompt: reason === 'prompt_broken' ? null : task.brokenPrompt,
        streaks: forgiven(task, reason),
        gate: task.gate?.outcome === 'could_not_run' ? null : task.gate,
        landing: landing?.gate?.outcome === 'could_not_run' ? { ...landing, gate: null } : landing,
      };
    }
    case 'attached': {
      const { by, sessionId } = happened.data;
      return { ...task, attached: { by, sessionId, at, before: task.hold } };
    }
    case 'detached':
      return { ...task, attached: null };
    case 'retry_scheduled':
      return { ...task, retryAt: happened.data.until };
    case 'session_lost': {
      const { sessionId } = happened.data;
      const role = ROLES.find((one) => task.roles[one].session === sessionId) ?? 'coder';
      return { ...task, roles: remembering(task, role, { session: null }) };
    }
    case 'phase_entered':
      return { ...task, ...entered(task, happened.data) };
    case 'audit_recorded': {
      const { audit, phase, head, isClean, isMissing, says, summary, amendments } = happened.data;
      const { plan } = task;
      if (plan?.phase !== phase || audit <= plan.audits) return task;
      const milestones = plan.milestones.map((one, index) => {
        const amended = amendments.find(({ milestone }) => milestone === index);
        if (!amended) return one;
        return { ...one, text: amended.text, title: milestoneTitle(amended.text) ?? one.title };
      });
      return {
        ...task,
        plan: {
          ...plan,
          milestones,
          audits: audit,
          audit: { tree: head.tree, isClean, summary },
          missingAudits: isMissing ? (plan.missingAudits ?? 0) + 1 : 0,
          lastAudit: says,
          amendments: [...plan.amendments, ...amendments.map((one) => ({ ...one, audit }))],
        },
      };
    }
    case 'milestone_completed': {
      const { milestone, summary, commit, head } = happened.data;
      const { plan } = task;
      if (!plan || plan.milestones[milestone]?.done) return task;
      const milestones = changedMilestone(plan, milestone, () => ({ done: { ...summary, commit } }));
      return { ...task, head, headSha: head.sha, plan: { ...plan, milestones } };
    }
    case 'plan_stored': {
      const { id, name, status } = happened.data;
      if (task.plan?.mode !== 'draft' || status !== 'draft') return task;
      return { ...task, plan: { ...task.plan, drafted: { id, name } } };
    }
    case 'post_action_ended':
      return task.plan ? { ...task, ...acted(task.plan, happened.data) } : task;
    case 'checkout_switched':
      return task.plan ? { ...task, plan: { ...task.plan, checkout: happened.data } } : task;
    case 'recovery_failed':
      return { ...task, unrecoverable: happened.data.why };
    case 'worktree_reaped':
      return { ...task, workspace: null };
    default:
      return task;
  }
}

/** A new milestone, and the end of the last one, begin with a full allowance of turns. */
function entered(
  task: Task,
  { phase, milestone, isFresh }: Extract<LoopEvent, { type: 'phase_entered' }>['data'],
): Partial<Task> {
  const { plan } = task;
  if (!plan || (plan.phase === phase && plan.milestone === milestone)) return {};
  const isDirty = plan.audit?.isClean === false;
  const isNext = milestone !== plan.milestone;
  const isWhole = phase === 'final_auditing' && plan.phase === 'auditing';
  const isFixed = plan.phase === 'final_audit_fix';
  const roles = isAudit(phase)
    ? forgotten(task, 'auditor')
    : // What came of a post action is over, and so is its conversation.
      plan.phase === 'post_action'
      ? forgotten(task, 'coder')
      : task.roles;
  return {
    plan: {
      ...plan,
      phase,
      milestone,
      audit: null,
      ...(phase === 'post_action' && task.head && { audited: task.head }),
      iterations: plan.iterations + (isDirty ? 1 : 0),
      turnsBefore: isNext || isWhole || phase === 'delivered' ? task.turns : plan.turnsBefore,
      milestones: changedMilestone(plan, plan.milestone, (one) => ({
        attempts: one.attempts + (isDirty && phase === 'coding' ? 1 : 0),
        decisions: isAudit(phase) && !isFixed ? (task.summary ?? one.decisions) : one.decisions,
      })),
      ...(isFixed && task.summary && { fixed: task.summary }),
    },
    roles: isFresh ? { ...roles, coder: { ...roles.coder, session: null } } : roles,
    // What was said of an earlier pass says nothing of this one.
    ...(isCoding(phase) && { summary: null }),
    ...(isNext && { streaks: { ...task.streaks, idle: 0 } }),
  };
}

const acted = (
  plan: PlanProgress,
  { summary, problem, takenBack }: EventData['post_action_ended'],
): Partial<Task> => ({
  plan: {
    ...plan,
    completionSummary: summary,
    ...(problem && (takenBack ? { tookBack: problem } : { notActed: problem })),
  },
  ...(takenBack && plan.audited && { head: plan.audited, headSha: plan.audited.sha }),
});

function candidateJudged(task: Task, { evidence, within }: EventData['gate_completed']): Task {
  const { candidate, ahead } = task.landing ?? {};
  return {
    ...task,
    landing: candidate
      ? { candidate, ...(ahead && { ahead }), gate: evidence, ...(within && { within }) }
      : null,
    candidateEvidence: within ? task.candidateEvidence : evidence,
  };
}

/** Another head, or a person's word: what the forge said before does not count against it. */
const triedAnew = ({ streaks }: Task): Task['streaks'] => ({ ...streaks, refused: 0, unanswered: 0 });

function forgiven(task: Task, ended: HoldReason): Task['streaks'] {
  if (ended === 'trunk_red') return { ...task.streaks, idle: 0 };
  return ended === 'merge_refused' ? triedAnew(task) : task.streaks;
}

/** What broke it was not the task's. */
const countsForNothing = (ended: Extract<LoopEvent, { type: 'turn_completed' }>['data']): boolean =>
  ended.status === 'interrupted' || failedAtOnce(ended) || isNotItsDoing(ended.code);

/** A turn that came to nothing by itself, when nothing was changed. */
const isIdle = (last: RoleMemory['last']): boolean => last?.status === 'finished' || last?.code === REPEATING;

const ALL: readonly Mishap[] = ['unusable', 'failed', 'stalled'];

const remembering = ({ roles }: Task, role: Role, change: Partial<RoleMemory>): Task['roles'] => ({
  ...roles,
  [role]: { ...roles[role], ...change },
});

/** What it is forgiven: by a person who lets it go on, or because its account failed for everybody. */
function released(task: Task, reason: HoldReason, by: string): Task['roles'] {
  const { roles } = task;
  // A person grants one more try; a critic with other settings is another one.
  const critic = by === 'loop' ? NO_MEMORY : { releasedAt: mishaps(roles.critic, ALL) };
  if (reason === 'critic_unusable') return remembering(task, 'critic', critic);
  const isForgiven = reason === 'interrupted' || task.hold?.outage;
  if (!isForgiven) return roles;
  const clean = reason === 'interrupted' ? { interrupted: 0 } : { failed: 0, stalled: 0 };
  const fresh = ROLES.map((role) => [role, { ...roles[role], ...clean }]);
  return Object.fromEntries(fresh) as Task['roles'];
}

const forgotten = ({ roles }: Task, role: Role): Task['roles'] => ({ ...roles, [role]: NO_MEMORY });

const conversationOf = ({ session, answeredAt }: RoleMemory): Partial<RoleMemory> =>
  session === null || answeredAt === undefined ? {} : { session, answeredAt };

/**
 * Whose session goes on while it is warm goes on only after an answer, and only with all of what it was told. After anything
 * else it begins anew.
 */
function warmAfter({
  at,
  data,
}: Extract<LoopEvent, { type: 'turn_completed' }>): Pick<RoleMemory, 'session' | 'answeredAt'> | object {
  const { role, status, sessionId, shortened } = data;
  if (roleRow(role).session !== 'while_warm') return {};
  return status === 'finished' && !shortened ? { session: sessionId, answeredAt: at } : { session: null };
}

/**
 * What a role remembers when a turn of it has ended. An answer that tampered with the work is as good as none. A critic
 * whose account is used up was not asked, and a runner that was stopped blames nobody.
 */
function afterTurn(
  before: RoleMemory,
  { at, data }: Extract<LoopEvent, { type: 'turn_completed' }>,
): Partial<RoleMemory> {
  const { role, status, message, code, retryAt } = data;
  const last = { status, message, code, retryAt };
  const { unusable, failed, interrupted } = before;
  switch (status) {
    case 'finished':
      return roleRow(role).forgives === 'finished'
        ? {
            last,
            failed: 0,
            stalled: 0,
            interrupted: 0,
            failure: null,
            ...(before.outworked && { outworked: 0 }),
          }
        : { last, interrupted: 0 };
    case 'interrupted':
      return { last, interrupted: isNoFault(code) ? interrupted : interrupted + 1 };
    case 'cancelled':
      return { last, interrupted: 0 };
    case 'stalled':
      // Whose work is its answer goes on at once, and is told; whether anything came of it, its tree says.
      if (code === REPEATING && roleRow(role).place === 'workspace') return { last, interrupted: 0 };
      return { last, ...afterStall(before, data), interrupted: 0, failure: { code, message } };
    case 'failed':
    case 'timed_out': {
      if (code === TAMPERED) return { last, unusable: unusable + 1, interrupted: 0 };
      // Whoever keeps no slot from others waits for the account itself, as if it had not been asked.
      if (roleRow(role).limit === 'critics' && waitsForAccount(last, at)) return {};
      // It could not be gone on with: nothing was asked yet, and the next one begins anew.
      if (roleRow(role).session === 'while_warm' && before.session !== null && endsSession(code)) return {};
      const failure = { code, message, ...(failedAtOnce(data) && { atOnce: true as const }) };
      return { last, failed: failed + 1, interrupted: 0, failure };
    }
    default:
      return status satisfies never;
  }
}

/**
 * Whoever called tools before it went silent is not dead: its silence is the first in a row. The same call again and again is no
 * work, and where silence counts together with failures, work makes up for neither.
 */
function afterStall(
  { stalled, outworked = 0 }: RoleMemory,
  { role, worked, code }: EventData['turn_completed'],
): Partial<RoleMemory> {
  if (!worked || code === REPEATING || !countsStallsAlone(role)) return { stalled: stalled + 1 };
  return { stalled: 1, ...(stalled > 0 && { outworked: outworked + stalled }) };
}

/** Interruptions that say nothing about the task: told to stop, out of money, a template a person has to mend, a person at work in its place. */
const isNoFault = (code: string | null): boolean =>
  ['runner_stopped', OUT_OF_BUDGET, SPEND_UNKNOWN, 'prompt_broken', ATTACHED].includes(code ?? '');
