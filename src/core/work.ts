/** From a slot to a published head: workspace, turns, gate, pull request. */

import type { Action } from './action.ts';
import type { Finding } from './change/findings.ts';
import { code, nextTurn, redGate, SAME_AS_REVIEWED, SAME_AS_TRUNK } from './coder.ts';
import {
  type Act,
  act,
  awaitGrant,
  type Decision,
  type Facts,
  gateEmpty,
  graveOf,
  hold,
  isGateEmpty,
  MAX_FETCH_FAILURES,
  MAX_WORKSPACE_FAILURES,
  newerTrunk,
  secretsIn,
  slotLimit,
  slotWords,
  transition,
  verdictAtHead,
  waitedFor,
} from './decision.ts';
import { abandon, adopt, finish, takenBack } from './ending.ts';
import { type Checkpoint, event, type NewEvent } from './event.ts';
import { type Evidence, gateDigest, holdsFor, isAskedFor, isTrunksRed } from './gate.ts';
import { backoffMs } from './line/schedule.ts';
import { endsSession, isNotItsDoing, WORKSPACE_LOST } from './outcome.ts';
import { advance, afterPostAction } from './plan/advance.ts';
import { draft, isDraft } from './plan/draft.ts';
import { isAudit, isCoding, isInPhases } from './plan/phase.ts';
import type { Policy } from './policy.ts';
import { doubts, propose, specify } from './specify.ts';
import { type RoleMemory, type Task, verdictAt } from './task.ts';
import { digestOf } from './text/digest.ts';
import { nextTry } from './turn.ts';
import { addressedText, couldNotRunComment, redBeforeComment } from './words/comments.ts';
import { gateFailureText, redText } from './words/gate-text.ts';
import { auditedText } from './words/plan-text.ts';
import { brokenText, couldNotRunText, redBeforeText } from './words/words.ts';

export function dispatch(task: Task, facts: Facts, policy: Policy): Decision {
  if (task.spec?.status === 'proposed') return propose(task);
  if (facts.awaits) return act([hold('waits_for_loops', facts.awaits)]);
  if (!facts.slot) return awaitGrant('slot', slotWords(task));
  return {
    // A workspace is made when it is clear that there will be work in it.
    ...act(
      [transition(task, 'dispatched', 'a slot was granted')],
      doubts(task, policy) || isDraft(task) ? [] : [{ kind: 'prepare_workspace' }],
    ),
    limits: { slots: slotLimit(task, policy) },
  };
}

export function prepare(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (isDraft(task)) return draft(task, facts, policy, now);
  const unsettled = specify(task, facts, policy, now);
  if (unsettled) return unsettled;
  if (task.workspace && task.baseSha && task.streaks.workspace === 0) {
    const ready = transition(task, 'running', 'its workspace is ready');
    const isCodersTurn = !isInPhases(task) || isCoding(task.plan.phase);
    if (!isCodersTurn || isPublished(task, task.headSha)) return act([ready], [{ kind: 'checkpoint' }]);
    return code(task, facts, policy, leftOpen(task), { before: [ready] });
  }
  const { workspace: failures } = task.streaks;
  if (!task.unprepared?.unfetched && failures >= MAX_WORKSPACE_FAILURES)
    return finish(task, abandon('workspace_failed'), facts, policy, now);
  if (failures === 0) return act([], [{ kind: 'prepare_workspace' }]);
  return act([
    transition(task, 'queued', 'its workspace could not be prepared'),
    waitForWorkspace(task, 'preparing its workspace failed', facts, policy, now),
  ]);
}

/** What could not be fetched is nobody's fault: it is tried for a while, then a person is told. */
function waitForWorkspace(
  task: Task,
  otherwise: string,
  { jitter }: Facts,
  { maxBackoffMs }: Policy,
  now: number,
): NewEvent {
  const { streaks, unprepared } = task;
  const detail = unprepared?.unfetched ? unprepared.why : otherwise;
  if (unprepared?.unfetched && streaks.workspace >= MAX_FETCH_FAILURES) return hold('fetch_failed', detail);
  return hold('retry_backoff', detail, now + backoffMs(streaks.workspace, jitter, maxBackoffMs));
}

