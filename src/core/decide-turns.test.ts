/** The turn loop: what follows a coder's turn, and what stops one in flight. */
import { describe, expect, test } from 'vitest';
import { awaiting, changes, Play, queued, redBefore, revising, running } from '../../test/support/play.ts';
import { testPolicy } from '../../test/support/policy.ts';
import { renderPrompt } from '../config/prompt.ts';
import { MAX_FETCH_FAILURES, MAX_WORKSPACE_FAILURES } from './decision.ts';
import { type Mishap, PROVIDER_PATIENCE, roleRow } from './role.ts';
import { promptContext } from './words/prompt-context.ts';
import { DEFAULT_PROMPTS } from './words/prompts.ts';

const most = (of: Mishap): number => roleRow('coder').patience.find((one) => one.of.includes(of))!.most;
const PATIENCE = { failed: most('failed'), stalled: most('stalled') };
const DAY = 24 * 3_600_000;

const turns = (play: Play) => play.actionsOf('turn').filter(({ role }) => role === 'coder');
const ended = (play: Play) => [play.task.state, play.task.reason];

/** Its runner dies in every turn, until it waits for a person. */
function interruptedAlone(play: Play, dies: (play: Play) => void): Play {
  for (let n = 0; n < 8; n += 1) {
    dies(play);
    if (play.task.hold?.until) play.wait(play.task.hold.until - play.now);
  }
  return play;
}

/** What the agent would read, with the templates we ship. */
function prompt(play: Play): string {
  const action = play.run();
  if (action?.kind !== 'turn') throw new Error('no turn is pending');
  const inputs = {
    history: '',
    diff: 'DIFF',
    findings: [],
    conventions: [],
    remarks: [],
    transcript: 'somewhere',
  };
  const { prompt: kind, turn, priorFailure } = action;
  const context = promptContext(kind, play.task, turn, play.policy, inputs, priorFailure);
  return renderPrompt(kind, DEFAULT_PROMPTS[kind], context);
}

