/** From a slot to a published head: workspace, turns, gate, pull request. */
import { waitsFor } from './account.ts';
import type { Action } from './action.ts';
import {
  awaitGrant,
  type Decision,
  type Facts,
  gateBroken,
  gateEmpty,
  hold,
  holdsLoop,
  isGateEmpty,
  MAX_INTERRUPTED,
  MAX_STALLED,
  MAX_WORKSPACE_FAILURES,
  mostFailures,
  secretsIn,
  transition,
  waitedFor,
} from './decision.ts';
import { abandon, finish } from './ending.ts';
import { type Checkpoint, event, type HoldReason, type NewEvent, type PromptKind } from './event.ts';
import { gateDigest, holdsFor } from './gate.ts';
import { gateFailureText } from './gate-text.ts';
import { fallback } from './models.ts';
import { endsSession } from './outcome.ts';
import type { Policy } from './policy.ts';
import { backoffMs } from './schedule.ts';
import { doubts, propose, specify } from './specify.ts';
import type { Task } from './task.ts';
import { addressedText, openText, redBeforeComment, redBeforeText } from './words.ts';

export function dispatch(task: Task, facts: Facts, policy: Policy): Decision {
  if (task.spec?.status === 'proposed') return propose(task);
  if (!facts.slot) return awaitGrant('waiting for a slot');
  return {
    kind: 'act',
    events: [transition(task, 'dispatched', 'a slot was granted')],
    // A workspace is made when it is clear that there will be work in it.
    actions: doubts(task, policy) ? [] : [{ kind: 'prepare_workspace' }],
    limits: { slots: policy.maxConcurrent },
  };
}

export function prepare(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  const unsettled = specify(task, facts, policy, now);
  if (unsettled) return unsettled;
  if (task.workspace && task.baseSha && task.streaks.workspace === 0) {
    const ready = transition(task, 'running', 'its workspace is ready');
    return startTurn(task, facts, policy, [ready], redGate(task));
  }
  const { workspace: failures } = task.streaks;
  if (failures >= MAX_WORKSPACE_FAILURES)
    return finish(task, abandon('workspace_failed'), facts, policy, now);
  if (failures === 0) return { kind: 'act', events: [], actions: [{ kind: 'prepare_workspace' }] };
  const until = now + backoffMs(failures, facts.jitter);
  return {
    kind: 'act',
    events: [
      transition(task, 'queued', 'its workspace could not be prepared'),
      hold('retry_backoff', 'preparing its workspace failed', until),
    ],
    actions: [],
  };
}

/** After a turn: save, judge how it ended, verify, publish. */
export function work(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  const last = task.lastTurn;
  if (task.unprepared) return prepareAgain(task, task.unprepared, facts, policy, now);
  if (task.refused !== null) return afterRefusal(task, task.refused, facts, policy, now);
  if (task.head === null) return { kind: 'act', events: [], actions: [{ kind: 'checkpoint' }] };
  if (last && last.status !== 'finished') return afterBrokenTurn(task, last, facts, policy, now);
  if (task.mergeInto !== null)
    return { kind: 'act', events: [], actions: [{ kind: 'merge_in', sha: task.mergeInto }] };
  if (task.feedback.length > 0) return nextTurn(task, facts, policy, now, 'There is feedback to work in.');
  if (task.empty && task.tookIn) return afterTakingIn(task, facts, policy, now);
  if (task.empty)
    return nextTurn(task, facts, policy, now, 'Nothing was changed: the work tree is the same as trunk.');
  if (
    task.state === 'revising' &&
    task.verdict?.verdict === 'REQUEST_CHANGES' &&
    task.verdict.headSha === task.head.sha
  ) {
    return nextTurn(task, facts, policy, now, 'Nothing was changed since the review that asked for changes.');
  }

  const verified = verify(task, policy);
  if (verified) return verified;
  const gate = task.gate!;
  if (gate.outcome === 'could_not_run') return gateBroken(task, gate);
  if (gate.outcome === 'fail' && (task.streaks.redBefore ?? 0) >= MAX_RED_BEFORE) return trunkRed(task);
  if (gate.outcome === 'fail') return nextTurn(task, facts, policy, now, gateFailureText(gate));
  return inspectFirst(task, facts) ?? publish(task, task.head);
}