/** A restart goes on from what was verified and published, where nobody asked for changes to it: no coder is needed. */
function isPublished(task: Task, sha: string | null): boolean {
  const { published, pull, feedback, mergeInto } = task;
  if (sha === null || published?.sha !== sha || pull === null) return false;
  const verdict = verdictAt(task, sha);
  const isRefused = verdict !== null && verdict.verdict !== 'APPROVE';
  return !isRefused && feedback.length === 0 && mergeInto === null;
}

/** After a turn: save, judge how it ended, verify, publish. */
export function work(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  const { head } = task;
  const { last } = task.roles.coder;
  if (task.unprepared) return prepareAgain(task, task.unprepared, facts, policy, now);
  if (isInPhases(task) && task.plan.phase === 'post_action')
    return verifyAction(task, facts, policy) ?? afterPostAction(task, facts, policy, now);
  if (task.refused !== null) return afterRefusal(task, task.refused, facts, policy, now);
  if (head === null) return act([], [{ kind: 'checkpoint' }]);
  const isDelivered = task.plan?.phase === 'delivered';
  const isCoded = isDelivered || (isInPhases(task) && isAudit(task.plan.phase));
  if (task.turns === 0 && last === null && !isCoded && !isPublished(task, head.sha))
    return code(task, facts, policy, leftOpen(task));
  if (last && last.status !== 'finished') return afterBrokenTurn(task, last, facts, policy, now);
  if (task.mergeInto !== null) return act([], [{ kind: 'merge_in', sha: task.mergeInto }]);
  if (task.feedback.length > 0) return nextTurn(task, facts, policy, now, 'There is feedback to address.');
  // Where an audit follows, a pass that changes nothing may be right.
  const isDone = isDelivered || (isInPhases(task) && task.plan.mode === 'loop');
  if (task.empty && task.tookIn && !isDone) return afterTakingIn(task, facts, policy, now);
  if (task.empty && !isDone) return nextTurn(task, facts, policy, now, SAME_AS_TRUNK);
  if (task.state === 'revising' && verdictAtHead(task)?.verdict === 'REQUEST_CHANGES') {
    return nextTurn(task, facts, policy, now, SAME_AS_REVIEWED);
  }

  const gate = evidenceAt(head, task, policy);
  if (!gate) return verify(head, task, policy);
  if (gate.outcome === 'could_not_run') return gateBroken(task, gate);
  if (gate.outcome === 'fail') return afterRed(task, gate, facts, policy, now);
  const looked = inspectFirst(head, task, facts);
  if (looked) return looked;
  return isInPhases(task)
    ? (awaitDecision(task, facts) ?? advance(task, head, facts, policy, now))
    : publish(task, head);
}

/** A gate that the work itself changed proves nothing: no milestone is passed on it, and no branch delivered. */
function awaitDecision(task: Task, facts: Facts): Decision | null {
  const grave = graveOf(task, facts);
  return grave.length > 0 ? act([hold('verification_changed', foundText(grave))]) : null;
}

/**
 * What a post action changed on a branch that nobody judges after it: it stays where it passes what all work has to pass,
 * else it is taken back. Null where there is nothing to verify (any more).
 */
function verifyAction(task: Task, facts: Facts, policy: Policy): Decision | null {
  const { head, plan } = task;
  const { audited, delivers } = plan ?? {};
  if (!head || !audited || delivers !== 'branch' || head.tree === audited.tree) return null;
  const gate = evidenceAt(head, task, policy);
  if (!gate) return verify(head, task, policy);
  const takeBack = (why: string): Decision => act([takenBack(audited, why)], [adopt(audited)]);
  if (gate.outcome !== 'pass') return takeBack(redText(gate));
  if (task.inspected?.headSha !== head.sha) return inspect(head, task);
  const [grave] = graveOf(task, facts);
  return grave ? takeBack(grave.message) : null;
}