describe('after a turn', () => {
  test('the work is saved, then verified, then published', () => {
    const play = running().turn();
    expect(play.pending[0]?.action).toEqual({ kind: 'checkpoint' });
    play.checkpoint('c1');
    expect(play.run()).toEqual({ kind: 'gate', scope: 'work', tree: 'tree-c1', commit: 'c1', base: 'base' });
    play.gate('pass');
    expect(play.actionsOf('push')).toEqual([{ kind: 'push', sha: 'c1', expected: null }]);
    expect(play.actionsOf('ensure_pull')).toHaveLength(1);
  });

  test('every turn has its start and its end on record, the first included', () => {
    const play = running().worked('c1', 'fail').worked('c2');
    expect(
      play
        .of('turn_started')
        .filter(({ role }) => role === 'coder')
        .map(({ turn }) => turn),
    ).toEqual([1, 2]);
    expect(play.of('turn_completed').map(({ turn }) => turn)).toEqual([1, 2]);
  });

  test('the first prompt is the whole task; a continuation names the failure and never the issue body (dispatch 19)', () => {
    const play = running();
    const { body } = play.world.issue!;
    expect(prompt(play)).toContain(body);
    play.worked('c1', 'fail');
    expect(play.run()).toMatchObject({ turn: 2, sessionId: 's1', prompt: 'continuation' });
    expect(prompt(play)).toContain('expected 1 but got 2');
    expect(prompt(play)).not.toContain(body);
  });

  test('fails once, then passes: two turns and no third (dispatch 23)', () => {
    const play = running().worked('c1', 'fail').worked('c2');
    expect(turns(play)).toHaveLength(2);
    expect(play.task.state).toBe('awaiting_critic');
  });

  test('three reds with max_turns 3: three turns, then max_turns_reached (dispatch 22)', () => {
    const play = running({ maxTurns: 3 }).worked('c1', 'fail').worked('c2', 'fail').worked('c3', 'fail');
    expect(turns(play)).toHaveLength(3);
    expect(ended(play)).toEqual(['abandoned', 'max_turns_reached']);
    expect(play.world.issue?.labels).toEqual(['loop:needs-review']);
    expect(play.of('worktree_preserved')).toHaveLength(1);
  });

  test('a pass on the last allowed turn goes on (dispatch 21)', () => {
    const play = running({ maxTurns: 2 }).worked('c1', 'fail').worked('c2');
    expect(play.task).toMatchObject({ turns: 2, state: 'awaiting_critic' });
  });

  test('closed between turns: no further turn, even though the gate is red (dispatch 21, 24)', () => {
    const play = running().turn().checkpoint('c1');
    play.world.issue = { ...play.world.issue!, state: 'closed' };
    play.gate('fail');
    expect(turns(play)).toHaveLength(1);
    expect(ended(play)).toEqual(['abandoned', 'issue_closed']);
  });

  test('the tree that was already judged is not judged again', () => {
    const play = running().worked('c1', 'fail').turn().checkpoint('c2', { tree: 'tree-c1' });
    expect(play.actionsOf('gate')).toHaveLength(1);
    expect(play.run()).toMatchObject({ turn: 3, prompt: 'continuation' });
  });

  test('a turn that changed nothing is told so, without asking the gate', () => {
    const play = running().turn().checkpoint('base', { empty: true });
    expect(play.actionsOf('gate')).toEqual([]);
    expect(prompt(play)).toContain('Nothing was changed');
  });

  test('turns in a row without a change end in no_progress, the first turn counted', () => {
    const play = running({ idleTurns: 2 }).turn().checkpoint('base', { empty: true });
    expect(play.task.streaks.idle).toBe(1);
    play.turn().checkpoint('base', { empty: true });
    expect(ended(play)).toEqual(['abandoned', 'no_progress']);
  });

  test.each<['no_progress' | 'max_turns_reached', Parameters<typeof running>[0], string]>([
    [
      'no_progress',
      { idleTurns: 1 },
      'The last turn changed nothing; the branch is still identical to trunk. Still open: It changes ci/test.sh (finding t1.1).',
    ],
    [
      'max_turns_reached',
      { maxTurns: 3 },
      '3 of 3 turns used. Still open: It changes ci/test.sh (finding t1.1). Nothing was changed: the work tree is the same as trunk.',
    ],
  ])('%s names what the rules found and nobody has settled', (reason, policy, why) => {
    const play = running(policy);
    play.world.rules = [
      {
        severity: 'sev1',
        category: 'gate',
        file: 'ci/test.sh',
        line: null,
        message: 'It changes ci/test.sh.',
        scenario: null,
        suggestion: null,
        context: 'blob',
      },
    ];
    // Asked to take it back, the coder takes everything back, and does nothing more.
    play.worked('c1').turn().checkpoint('base', { empty: true });
    play.turn().checkpoint('base', { empty: true });
    expect(ended(play)).toEqual(['abandoned', reason]);
    expect(play.task.why).toBe(why);
    expect(play.actionsOf('comment').at(-1)?.body).toContain('It changes ci/test.sh (finding t1.1)');
  });

  test('a change ends the streak of idle turns', () => {
    const play = running({ idleTurns: 2 }).worked('c1', 'fail').turn().checkpoint('c1');
    expect(play.task.streaks.idle).toBe(1);
    play.worked('c2', 'fail').turn().checkpoint('c2');
    expect(play.task).toMatchObject({ state: 'running', streaks: { idle: 1 } });
  });

  test('a revision that leaves the reviewed head as it is gets another turn, not another review', () => {
    const play = revising().turn().checkpoint('c1');
    expect(play.task.state).toBe('revising');
    expect(prompt(play)).toContain('Nothing was changed since the review');
  });

  test('`session: rotate` keeps the session while the gate is red and begins one for each revision', () => {
    const play = running({ session: 'rotate' }).worked('c1', 'fail');
    expect(play.run()).toMatchObject({ sessionId: 's1', prompt: 'continuation' });
    play.worked('c2').critic(changes());
    expect(play.run()).toMatchObject({ sessionId: 's3', prompt: 'handover' });
    expect(prompt(play)).toContain('the dialog has no role');
  });

  test('`session: fresh` hands over to a new session on every turn', () => {
    const play = running({ session: 'fresh' }).worked('c1', 'fail');
    expect(play.run()).toMatchObject({ sessionId: 's2', prompt: 'handover' });
    expect(play.task.sessionIds).toEqual(['s1', 's2']);
  });
});

