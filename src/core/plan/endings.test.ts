import { describe, expect, test } from 'vitest';
import { dirty, IN, POST_ACTION, planOf, started, TWO } from '../../../test/support/plan-play.ts';
import { type Play, turnOutcome } from '../../../test/support/play.ts';
import { testPolicy } from '../../../test/support/policy.ts';
import type { TurnStatus } from '../event.ts';
import { REASONS, type Reason } from '../machine.ts';
import { isLeftToPeople } from '../recover.ts';
import type { Task } from '../task.ts';
import { isAudit, PHASES } from './phase.ts';
import { loopStatus, restartability, statusOfReason } from './status.ts';

const place = ({ task: { plan } }: Play) => `${plan!.phase} ${plan!.milestone}`;
const turnAt = (play: Play) => {
  const run = play.run();
  return run?.kind === 'turn' ? `${run.role} ${run.prompt} ${run.sessionId}` : null;
};
const BEFORE_THE_END = PHASES.filter((phase) => phase !== 'post_action');

describe('what ends a plan from every phase', () => {
  test.each(PHASES)('a person cancels it in %s (loops 11)', (phase) => {
    const play = IN[phase]().ask('cancel');
    expect(play.task).toMatchObject({
      state: 'abandoned',
      reason: 'cancelled',
      why: 'cancel requested by ann',
    });
    expect(loopStatus(play.task)).toBe('cancelled');
    expect(play.actionsOf('preserve_workspace')).toHaveLength(1);
  });

  test.each(BEFORE_THE_END)('its budget is over in %s (loops 11)', (phase) => {
    const play = IN[phase]({ budget: { usd: 5 } }).change({ spend: { costUsd: 5, tokens: 0 } });
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'budget_exhausted' });
    expect(loopStatus(play.task)).toBe('errored');
  });

  test.each(BEFORE_THE_END)('it stalls five times in a row in %s (loops 11, 43)', (phase) => {
    const stallTimeoutMs = 60_000;
    const { agents } = testPolicy();
    const [coder, auditor] = [agents.coder, agents.auditor].map((one) => ({ ...one, stallTimeoutMs }));
    const play = IN[phase]({ agents: { ...agents, coder: coder!, auditor: auditor! } });
    for (let stalls = 0; stalls < 4; stalls += 1) {
      play.wait(stallTimeoutMs);
      if (play.pending[0]?.action.kind === 'checkpoint') play.checkpoint(play.task.headSha ?? 'c0');
      play.wait(3_600_000 - 1);
      expect(play.task.state).toBe('running');
    }
    play.wait(stallTimeoutMs);
    if (play.pending[0]?.action.kind === 'checkpoint') play.checkpoint(play.task.headSha ?? 'c0');
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'stall_timeout' });
    expect(loopStatus(play.task)).toBe('stalled');
  });

  test.each(['coding', 'final_audit_fix'] as const)(
    'its worktree is gone for good in %s (loops 11)',
    (phase) => {
      const play = IN[phase]().crash({ workspace: { exists: false, intact: false, problem: null } });
      expect(play.task).toMatchObject({
        state: 'abandoned',
        reason: 'crash_recovery_failed',
        why: 'the workspace is lost',
      });
    },
  );

  const lost = { kind: 'workspace_lost', saved: 'c1' } as const;
  /** Somebody deleted it. Whoever works in it sees that at once; in an audit, whoever needs it next. */
  const loseWorktree = (play: Play): Play => {
    const { phase } = play.task.plan!;
    if (phase === 'auditing') play.failing.set('seal', [lost]);
    if (isAudit(phase)) play.audit(phase === 'auditing' ? {} : dirty());
    return play.run()?.kind === 'turn' ? play.answer(lost) : play;
  };

  test.each(BEFORE_THE_END)('its worktree is gone in %s and can’t be made anew (loops 11)', (phase) => {
    const play = IN[phase]();
    const broken = { kind: 'workspace_failed', problem: 'no space' } as const;
    play.failing.set('prepare_workspace', Array(9).fill(broken));
    loseWorktree(play);
    for (let tries = 0; tries < 9 && play.task.state === 'running'; tries += 1) play.wait(3_600_000);
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'workspace_failed', why: 'no space' });
    expect(loopStatus(play.task)).toBe('errored');
  });

  test.each([
    ['coding', 'coding 0'],
    ['auditing', 'auditing 0'],
    ['final_auditing', 'final_audit_fix 1'],
    ['final_audit_fix', 'final_audit_fix 1'],
  ] as const)(
    'one that is gone in %s and is made anew from its branch ends nothing (loops 11)',
    (phase, at) => {
      const play = loseWorktree(IN[phase]());
      expect(play.task.state).toBe('running');
      expect(place(play)).toBe(at);
      expect(play.actionsOf('prepare_workspace')).toHaveLength(2);
    },
  );

  test.each(['auditing', 'final_auditing'] as const)(
    'an auditor in %s needs no worktree: where its runner dies without one, it is asked again (loops 11)',
    (phase) => {
      const play = IN[phase]();
      const before = turnAt(play)!.split(' ', 2);
      play.crash({ workspace: { exists: false, intact: false, problem: null } });
      expect(turnAt(play)!.split(' ', 2)).toEqual(before);
    },
  );

  test.each(PHASES)('a runner that is stopped in %s ends nothing (loops 11)', (phase) => {
    const play = IN[phase]();
    play.world.paused = 'stopping';
    play.turn('interrupted', { code: 'runner_stopped' });
    expect(play.task.state).toBe('running');
    expect(isLeftToPeople(play.task)).toBe(true);
  });

  test('the cap ends it by dirty rounds, and says how many of how many (loops 11, 12)', () => {
    const play = IN.auditing({ loop: { maxIterations: 2 } })
      .audit(dirty())
      .worked('c2')
      .audit(dirty());
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'max_iterations' });
    expect(play.task.why).toMatch(/^2 of 2 iterations used\. 1 open bug:/);
  });

  test('no cap: it goes on (loops 38)', () => {
    const play = IN.auditing({ loop: { maxIterations: 0 }, idleTurns: 99, maxTurns: 99 });
    for (let round = 2; round < 30; round += 1) play.audit(dirty()).worked(`c${round}`);
    expect(play.task).toMatchObject({ state: 'running', plan: { iterations: 28 } });
  });

  test('each reason is of exactly one status (loops 14)', () => {
    const statuses = (Object.keys(REASONS) as Reason[]).map((reason) => [reason, statusOfReason(reason)]);
    const of = (status: string) => statuses.filter(([, one]) => one === status).map(([reason]) => reason);
    expect(of('cancelled').sort()).toEqual(['cancelled', 'operator_abandon']);
    expect(of('stalled')).toEqual(['stall_timeout']);
    expect(of('errored')).toHaveLength(statuses.length - 3);
    for (const state of ['completed', 'merged'] as const)
      expect(loopStatus({ state, reason: null })).toBe('completed');
  });
});