/** What a session that begins anew has to know: what the gate, or an audit, found last. */
function leftOpen(task: Task): string | null {
  if (!isInPhases(task)) return redGate(task);
  const { phase, milestones, milestone } = task.plan;
  const wasDirty = phase === 'final_audit_fix' || (milestones[milestone]?.attempts ?? 0) > 0;
  return redGate(task) ?? (wasDirty ? auditedText(task.plan) : null);
}

/** What is pushed can be read by others for good: the rules look before, and text shaped like a secret stays here. */
function inspectFirst(head: Checkpoint, task: Task, facts: Facts): Decision | null {
  if (task.inspected?.headSha !== head.sha) return inspect(head, task);
  const secrets = secretsIn(task, facts);
  return secrets.length > 0 ? act([hold('secret_found', foundText(secrets))]) : null;
}

const foundText = (found: readonly Finding[]): string =>
  found.map(({ id, message }) => `${message} (finding ${id})`).join(' ');

export function inspect({ sha: headSha }: Checkpoint, { id, baseSha }: Task): Decision {
  if (baseSha === null) throw new Error(`task ${id} has a head and no base`);
  return act([], [{ kind: 'inspect', headSha, baseSha }]);
}

/**
 * A red that trunk has without the work is tried on the newest trunk first. Where the contract is about it, or turns still
 * change something, it is work like any other; else further turns would only cost, and a person is told.
 */
function afterRed(task: Task, gate: Evidence, facts: Facts, policy: Policy, now: number): Decision {
  const newer = newerTrunk(task, facts);
  if (newer !== null) return act([event('update_needed', { mergeInto: newer })]);
  const isLeft = isTrunksRed(gate) && task.streaks.idle > 0;
  if (isLeft && !isAskedFor(gate, task.contract)) return trunkRed(task);
  return nextTurn(task, facts, policy, now, gateFailureText(gate));
}

function trunkRed(task: Task): Decision {
  const detail = redBeforeText(task) ?? 'trunk is red';
  const marker = `${task.id}:trunk-red:${task.baseSha}`;
  const notice: Action[] =
    task.issue === null ? [] : [{ kind: 'comment', issue: task.issue, marker, body: redBeforeComment(task) }];
  return act([hold('trunk_red', detail)], notice);
}

/** Its workspace had to be made anew, at `head` if one is given, and is not ready: nothing runs in one that its hook has not set up. */
export function prepareAgain(
  task: Task,
  { why: problem, unfetched }: NonNullable<Task['unprepared']>,
  facts: Facts,
  policy: Policy,
  now: number,
  head: string | null = null,
): Decision {
  const { workspace: failures } = task.streaks;
  if (!unfetched && failures >= MAX_WORKSPACE_FAILURES)
    return finish(task, abandon('workspace_failed', problem), facts, policy, now);
  if (failures === 0 || waitedFor(task, now))
    return act(
      [],
      [{ kind: 'prepare_workspace' }, ...(head ? [{ kind: 'adopt_head', sha: head } as const] : [])],
    );
  const until = now + backoffMs(failures, facts.jitter, policy.maxBackoffMs);
  const waits = waitForWorkspace(task, problem, facts, policy, now);
  // A person's word is enough for the next try.
  const isPersons = waits.type === 'hold_set' && waits.data.until === null;
  return act([event('retry_scheduled', { until: isPersons ? now : until }), waits]);
}

/** Nothing of the change is left beside what landed. The coder is asked once whether that is right. */
function afterTakingIn(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (task.streaks.idle > 0) return finish(task, abandon('superseded'), facts, policy, now);
  const ask =
    'Since trunk was merged in, nothing of your change is left. If what landed already does what the issue asks, ' +
    'change nothing and end your turn; else do what is still missing.';
  return nextTurn(task, facts, policy, now, ask);
}