describe('a gate that gives no answer', () => {
  test('could_not_run is never blamed on the agent: the task is held and keeps its turn (dispatch 49)', () => {
    const play = running().worked('c1', 'could_not_run');
    expect(play.task.hold).toMatchObject({ reason: 'gate_could_not_run', until: null });
    expect(play.task.hold?.detail).toContain('`npm test` command not found');
    expect(turns(play)).toHaveLength(1);
    expect(play.actionsOf('push')).toEqual([]);
  });

  test('once a person says so, the gate runs again on the same tree', () => {
    const play = running().worked('c1', 'could_not_run').ask('resume');
    expect(play.run()).toMatchObject({ kind: 'gate', tree: 'tree-c1' });
    expect(play.gate('pass').task.state).toBe('awaiting_critic');
  });

  test('an empty gate waits for a person; commands, once configured, let it go on by itself (dispatch 49)', () => {
    const play = running({ gate: { commands: [] } })
      .turn()
      .checkpoint('c1');
    expect(play.task.hold?.reason).toBe('gate_empty');
    play.configure({ gate: { commands: ['npm test'] } });
    expect(play.task.hold).toBeNull();
    expect(play.run()).toMatchObject({ kind: 'gate', scope: 'work' });
  });

  test('a hold that a changed setting has ended still waits for a slot', () => {
    const play = running({ gate: { commands: [] } })
      .turn()
      .checkpoint('c1');
    play.world.slotsFull = true;
    play.configure({ gate: { commands: ['npm test'] } });
    expect(play.resting()).toBe('its hold is over; waiting for a slot');
    expect(play.change({ slotsFull: false }).run()).toMatchObject({ kind: 'gate' });
  });

  test('`gate: none`, said explicitly, passes', () => {
    const play = running({ gate: { commands: 'none' } }).worked('c1');
    expect(play.task.state).toBe('awaiting_critic');
  });
});