describe('a coder or an auditor that fails', () => {
  const failing = { code: 'internal', message: 'the model made no sense' };

  test('an error is retried with a wait; a turn that goes well makes it whole again (loops 49)', () => {
    const play = started(TWO).turn('failed', failing).checkpoint('c0').wait(3_600_000);
    expect(play.task.roles.coder.failed).toBe(1);
    play.worked('c1');
    expect(play.task.roles.coder.failed).toBe(0);
  });

  test('three errors of the coder are too many (loops 50)', () => {
    const play = started(TWO);
    for (let failures = 0; failures < 3; failures += 1)
      play.turn('failed', failing).checkpoint('c0').wait(3_600_000);
    expect(play.task).toMatchObject({ reason: 'error_max_retries', why: 'the model made no sense' });
  });

  test.each([
    ['auditing', 'audit_retry_exhausted'],
    ['final_auditing', 'final_audit_retry_exhausted'],
  ] as const)('of the auditor in %s: %s, with its message (loops 12, 51)', (phase, reason) => {
    const play = IN[phase]();
    for (let failures = 0; failures < 3; failures += 1) play.turn('failed', failing).wait(3_600_000);
    expect(play.task).toMatchObject({ state: 'abandoned', reason, why: 'the model made no sense' });
    expect(play.task.plan!.iterations).toBe(0);
  });

  test.each([
    ['auditing', 'audit_retry_exhausted'],
    ['final_auditing', 'final_audit_retry_exhausted'],
  ] as const)('three audits in a row without a usable result in %s: %s (loops 51)', (phase, reason) => {
    const play = IN[phase]();
    const missing = () => play.turn('finished', { text: 'Fine.' }).turn('finished', { text: 'Fine.' });
    for (let audits = 0; audits < 2; audits += 1) {
      missing();
      play.worked(`c1${audits}`);
    }
    expect(play.task.state).toBe('running');
    missing();
    expect(play.task).toMatchObject({ state: 'abandoned', reason });
    expect(play.task.why).toMatch(/^The auditor gave no usable result: /);
  });

  test('an audit with a result between them counts the missing ones anew (loops 51)', () => {
    const play = IN.auditing();
    for (let audits = 0; audits < 5; audits += 1) {
      if (audits === 2) play.audit(dirty());
      else play.turn('finished', { text: 'Fine.' }).turn('finished', { text: 'Fine.' });
      play.worked(`c1${audits}`);
    }
    expect(play.task.state).toBe('running');
  });

  test('a new audit begins with all its chances', () => {
    const play = IN.auditing();
    for (let failures = 0; failures < 2; failures += 1) play.turn('failed', failing).wait(3_600_000 - 1);
    play.audit(dirty()).worked('c2');
    expect(play.task.roles.auditor.failed).toBe(0);
  });

  const models = (...fallbackModels: string[]) => {
    const { agents } = testPolicy();
    return { agents: { ...agents, auditor: { ...agents.auditor, fallbackModels } } };
  };

  test('an auditor at its limit goes on with its fallback model, in the same session (loops 52)', () => {
    const limit = { code: 'usage_limit', message: 'limit reached', retryAt: 7_200_000 };
    const play = IN.auditing(models('haiku')).turn('failed', limit);
    expect(turnAt(play)).toBe('auditor audit_again s2');
    expect(play.run()).toMatchObject({ fallback: 1 });
    expect(play.of('account_limited')).toEqual([]);
    play.turn('failed', limit);
    expect(play.of('account_limited')).toHaveLength(1);
    expect(play.task.hold).toMatchObject({ reason: 'provider_limit', until: 7_200_000 });
  });

  test('an auditor that fails for no reason that is known is asked with its next model (loops 49)', () => {
    const play = IN.auditing(models('haiku')).turn('failed', { code: 'crashed', message: 'oops' });
    play.wait(60_000);
    expect(turnAt(play)).toBe('auditor audit_again s2');
    expect(play.run()).toMatchObject({ fallback: 1 });
    play.audit(dirty()).worked('c2');
    expect(play.run(), 'its own model again').not.toHaveProperty('fallback');
  });

  test('a coder at its limit waits for its end where that is known (loops 52)', () => {
    const play = started(TWO).turn('failed', { code: 'usage_limit', message: 'limit', retryAt: 7_200_000 });
    play.checkpoint('c0');
    expect(play.task.hold).toMatchObject({ reason: 'provider_limit', until: 7_200_000 });
  });

  test('and ends with provider_limit where it is not (loops 52)', () => {
    const play = started(TWO);
    for (let failures = 0; failures < 8 && play.task.state === 'running'; failures += 1)
      play
        .turn('failed', { code: 'usage_limit', message: 'limit', durationMs: 60_000 })
        .checkpoint('c0')
        .wait(3_600_000);
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'provider_limit' });
  });

  test.each(['rate_limit', 'overload'])('%s is retried and never called a usage limit (loops 53)', (code) => {
    const play = IN.auditing().turn('failed', { code, message: 'slow down' });
    expect(play.task.hold).toMatchObject({ reason: 'retry_backoff' });
    expect(play.of('account_limited')).toEqual([]);
  });

  test('whoever works is not stalled, however long it takes (loops 44)', () => {
    const play = IN.auditing();
    const { stallTimeoutMs } = play.policy.agents.auditor;
    for (let minutes = 0; minutes < 5; minutes += 1) play.wait(stallTimeoutMs - 1).progress();
    expect(play.task.roles.auditor.stalled).toBe(0);
    expect(play.of('turn_completed').filter(({ status }) => status === 'stalled')).toEqual([]);
  });

  const READ = { kind: 'tool', tool: 'Read', detail: 'a.ts', call: 'c', same: 'a.ts' } as const;
  const stallAtWork = (play: Play): Play => {
    const { stallTimeoutMs } = play.policy.agents.auditor;
    play.progress(READ).progress({ kind: 'tool_over', call: 'c', result: 'ok' }).wait(stallTimeoutMs);
    if (play.pending[0]?.action.kind === 'checkpoint') play.checkpoint('c0');
    return play.wait(3_600_000);
  };
  const stallInSilence = (play: Play): Play => {
    play.wait(play.policy.agents.auditor.stallTimeoutMs);
    if (play.pending[0]?.action.kind === 'checkpoint') play.checkpoint('c0');
    return play.wait(3_600_000);
  };

  test.each([
    ['coder', 'coding'],
    ['auditor', 'auditing'],
  ] as const)('work before a silence makes it the first in a row again: the %s (loops 45)', (role, phase) => {
    const play = IN[phase]();
    for (let stalls = 0; stalls < 4; stalls += 1) stallInSilence(play);
    expect(play.task.roles[role].stalled).toBe(4);
    stallAtWork(play);
    expect(play.task).toMatchObject({ state: 'running', roles: { [role]: { stalled: 1 } } });
    for (let stalls = 0; stalls < 3; stalls += 1) stallInSilence(play);
    expect(play.task.state).toBe('running');
    stallInSilence(play);
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'stall_timeout' });
    expect(play.fold()).toEqual(play.task);
  });

  test('words alone are no work: a provider that answers once and hangs is not asked for ever (loops 45)', () => {
    const play = IN.auditing();
    for (let stalls = 0; stalls < 5; stalls += 1) stallInSilence(play.progress({ kind: 'said', text: 'I' }));
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'stall_timeout' });
  });

  test.each([
    ['coder', 'coding'],
    ['auditor', 'auditing'],
  ] as const)(
    'who works each time stalls agent.max_turns times at most: the %s (loops 45)',
    (role, phase) => {
      const play = IN[phase]({ maxTurns: 7 });
      for (let stalls = 0; stalls < 20 && play.task.state === 'running'; stalls += 1) stallAtWork(play);
      expect(play.task).toMatchObject({ state: 'abandoned', reason: 'stall_timeout' });
      const turns = play.of('turn_started').filter((one) => one.role === role);
      expect(turns.map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    },
  );

  test('a turn that comes to its end makes up for all stalls before it', () => {
    const play = IN.auditing();
    const { stallTimeoutMs } = play.policy.agents.auditor;
    const stall = () => play.wait(stallTimeoutMs).wait(3_600_000);
    for (let stalls = 0; stalls < 4; stalls += 1) stall();
    expect(play.task.roles.auditor.stalled).toBe(4);
    play.turn('finished', { text: 'Looks fine.' });
    expect(play.task.roles.auditor.stalled).toBe(0);
    stall();
    expect(play.task).toMatchObject({ state: 'running', roles: { auditor: { stalled: 1 } } });
  });

  test('whoever is busy with a call and says nothing has a longer time of its own (loops 46)', () => {
    const { agents } = testPolicy();
    const auditor = { ...agents.auditor, stallTimeoutMs: 60_000, toolTimeoutMs: 900_000 };
    const play = IN.auditing({ agents: { ...agents, auditor } });
    play.progress({ kind: 'tool', tool: 'Bash', detail: 'npm test', call: 'c', same: 'npm test' });
    expect(turnAt(play.wait(899_999))).toBe('auditor audit s2');
    play.wait(1);
    expect(play.of('turn_completed').at(-1)).toMatchObject({ role: 'auditor', status: 'stalled' });
  });

  test('a provider that is asked again is no stall (loops 48)', () => {
    const play = IN.auditing();
    const { stallTimeoutMs } = play.policy.agents.auditor;
    for (let times = 0; times < 7; times += 1)
      play.wait(stallTimeoutMs - 1).progress({ kind: 'retrying', why: 'overloaded (529)' });
    expect(play.of('turn_completed').filter(({ status }) => status === 'stalled')).toEqual([]);
    expect(turnAt(play)).toBe('auditor audit s2');
  });

  test('a timeout of 0 watches nobody (loops 47)', () => {
    const { agents } = testPolicy();
    const auditor = { ...agents.auditor, stallTimeoutMs: 0 };
    const play = IN.auditing({ agents: { ...agents, auditor } }).wait(3_000_000);
    expect(turnAt(play)).toBe('auditor audit s2');
  });
});