/** What these commands found on this head's tree; null when they have not run on it. */
export function evidenceAt({ tree }: Checkpoint, { gate, contract }: Task, policy: Policy): Evidence | null {
  if (isGateEmpty(policy)) return null;
  return holdsFor(gate, tree, gateDigest(policy.gate, contract)) ? gate : null;
}

export function verify({ tree, sha: commit }: Checkpoint, { baseSha }: Task, policy: Policy): Decision {
  if (isGateEmpty(policy)) return act([gateEmpty()]);
  const base = baseSha === null ? {} : { base: baseSha };
  return act([], [{ kind: 'gate', scope: 'work', tree, commit, ...base }]);
}

function publish(task: Task, head: Checkpoint): Decision {
  const actions: Action[] = [];
  const expected = task.published?.sha ?? null;
  if (expected !== head.sha) actions.push({ kind: 'push', sha: head.sha, expected });
  if (task.pull === null) actions.push({ kind: 'ensure_pull', headSha: head.sha });
  if (actions.length > 0) return act([], actions);
  return act([transition(task, 'awaiting_critic', 'verified and published')], answers(task, head));
}

/** Nobody's failure and never a pass: it waits for a person, who is told once for each thing that is broken. */
export function gateBroken(task: Task, gate: Evidence): Act {
  const detail = couldNotRunText(gate);
  const marker = `${task.id}:could-not-run:${digestOf(brokenText(gate), 12)}`;
  const notice: Action[] =
    task.issue === null
      ? []
      : [{ kind: 'comment', issue: task.issue, marker, body: couldNotRunComment(task.issue, gate) }];
  return act([hold('gate_could_not_run', detail)], notice);
}

/** Whoever said what was worked in is told so, where they said it. */
function answers(task: Task, head: Checkpoint): Action[] {
  return task.owed.map(({ headSha, ...to }) => ({
    kind: 'reply',
    to,
    marker: `${task.id}:addressed:${to.id}`,
    body: addressedText(head.sha, head.sha !== headSha),
  }));
}

function afterRefusal(task: Task, problem: string, facts: Facts, policy: Policy, now: number): Decision {
  if (task.streaks.workspace >= MAX_WORKSPACE_FAILURES) {
    return finish(task, abandon('workspace_failed', problem), facts, policy, now);
  }
  return nextTurn(task, facts, policy, now, `Your work tree could not be saved: ${problem}`);
}

type LastTurn = NonNullable<RoleMemory['last']>;

function afterBrokenTurn(task: Task, last: LastTurn, facts: Facts, policy: Policy, now: number): Decision {
  if (endsSession(last.code)) {
    const rotates = last.code === 'context_overflow' && policy.whenFull === 'rotate';
    if (rotates || policy.recovery.onLostSession === 'fresh_session')
      return nextTurn(task, facts, policy, now, stillOpen(task, last));
    const why =
      last.code === 'session_lost' ? 'the session is lost' : `the session can't continue: ${last.message}`;
    return finish(task, abandon('crash_recovery_failed', why), facts, policy, now);
  }
  if (last.code === 'workspace_refused')
    return finish(task, abandon('workspace_failed', last.message), facts, policy, now);
  if (last.code === 'sandbox_failed')
    return finish(task, abandon('sandbox_failed', last.message), facts, policy, now);
  const next = nextTry(task, 'coder', facts, policy, now);
  if (next.kind === 'later') return act(next.events, next.actions);
  if (next.kind === 'now') return nextTurn(task, facts, policy, now, stillOpen(task, last));
  const why = task.roles.coder.failure?.message ?? last.message;
  return finish(task, abandon(next.reason, why), facts, policy, now);
}

/** After a turn that broke: why it did, and what the gate had found before it. */
function stillOpen(task: Task, last: LastTurn): string {
  const isNoNews =
    (last.status === 'interrupted' && last.code !== WORKSPACE_LOST) || isNotItsDoing(last.code);
  const broke = isNoNews ? null : last.message;
  return [broke, redGate(task)].filter((one) => one !== null).join('\n\n');
}