describe('a turn that broke', () => {
  test('is retried after a backoff that is on record, on the same session (dispatch 27, 41)', () => {
    const play = running().turn('failed', { code: 'overload', message: 'overloaded' }).checkpoint('c1');
    expect(play.of('retry_scheduled')).toEqual([{ until: 10_000 }]);
    expect(play.task.hold).toMatchObject({ reason: 'retry_backoff', detail: 'overloaded', until: 10_000 });
    expect(play.wait(9_999).task.hold).not.toBeNull();
    expect(play.wait(1).run()).toMatchObject({ turn: 1, sessionId: 's1' });
  });

  test('the backoff doubles, and too many failures in a row end the task', () => {
    const play = running();
    for (let n = 1; n < PATIENCE.failed; n += 1) {
      play.turn('failed', { message: 'overloaded' }).checkpoint(`c${n}`);
      expect(play.task.hold?.until).toBe(play.now + 10_000 * 2 ** (n - 1));
      play.wait(300_000);
    }
    play.turn('failed', { message: 'overloaded' }).checkpoint('c9');
    expect(ended(play)).toEqual(['abandoned', 'error_max_retries']);
    expect(play.task.why).toBe('overloaded');
  });

  test.each(['overload', 'rate_limit', 'network', 'forge_unavailable'])(
    'a provider or a forge in trouble (%s) is given a quarter of an hour',
    (code) => {
      const play = running();
      const begun = play.now;
      for (let n = 1; n < PROVIDER_PATIENCE; n += 1) {
        play.turn('failed', { code, message: 'down' }).checkpoint(`c${n}`);
        expect(play.task.hold, `after ${n}`).toMatchObject({ reason: 'retry_backoff' });
        play.wait(play.task.hold!.until! - play.now);
      }
      expect(play.now - begun).toBeGreaterThan(900_000);
      play.turn('failed', { code, message: 'down' }).checkpoint('c9');
      expect(ended(play)).toEqual(['abandoned', 'error_max_retries']);
    },
  );

  test.each(['overload', 'rate_limit', 'network', 'auth', 'billing', 'setting_refused'])(
    'what failed outside the agent (%s) is not given to it as work, and costs no turn',
    (code) => {
      const play = running().turn('failed', { code, message: 'Invalid API key' }).checkpoint('c1');
      play.change({ accountLimits: [] }).wait(20_000);
      expect(play.run()).toMatchObject({ turn: 1, sessionId: 's1', prompt: 'interrupted' });
      expect(prompt(play)).not.toContain('Invalid API key');
    },
  );

  test('a limit that is said to end in a year is asked about after a week', () => {
    const play = running().turn('failed', { code: 'usage_limit', message: 'limit', retryAt: 365 * DAY });
    expect(play.world.accountLimits).toMatchObject([{ until: 8 * DAY }]);
    expect(play.checkpoint('c1').task.hold).toMatchObject({ reason: 'provider_limit', until: 8 * DAY });
  });

  test('a finished turn ends the streak of failures', () => {
    const play = running().turn('failed').checkpoint('c1').wait(10_000).worked('c2', 'fail');
    expect(play.task.roles.coder.failed).toBe(0);
  });

  test('a usage limit with a reset time is waited for; without one the task ends with provider_limit', () => {
    const limited = { code: 'usage_limit', message: 'limit reached' };
    const play = running()
      .turn('failed', { ...limited, retryAt: 7_200_000 })
      .checkpoint('c1');
    expect(play.task.hold).toMatchObject({ reason: 'provider_limit', until: 7_200_000 });
    const other = running();
    for (let n = 0; n < PROVIDER_PATIENCE; n += 1)
      other.turn('failed', limited).checkpoint('c1').wait(300_000);
    expect(ended(other)).toEqual(['abandoned', 'provider_limit']);
  });

  test('what the coder was to be told is told again: the failed turn may never have read it', () => {
    const play = revising();
    expect(prompt(play)).toContain('the dialog has no role');
    play.turn('failed', { code: 'overload' }).checkpoint('c1').wait(10_000);
    expect(play.run()).toMatchObject({ prompt: 'revise' });
    expect(prompt(play)).toContain('the dialog has no role');
  });

  test('a red gate is named again after a failed turn', () => {
    const play = running().worked('c1', 'fail').turn('failed', { message: 'overloaded' }).checkpoint('c1');
    expect(prompt(play.wait(10_000))).toContain('expected 1 but got 2');
  });

  test('a session that is gone ends the task by default (dispatch 38)', () => {
    const play = running().worked('c1', 'fail').turn('failed', { code: 'session_lost' }).checkpoint('c1');
    expect(ended(play)).toEqual(['abandoned', 'crash_recovery_failed']);
  });

  test.each(['context_overflow', 'invalid_request'])('a session that ends with %s is not resumed', (code) => {
    const play = running()
      .worked('c1', 'fail')
      .turn('failed', { code, message: 'no longer fits' })
      .checkpoint('c1');
    expect(ended(play)).toEqual(['abandoned', 'crash_recovery_failed']);
    expect(play.task.why).toContain('no longer fits');
    const other = running({ recovery: { onLostSession: 'fresh_session' } }).worked('c1', 'fail');
    other.turn('failed', { code }).checkpoint('c1');
    expect(other.run()).toMatchObject({ sessionId: 's2', prompt: 'handover' });
  });

  test('with `when_full: rotate` only a conversation that is too long goes on in a new session', () => {
    const broken = (code: string) =>
      running({ whenFull: 'rotate' }).worked('c1', 'fail').turn('failed', { code }).checkpoint('c1');
    expect(broken('context_overflow').run()).toMatchObject({ sessionId: 's2', prompt: 'handover' });
    expect(ended(broken('invalid_request'))).toEqual(['abandoned', 'crash_recovery_failed']);
  });

  test('a turn stopped before its session had a message begins again with the whole prompt', () => {
    const play = running().turn('interrupted', { sessionEmpty: true }).checkpoint('base', { empty: true });
    expect(play.run()).toMatchObject({ sessionId: 's2', prompt: 'task' });
  });

  test('with `on_lost_session: fresh_session` the next one gets the hand-over with the issue', () => {
    const play = running({ recovery: { onLostSession: 'fresh_session' } }).worked('c1', 'fail');
    play.turn('failed', { code: 'session_lost' }).checkpoint('c1');
    expect(play.run()).toMatchObject({ sessionId: 's2', prompt: 'handover' });
    expect(prompt(play)).toContain(play.world.issue!.body);
  });

  test.each([
    ['could_not_start', 'handover'],
    ['hook_failed', 'handover'],
    ['forge_unavailable', 'task'],
  ])('a session that never began (%s) is not continued either', (code, prompt) => {
    const play = running().turn('failed', { code, message: 'no' }).checkpoint('base', { empty: true });
    expect(play.wait(10_000).run()).toMatchObject({ sessionId: 's2', prompt });
  });

  test('timed out turns go on at once, and end the task after several', () => {
    const play = running().turn('timed_out').checkpoint('c1');
    expect(play.run()).toMatchObject({ turn: 2, prompt: 'continuation' });
    play.turn('timed_out').checkpoint('c2').turn('timed_out').checkpoint('c3');
    expect(ended(play)).toEqual(['abandoned', 'error_max_retries']);
  });

  test('stalled turns back off and end in stall_timeout', () => {
    const play = running();
    for (let n = 0; n < PATIENCE.stalled; n += 1) {
      expect(play.task.state).toBe('running');
      play.turn('stalled', { message: 'silent' }).checkpoint(`c${n}`).wait(300_000);
    }
    expect(ended(play)).toEqual(['abandoned', 'stall_timeout']);
  });

  test('an interrupted turn is not counted, and is told so', () => {
    const play = running();
    for (let n = 1; n < 3; n += 1) {
      play.crash().checkpoint(`c${n}`);
      expect(play.run()).toMatchObject({ turn: 1, sessionId: 's1', prompt: 'interrupted' });
      expect(prompt(play)).toContain('You were interrupted');
      expect(prompt(play)).not.toContain('Still open before');
    }
  });

  test('after three interruptions it waits, each time longer, and goes on in its session', () => {
    const play = running();
    const waits: number[] = [];
    for (let n = 1; n < 8; n += 1) {
      play.crash().checkpoint(`c${n}`);
      if (n < 3) continue;
      expect(play.task.hold?.reason).toBe('retry_backoff');
      waits.push(play.task.hold!.until! - play.now);
      play.wait(waits.at(-1)!);
      expect(play.run()).toMatchObject({ turn: 1, sessionId: 's1', prompt: 'interrupted' });
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 80_000, 160_000]);
  });

  test('interrupted alone, again and again, it waits for a person and is never given up', () => {
    const play = interruptedAlone(running(), (one) => one.crash().checkpoint('c1'));
    expect(play.task).toMatchObject({ state: 'running', hold: { reason: 'interrupted', until: null } });
    expect(play.task.hold?.detail).toBe(
      'the runner died during 8 turns in a row, the last 5 of them with nothing else running',
    );
    expect(play.wait(DAY).task.state).toBe('running');
    play.ask('resume').crash().checkpoint('c2');
    expect(play.run(), 'it has all its chances again').toMatchObject({ prompt: 'interrupted' });
    expect(play.worked('c3').task.state).toBe('awaiting_critic');
  });

  test('so does a critic', () => {
    const play = interruptedAlone(awaiting(), (one) => one.crash());
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'interrupted' } });
    expect(play.ask('resume').run()).toMatchObject({ role: 'critic' });
  });

  test('an interrupted continuation still names what the gate had found', () => {
    const play = running().worked('c1', 'fail').crash().checkpoint('c1');
    expect(prompt(play)).toContain('expected 1 but got 2');
  });

  test('a turn that ends by itself breaks the streak of interruptions', () => {
    const play = running().crash().checkpoint('c1').crash().checkpoint('c2').worked('c3', 'fail');
    expect(play.task.roles.coder.interrupted).toBe(0);
  });

  test.each([
    ['workspace_refused', 'workspace_failed'],
    ['sandbox_failed', 'sandbox_failed'],
  ])('%s ends the task at once with %s', (code, reason) => {
    expect(ended(running().turn('failed', { code }).checkpoint('c1'))).toEqual(['abandoned', reason]);
  });
});