describe('the post action', () => {
  test.each([
    ['is off', null],
    ['is on', POST_ACTION],
  ])('runs only where one is given: %s (loops 66)', (_, postAction) => {
    const play = IN.final_auditing({ loop: { postAction } }).audit();
    expect(play.task.state).toBe(postAction ? 'running' : 'completed');
  });

  test('runs as the coder, in a session of its own, with its model (loops 67)', () => {
    const postAction = { ...POST_ACTION, model: 'haiku' };
    const play = IN.post_action({ loop: { postAction, session: 'persist' } });
    expect(play.run()).toMatchObject({ role: 'coder', prompt: 'post_action', model: 'haiku' });
    expect(play.task.sessionIds).toHaveLength(2);
  });

  test.each<[string, TurnStatus, object]>([
    ['fails', 'failed', { code: 'internal' }],
    ['could not start', 'failed', { code: 'could_not_start' }],
    ['has no sandbox', 'failed', { code: 'sandbox_failed' }],
    ['stalls', 'stalled', {}],
    ['takes too long', 'timed_out', {}],
    ['is interrupted', 'interrupted', {}],
    ['hits a limit', 'failed', { code: 'usage_limit', retryAt: 7_200_000 }],
    ['loses its session', 'failed', { code: 'session_lost' }],
  ])('%s: the plan is completed, without a summary (loops 68)', (_, status, more) => {
    const play = IN.post_action().turn(status, more).checkpoint('c3').gate('pass');
    expect(play.task).toMatchObject({ state: 'completed', reason: null, plan: { completionSummary: null } });
  });

  test('its prompt can’t be rendered: the plan is completed (loops 68)', () => {
    const broken = {
      kind: 'prompt_broken',
      prompt: 'post_action',
      problem: 'no such name',
      digest: 'd',
    } as const;
    const play = IN.post_action().answer(broken).checkpoint('c2');
    expect(play.task).toMatchObject({ state: 'completed', plan: { notActed: 'no such name' } });
    expect(play.of('post_action_ended')).toEqual([{ summary: null, problem: 'no such name' }]);
    expect(play.fold()).toEqual(play.task);
  });

  test('what it left can’t be saved: the plan is completed (loops 68)', () => {
    const play = IN.post_action().turn().answer({ kind: 'refused', problem: 'a file is too large' });
    expect(play.task.state).toBe('completed');
  });

  test('its budget is over: the plan is completed (loops 68)', () => {
    const play = IN.post_action({ budget: { usd: 5 } }).change({ spend: { costUsd: 5, tokens: 0 } });
    expect(play.task).toMatchObject({ state: 'completed', plan: { phase: 'delivered' } });
  });

  test.each([
    ['its worktree', { workspace: { exists: false, intact: false, problem: null } }],
    ['its session', { session: 'lost' as const }],
  ])('its runner dies and %s is lost: the plan is completed (loops 68)', (_, probes) => {
    const play = IN.post_action().crash(probes);
    if (play.pending.length > 0) play.checkpoint('c3');
    expect(play.task.state).toBe('completed');
  });

  test('its worktree is gone and can’t be made anew: the plan is completed (loops 68)', () => {
    const play = IN.post_action();
    const broken = { kind: 'workspace_failed', problem: 'no space' } as const;
    play.failing.set('prepare_workspace', Array(9).fill(broken));
    play.answer({ kind: 'workspace_lost', saved: 'sealed-c2' });
    for (let tries = 0; tries < 9 && play.task.state === 'running'; tries += 1) play.wait(3_600_000);
    expect(play.task.state).toBe('completed');
  });

  const poor = { spend: { costUsd: 5, tokens: 0 } };
  test.each<[string, (play: Play) => Play, RegExp]>([
    ['its budget is over', (play) => play.change(poor), /stopped: .*5\.00/],
    [
      'its budget is over before the gate',
      (play) => play.turn().checkpoint('c3').change(poor),
      /stopped: .*5\.00/,
    ],
    [
      'what it left can’t be saved',
      (play) => play.turn().answer({ kind: 'refused', problem: 'a file is too large' }),
      /a file is too large/,
    ],
    ['its session is lost', (play) => play.crash({ session: 'lost' }), /the session is lost/],
  ])('%s: what nobody verified is not on the branch, and that is said (loops 20, 68)', (_, stop, why) => {
    const play = stop(IN.post_action({ budget: { usd: 5 } }));
    expect(play.task).toMatchObject({
      state: 'completed',
      headSha: 'sealed-c2',
      plan: { completionSummary: null, tookBack: expect.stringMatching(why) },
    });
    expect(play.story.flatMap((step) => ('action' in step ? [step.action.kind] : [])).slice(-2)).toEqual([
      'adopt_head',
      'reap_workspace',
    ]);
  });

  test('a pull request follows all the same; where nothing is left to pay for it, it waits for a person', () => {
    const how = { delivers: 'pull' } as const;
    expect(IN.post_action({}, how).turn('failed').checkpoint('c3').gate('pass').task.state).toBe(
      'awaiting_critic',
    );
    const broke = IN.post_action({ budget: { usd: 5 } }, how).change({ spend: { costUsd: 5, tokens: 0 } });
    expect(broke.task).toMatchObject({ state: 'abandoned', reason: 'budget_exhausted' });
  });

  test('its last message is kept as it was, only where it came to its end (loops 69)', () => {
    const text = ' Two things:\n\n- a\n- b\n';
    expect(IN.post_action().turn('finished', { text }).checkpoint('c3').task.plan!.completionSummary).toBe(
      text,
    );
    expect(
      IN.post_action().turn('failed', { text }).checkpoint('c3').task.plan!.completionSummary,
    ).toBeNull();
  });
});