/** What is pushed can be read by others for good: the rules look before, and text shaped like a secret stays here. */
function inspectFirst(task: Task, facts: Facts): Decision | null {
  const { sha: headSha } = task.head!;
  if (task.inspected?.headSha !== headSha)
    return { kind: 'act', events: [], actions: [{ kind: 'inspect', headSha, baseSha: task.baseSha! }] };
  const secrets = secretsIn(task, facts);
  if (secrets.length === 0) return null;
  const detail = secrets.map(({ id, message }) => `${message} (finding ${id})`).join(' ');
  return { kind: 'act', events: [hold('secret_found', detail)], actions: [] };
}

/** Told once, the coder left trunk's own red as it was. Further turns would only cost: a person is told instead. */
function trunkRed(task: Task): Decision {
  const detail = redBeforeText(task)!;
  const marker = `${task.id}:trunk-red:${task.baseSha}`;
  const notice: Action[] =
    task.issue === null ? [] : [{ kind: 'comment', issue: task.issue, marker, body: redBeforeComment(task) }];
  return { kind: 'act', events: [hold('trunk_red', detail)], actions: notice };
}

const MAX_RED_BEFORE = 2;

/** Its workspace had to be made anew and is not ready: no turn starts in one that its hook has not set up. */
function prepareAgain(task: Task, problem: string, facts: Facts, policy: Policy, now: number): Decision {
  const { workspace: failures } = task.streaks;
  if (failures >= MAX_WORKSPACE_FAILURES)
    return finish(task, abandon('workspace_failed', problem), facts, policy, now);
  if (waitedFor(task, now)) return { kind: 'act', events: [], actions: [{ kind: 'prepare_workspace' }] };
  const until = now + backoffMs(failures, facts.jitter);
  const events = [event('retry_scheduled', { until }), hold('retry_backoff', problem, until)];
  return { kind: 'act', events, actions: [] };
}

/** Nothing of the change is left beside what landed. The coder is asked once whether that is right. */
function afterTakingIn(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (task.streaks.idle > 0) return finish(task, abandon('superseded'), facts, policy, now);
  const ask =
    'Since trunk was merged in, nothing of your change is left. If what landed already does what the issue asks, ' +
    'change nothing and end your turn; else do what is still missing.';
  return nextTurn(task, facts, policy, now, ask);
}

/** The gate on the current head, unless its tree is already judged by these commands. */
export function verify(task: Task, policy: Policy): Decision | null {
  const head = task.head!;
  if (isGateEmpty(policy)) return { kind: 'act', events: [gateEmpty()], actions: [] };
  if (holdsFor(task.gate, head.tree, gateDigest(policy.gate, task.contract))) return null;
  const base = task.baseSha === null ? {} : { base: task.baseSha };
  return {
    kind: 'act',
    events: [],
    actions: [{ kind: 'gate', scope: 'work', tree: head.tree, commit: head.sha, ...base }],
  };
}