describe('a work tree that somebody deleted', () => {
  const lost = { kind: 'workspace_lost', saved: 'c1c1c1c1c1c1c1' } as const;

  test('before a turn: made anew, and the turn is taken in the same session, with the news', () => {
    const play = running().worked('c1', 'fail');
    const { session } = play.task.roles.coder;
    expect(play.run()).toMatchObject({ kind: 'turn', turn: 2 });
    play.answer(lost);
    expect(play.actionsOf('prepare_workspace')).toHaveLength(2);
    play.checkpoint('c1');
    expect(play.run()).toMatchObject({ kind: 'turn', turn: 2, sessionId: session, prompt: 'continuation' });
    expect(prompt(play)).toContain('The worktree was gone; it is recreated at `c1c1c1c1c1`');
    expect(play.worked('c2').task.state).toBe('awaiting_critic');
  });

  test('before the first turn: nobody has heard of the session yet', () => {
    const play = running().answer(lost).checkpoint('base', { empty: true });
    expect(play.run()).toMatchObject({ kind: 'turn', turn: 1, prompt: 'task' });
    expect(play.task.hold).toBeNull();
  });

  test('after a turn: its coder is told that the work is lost, and nobody waits', () => {
    const play = running().turn().answer(lost);
    expect(play.actionsOf('prepare_workspace')).toHaveLength(2);
    expect(play.task.hold).toBeNull();
    expect(play.run()).toMatchObject({ kind: 'turn', turn: 2 });
    expect(prompt(play)).toContain('What was not committed is lost');
  });

  test('under its gate: made anew, and the gate runs again', () => {
    const play = running().turn().checkpoint('c1').answer(lost).checkpoint('c1');
    expect(play.run()).toMatchObject({ kind: 'gate', scope: 'work' });
    expect(play.gate('pass').task.state).toBe('awaiting_critic');
  });
});