describe('a restart', () => {
  test('keeps identity, plan, progress, findings and history; resets iterations and errors (loops 57)', () => {
    const play = IN.auditing().audit(dirty()).worked('c2').turn('failed', { code: 'internal' });
    const before = play.task;
    play
      .change({ spend: { costUsd: 3, tokens: 9 } })
      .ask('cancel')
      .restart();
    const { id, branch, workspace, plan, roles, turns } = play.task;
    expect({ id, branch, workspace }).toEqual({
      id: before.id,
      branch: before.branch,
      workspace: before.workspace,
    });
    expect(plan!.milestones).toEqual(before.plan!.milestones);
    expect(plan).toMatchObject({ phase: 'auditing', milestone: 0, iterations: 0, audits: 1 });
    expect(roles.auditor.failed).toBe(0);
    expect(turns).toBe(0);
    expect(play.findings).toHaveLength(1);
    expect(play.world.spend.costUsd).toBe(3);
  });

  test.each([
    ['coding', 'coding 0', 'coder plan s2', []],
    ['auditing', 'auditing 0', 'auditor audit s3', ['checkpoint']],
    ['final_auditing', 'final_auditing 1', 'auditor final_audit s6', ['checkpoint']],
    ['final_audit_fix', 'final_audit_fix 1', 'coder final_fix s7', []],
    ['post_action', 'post_action 1', 'coder post_action s7', ['checkpoint']],
  ] as const)('goes on at %s, in a fresh session (loops 58)', (phase, at, turn, saves) => {
    const play = IN[phase]();
    const { headSha, gate } = play.task;
    play.ask('cancel').restart();
    if (saves.length > 0) play.checkpoint(headSha!, { tree: gate!.tree });
    expect(place(play)).toBe(at);
    expect(turnAt(play)).toBe(turn);
  });

  test('an interrupted audit has the last audit at hand (loops 58)', () => {
    const play = IN.auditing().audit(dirty()).worked('c2');
    play.ask('cancel').restart().checkpoint('c2');
    expect(turnAt(play)).toBe('auditor audit s5');
    expect(play.task.plan!.lastAudit).toMatch('1 open bug');
  });

  test('no runner goes on with it by itself once one had it (loops 54)', () => {
    expect(isLeftToPeople(IN.auditing().task)).toBe(true);
    expect(isLeftToPeople({ ...IN.auditing().task, state: 'queued' })).toBe(false);
    expect(isLeftToPeople(IN.final_auditing().audit().task)).toBe(false);
  });

  const ended = (reason: Reason): Task => ({ ...IN.auditing().task, state: 'abandoned', reason });
  test.each<[string, Task, boolean]>([
    ['cancelled', ended('cancelled'), true],
    ['errored', ended('audit_retry_exhausted'), true],
    ['stalled', ended('stall_timeout'), true],
    ['interrupted', IN.auditing().task, true],
    ['completed', IN.final_auditing().audit().task, false],
    ['merged', { ...IN.auditing().task, state: 'merged' }, false],
  ])('of one that is %s (loops 55)', (status, task, restartable) => {
    if (status === 'errored' || status === 'stalled') expect(loopStatus(task)).toBe(status);
    expect(restartability(task, { isOwned: false, worktree: 'usable' })).toEqual({
      restartable,
      needsForce: false,
      blocked: restartable ? null : 'completed',
    });
  });

  test('one at work needs force; one without a worktree is blocked (loops 55, 56)', () => {
    const { task } = IN.auditing();
    expect(restartability(task, { isOwned: true, worktree: 'usable' })).toMatchObject({
      needsForce: true,
      blocked: 'active',
    });
    for (const worktree of ['missing', 'lost'] as const)
      expect(restartability(task, { isOwned: false, worktree })).toMatchObject({
        restartable: false,
        blocked: `${worktree}_worktree`,
      });
  });
});

test('a turn that its runner’s death cut off is told as such and costs no turn (loops 11)', () => {
  const play = started(planOf('Schema')).crash({}, turnOutcome('finished'));
  expect(play.pending[0]?.action.kind).toBe('checkpoint');
});