export function publish(task: Task, head: Checkpoint): Decision {
  const actions: Action[] = [];
  if (task.pushedSha !== head.sha) actions.push({ kind: 'push', sha: head.sha, expected: task.pushedSha });
  if (task.pull === null) actions.push({ kind: 'ensure_pull', headSha: head.sha });
  if (actions.length > 0) return { kind: 'act', events: [], actions };
  return {
    kind: 'act',
    events: [transition(task, 'awaiting_critic', 'verified and published')],
    actions: answers(task, head),
  };
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

export function nextTurn(
  task: Task,
  facts: Facts,
  policy: Policy,
  now: number,
  priorFailure: string,
): Decision {
  const before = redBeforeText(task);
  const open = openText(facts.openFindings);
  const still = `${open ? `${open} ` : ''}${before ? `${before}. ` : ''}${priorFailure}`;
  if (task.turns >= policy.maxTurns) {
    return finish(
      task,
      abandon('max_turns_reached', `${task.turns} of ${policy.maxTurns} turns used. ${still}`.slice(0, 4000)),
      facts,
      policy,
      now,
    );
  }
  if (task.streaks.idle >= policy.idleTurns) {
    return finish(
      task,
      abandon('no_progress', `${task.streaks.idle} turns in a row changed nothing. ${still}`),
      facts,
      policy,
      now,
    );
  }
  return startTurn(task, facts, policy, [], priorFailure);
}

export function afterRefusal(
  task: Task,
  problem: string,
  facts: Facts,
  policy: Policy,
  now: number,
): Decision {
  if (task.streaks.workspace >= MAX_WORKSPACE_FAILURES) {
    return finish(task, abandon('workspace_failed', problem), facts, policy, now);
  }
  return nextTurn(task, facts, policy, now, `Your work tree could not be saved: ${problem}`);
}

export function afterBrokenTurn(
  task: Task,
  last: NonNullable<Task['lastTurn']>,
  facts: Facts,
  policy: Policy,
  now: number,
): Decision {
  const { streaks } = task;
  if (endsSession(last.code)) {
    const rotates = last.code === 'context_overflow' && policy.whenFull === 'rotate';
    if (rotates || policy.recovery.onLostSession === 'fresh_session')
      return nextTurn(task, facts, policy, now, stillOpen(task, last));
    const why =
      last.code === 'session_lost' ? 'the session is lost' : `the session can't go on: ${last.message}`;
    return finish(task, abandon('crash_recovery_failed', why), facts, policy, now);
  }
  if (last.code === 'workspace_refused')
    return finish(task, abandon('workspace_failed', last.message), facts, policy, now);
  if (last.code === 'sandbox_failed')
    return finish(task, abandon('sandbox_failed', last.message), facts, policy, now);
  if (streaks.interrupted >= MAX_INTERRUPTED) {
    return finish(
      task,
      abandon('crash_recovery_failed', `${streaks.interrupted} turns in a row were interrupted`),
      facts,
      policy,
      now,
    );
  }
  if (streaks.failed >= mostFailures(last.code)) {
    const reason = last.code === 'usage_limit' ? 'provider_limit' : 'error_max_retries';
    return finish(task, abandon(reason, last.message), facts, policy, now);
  }
  if (streaks.stalled >= MAX_STALLED)
    return finish(task, abandon('stall_timeout', last.message), facts, policy, now);
  if (
    task.hold === null &&
    (last.status === 'failed' || last.status === 'stalled') &&
    !waitedFor(task, now)
  ) {
    const until = Math.max(
      last.retryAt ?? 0,
      now + backoffMs(streaks.failed + streaks.stalled, facts.jitter),
    );
    const reason: HoldReason = last.retryAt === null ? 'retry_backoff' : 'provider_limit';
    const account = waitsFor(last, policy.agents.coder, facts.accountLimits, now);
    return {
      kind: 'act',
      events: [
        event('retry_scheduled', { until }),
        event('hold_set', { reason, detail: last.message, until, ...account }),
      ],
      actions: holdsLoop(last, streaks.failed),
    };
  }
  return nextTurn(task, facts, policy, now, stillOpen(task, last));
}

/** After a turn that broke: why it did, and what the gate had found before it. */
export function stillOpen(task: Task, last: NonNullable<Task['lastTurn']>): string {
  const broke = last.status === 'interrupted' ? null : last.message;
  return [broke, redGate(task)].filter((one) => one !== null).join('\n\n');
}

export const redGate = (task: Task): string | null =>
  task.gate?.outcome === 'fail' ? gateFailureText(task.gate) : null;

export function startTurn(
  task: Task,
  facts: Facts,
  policy: Policy,
  before: NewEvent[] = [],
  priorFailure: string | null = null,
): Decision {
  const fresh = task.sessionId === null || startsFresh(task, policy);
  const sessionId = fresh ? facts.newSessionId : task.sessionId!;
  const prompt = promptFor(task, fresh);
  const turn = task.turns + 1;
  return {
    kind: 'act',
    events: [...before, event('turn_started', { turn, role: 'coder', sessionId, prompt })],
    actions: [
      {
        kind: 'turn',
        role: 'coder',
        turn,
        sessionId,
        prompt,
        priorFailure,
        ...fallback(policy.agents.coder, task.lastTurn?.code ?? null, task.streaks.failed),
      },
    ],
  };
}

/** `fresh` never resumes; `rotate` begins a session for each pass over the work, which feedback begins. */
export function startsFresh(task: Task, policy: Policy): boolean {
  if (task.turns === 0) return false;
  return policy.session === 'fresh' || (policy.session === 'rotate' && task.feedback.length > 0);
}

export function promptFor(task: Task, fresh: boolean): PromptKind {
  if (fresh) return task.sessionIds.length === 0 || task.turns === 0 ? firstPrompt(task) : 'handover';
  const last = task.lastTurn;
  const wasCut = last?.status === 'interrupted' || last?.status === 'cancelled';
  // A turn whose prompt could not be rendered interrupted nobody.
  if (wasCut && last.code !== 'prompt_broken') return 'interrupted';
  return task.feedback.length > 0 ? 'revise' : 'continuation';
}

/** A restart has no turns but has work in its tree: that is a hand-over, not a beginning. */
export const firstPrompt = (task: Task): PromptKind =>
  task.headSha === null || task.empty ? 'task' : 'handover';