describe('a work tree that can’t be saved', () => {
  test('is given back to the coder with the reason', () => {
    const play = running().turn().answer({ kind: 'refused', problem: 'nested repository in lib/' });
    expect(prompt(play)).toContain('nested repository in lib/');
    expect(play.worked('c1').task.state).toBe('awaiting_critic');
  });

  test('again and again ends the task; once mended, it counts from the start', () => {
    const refused = { kind: 'refused', problem: 'nested repository' } as const;
    const play = running();
    for (let n = 1; n < MAX_WORKSPACE_FAILURES; n += 1) play.turn().answer(refused);
    play.worked('c1', 'fail').turn().answer(refused);
    expect(play.task.state).toBe('running');
    for (let n = 1; n < MAX_WORKSPACE_FAILURES; n += 1) play.turn().answer(refused);
    expect(ended(play)).toEqual(['abandoned', 'workspace_failed']);
  });

  test('a first workspace that lacks what can’t be fetched is waited for, then shown to a person', () => {
    const play = queued();
    const unfetched = { kind: 'workspace_failed', problem: 'no network', unfetched: true } as const;
    play.failing.set('prepare_workspace', Array(MAX_FETCH_FAILURES).fill(unfetched));
    play.change({ slotsFull: false });
    expect(play.task).toMatchObject({ state: 'queued', hold: { detail: 'no network', until: 10_000 } });
    while (play.task.hold?.reason === 'retry_backoff') play.wait(play.task.hold.until! - play.now);
    expect(play.task).toMatchObject({ state: 'queued', hold: { reason: 'fetch_failed', until: null } });
    play.ask('resume');
    expect(play.task).toMatchObject({ state: 'running', hold: null, turns: 1 });
  });

  test('a workspace that can’t be made is tried again with backoff, then given up', () => {
    const play = queued();
    const failed = { kind: 'workspace_failed', problem: 'disk full' } as const;
    play.failing.set('prepare_workspace', [failed, failed, failed]);
    play.change({ slotsFull: false });
    expect(play.task).toMatchObject({ state: 'queued', hold: { until: 10_000 } });
    play.wait(10_000);
    expect(play.task).toMatchObject({ state: 'queued', hold: { until: 30_000 } });
    expect(ended(play.wait(20_000))).toEqual(['abandoned', 'workspace_failed']);
  });
});

describe('a branch that moved under us', () => {
  test('what somebody else pushed meanwhile is merged into the work, verified and pushed over it', () => {
    const play = running();
    play.failing.set('push', [{ kind: 'moved', sha: 'theirs' }]);
    play.world.branch = { sha: 'theirs', tree: 'tree-theirs' };
    play.worked('c1');
    expect(play.pending[0]?.action).toEqual({ kind: 'merge_in', sha: 'theirs' });
    play.answer({ kind: 'merged_in', conflicts: [], landed: [] }).checkpoint('c2').gate('pass');
    expect(play.actionsOf('push').at(-1)).toEqual({ kind: 'push', sha: 'c2', expected: 'theirs' });
    expect(play.task.state).toBe('awaiting_critic');
  });
});

describe('while a turn is in flight', () => {
  const stopped = (play: Play) => play.of('turn_completed').at(-1);

  test('it rests until the next limit', () => {
    const play = running();
    expect(play.decide()).toMatchObject({ kind: 'rest', until: 300_000, for: 'time' });
  });

  test('silence for stall_timeout_ms stops it; progress does not let it (dispatch 28)', () => {
    const play = running().wait(299_999).progress().wait(299_999);
    expect(play.run()).not.toBeNull();
    expect(stopped(play.wait(1))).toMatchObject({ status: 'stalled' });
  });

  test('turn_timeout_ms stops it however busy it is (dispatch 28)', () => {
    const play = running();
    for (let n = 0; n < 12; n += 1) play.progress().wait(299_999).progress();
    expect(stopped(play.wait(12))).toMatchObject({ status: 'timed_out' });
  });

  test('a tool at work is no silence: another clock holds for it, until it is over', () => {
    const build = { kind: 'tool', tool: 'shell', detail: 'make', call: 'c', same: 'make' } as const;
    const policy = testPolicy();
    const agents = { ...policy.agents, coder: { ...policy.agents.coder, toolTimeoutMs: 900_000 } };
    const play = running({ agents }).progress(build).wait(899_999);
    expect(play.run()).not.toBeNull();
    expect(play.decide()).toMatchObject({ until: 900_000 });
    const after = play.progress({ kind: 'tool_over', call: 'c', result: 'ok' }).wait(299_999);
    expect(after.run()).not.toBeNull();
    expect(stopped(after.wait(1))).toMatchObject({
      status: 'stalled',
      message: expect.stringMatching(/^no sign/),
    });
    const stuck = running({ agents }).progress(build).wait(900_000);
    expect(stopped(stuck)).toMatchObject({
      status: 'stalled',
      message: expect.stringMatching(/^a tool call/),
    });
  });

  describe('the same call again and again', () => {
    const poll = (play: Play, times: number, result: (n: number) => string) => {
      for (let n = 0; n < times; n += 1) {
        play.progress({ kind: 'tool', tool: 'shell', detail: 'ls', call: `c${n}`, same: 'ls' });
        play.progress({ kind: 'tool_over', call: `c${n}`, result: result(n) });
      }
      return play;
    };
    const stopsAfter = (play: Play) => poll(play, 13, () => 'same');

    test('stops the turn, and the coder is told at once', () => {
      const play = running();
      expect(poll(play, 12, () => 'same').run()).not.toBeNull();
      expect(stopped(stopsAfter(running()))).toMatchObject({ status: 'stalled', code: 'repeated_calls' });
      const next = stopsAfter(running()).checkpoint('c1');
      expect(next.run()).toMatchObject({
        turn: 2,
        priorFailure: expect.stringContaining('the same tool call was made 13 times in a row'),
      });
    });

    test('with results that differ is polling, and goes on', () => {
      expect(poll(running(), 100, (n) => `${n} %`).run()).not.toBeNull();
    });

    test('repeated_calls 0 lets it', () => {
      const policy = testPolicy();
      const agents = { ...policy.agents, coder: { ...policy.agents.coder, repeatedCalls: 0 } };
      expect(poll(running({ agents }), 100, () => 'same').run()).not.toBeNull();
    });

    test('in turns that change nothing ends in no_progress', () => {
      let play = running();
      for (let n = 0; n < 3; n += 1) play = stopsAfter(play).checkpoint('base', { empty: true });
      expect(ended(play)).toEqual(['abandoned', 'no_progress']);
    });
  });

  test('stall_timeout_ms 0 means silence is never a stall', () => {
    const quiet = running();
    const agents = { ...quiet.policy.agents, coder: { ...quiet.policy.agents.coder, stallTimeoutMs: 0 } };
    expect(quiet.configure({ agents }).wait(3_599_999).run()).not.toBeNull();
  });

  test.each([
    ['usd', { usd: 2 }, { costUsd: 2, tokens: 0 }],
    ['tokens', { tokens: 100 }, { costUsd: 0, tokens: 100 }],
  ])('a spent budget of %s stops it as soon as the usage is known (dispatch 28)', (_what, budget, spend) => {
    const play = running({ budget }).change({ spend });
    expect(stopped(play)).toMatchObject({ status: 'cancelled' });
    expect(ended(play)).toEqual(['abandoned', 'budget_exhausted']);
  });

  test('the wall clock of the task stops it at its own moment, turns before it counted (dispatch 28)', () => {
    const play = running({ budget: { wallMs: 5_000 } }).worked('c1', 'fail');
    expect(play.decide()).toMatchObject({ kind: 'rest', until: 4_000 });
    expect(ended(play.wait(3_999))).toEqual(['running', null]);
    expect(ended(play.wait(1))).toEqual(['abandoned', 'budget_exhausted']);
  });

  test('loop:abandon stops it and the worktree is preserved (dispatch 24, 25)', () => {
    const play = running().issue({ labels: ['loop:running', 'Loop:Abandon '] });
    expect(stopped(play)).toMatchObject({ status: 'cancelled', message: 'labelled loop:abandon' });
    expect(ended(play)).toEqual(['abandoned', 'operator_abandon']);
    expect(play.of('worktree_preserved')).toEqual([{ path: 'ws' }]);
  });

  test('a pause waits for the turn to end', () => {
    const play = running().ask('pause');
    expect(play.run()).not.toBeNull();
    expect(play.turn().task.hold?.reason).toBe('operator_pause');
  });

  test('a gate in flight is stopped by an ending too', () => {
    const play = running().turn().checkpoint('c1').ask('cancel');
    expect(ended(play)).toEqual(['abandoned', 'cancelled']);
    expect(play.task.gate).toBeNull();
  });
});

describe('slots', () => {
  test('a task that waits for its critic has none, and takes one again to revise (dispatch 29, 34)', () => {
    const play = awaiting();
    expect(play.facts().slot).toBe(false);
    play.critic(changes());
    const entered = play.of('worker_state_transition').at(-1);
    expect(entered).toMatchObject({ from: 'awaiting_critic', to: 'revising' });
  });

  test.each([
    ['queued', () => queued(), 'waiting for a slot'],
    [
      'a hold that ran out',
      () => running().turn('failed').checkpoint('c1'),
      'its hold is over; waiting for a slot',
    ],
  ])('%s waits for a grant and says so', (_what, reach, why) => {
    const play = reach();
    play.world.slotsFull = true;
    play.wait(10_000);
    expect(play.decide()).toMatchObject({ kind: 'rest', for: 'grant', why });
  });

  test.each([
    ['dispatch', () => queued()],
    ['resume', () => running().turn('failed').checkpoint('c1')],
  ])('taking one is guarded by the limit in the same commit: %s', (_what, reach) => {
    const play = reach();
    play.now += 10_000;
    play.world.slotsFull = false;
    expect(play.decide()).toMatchObject({ kind: 'act', limits: { slots: 3 } });
  });
});

describe('a red that trunk has without the work', () => {
  const red = (play: Play, sha: string): Play =>
    play
      .turn()
      .checkpoint(sha)
      .gated(redBefore({ command: 'node check.mjs' }));

  test.each([
    ['its text', { body: 'Make `node  check.mjs` pass.' }],
    ['a criterion', { body: 'Make it pass.\n\n- [ ] it is green (verify: `node check.mjs`)' }],
  ])('is ordinary work where %s names it', (_, issue) => {
    const play = new Play();
    Object.assign(play.world.issue!, issue);
    red(play.claim(), 'c1').turn().checkpoint('c1');
    expect(play.task.hold).toBeNull();
    expect(play.run()).toMatchObject({ role: 'coder', turn: 3 });
  });

  test('is ordinary work while turns change something', () => {
    const play = running();
    for (let n = 1; n < 6; n += 1) red(play, `c${n}`);
    expect(play.task).toMatchObject({ hold: null, turns: 6 });
  });

  test('and is left as it is waits, until trunk is another; a trunk that did not help is not taken in twice', () => {
    const play = red(running(), 'c1').turn().checkpoint('c1');
    expect(play.task.hold?.reason).toBe('trunk_red');
    play.change({ trunk: 'm2' });
    expect(play.pending[0]?.action).toEqual({ kind: 'merge_in', sha: 'm2' });
    play.answer({ kind: 'merged_in', conflicts: [], landed: [] });
    play.checkpoint('c2', { baseSha: 'older' }).gated(redBefore({ command: 'node check.mjs' }));
    expect(play.run()).toMatchObject({ role: 'coder', turn: 3 });
  });

  test('is first tried on the trunk of today, before another turn is paid for', () => {
    const play = running();
    play.world.trunk = 'm2';
    red(play, 'c1');
    expect(play.pending[0]?.action).toEqual({ kind: 'merge_in', sha: 'm2' });
  });
});
