/** A provider's account that is used up: what waits for it, what goes on, and what ends it. */
import { describe, expect, test } from 'vitest';
import { awaiting, changes, type Play, queued, revising, running } from '../../../test/support/play.ts';
import { testPolicy } from '../../../test/support/policy.ts';
import { type EventData, event } from '../event.ts';
import { loopWaits } from '../loop/loop-waits.ts';
import { REQUEST_REFUSED, TAMPERED } from '../outcome.ts';
import type { AgentPolicy } from '../policy.ts';
import { PROVIDER_PATIENCE } from '../role.ts';
import {
  type AccountLimit,
  accountOf,
  afterAccounts,
  blockOf,
  isLasting,
  limitOf,
  outageOf,
  PROVIDERS_OWN,
  triedAccount,
  usedUp,
  withOtherSettings,
} from './account.ts';

const HOUR = 3_600_000;
const USED_UP = { code: 'usage_limit', message: 'resets at nine', retryAt: HOUR };
const LIMIT = { account: 'scripted', why: 'resets at nine', until: HOUR };
const { agents } = testPolicy();

const endedTurn = (task: string, ended: Partial<EventData['turn_completed']>) => ({
  ...event('turn_completed', {
    ...{ turn: 1, role: 'coder', sessionId: 's', status: 'finished', code: null, message: '' },
    ...{ retryAt: null, durationMs: 1, usage: 'known', account: 'scripted', ...ended },
  } as EventData['turn_completed']),
  task,
});

describe('an account', () => {
  const of = (asked: Partial<AgentPolicy>): string => accountOf({ ...agents.coder, ...asked });

  test.each([
    [{ kind: 'claude' }, 'claude'],
    [{ kind: 'codex', command: 'ignored' }, 'codex'],
    [{ kind: 'command', command: './mine.sh' }, 'command ./mine.sh'],
    [{ kind: 'acp', command: 'mine --acp' }, 'acp mine --acp'],
    [{ kind: 'acp', preset: 'gemini', command: 'ignored' }, 'acp gemini'],
    [{ kind: 'opencode', model: 'anthropic/claude-sonnet-5' }, 'opencode anthropic'],
    [{ kind: 'opencode', model: null }, 'opencode'],
  ])('of %j is %s', (asked, account) => {
    expect(of(asked)).toBe(account);
  });

  test('is one for two ways to the same credential, and another for another provider', () => {
    const acp = (preset: string, model = 'openai/m') => of({ kind: 'acp', preset, model });
    expect(acp('claude-agent-acp')).toBe(of({ kind: 'claude' }));
    expect(acp('codex-acp')).toBe(of({ kind: 'codex' }));
    expect(acp('opencode')).toBe(of({ kind: 'opencode', model: 'openai/other' }));
    const others = [
      acp('claude-agent-acp'),
      acp('codex-acp'),
      acp('opencode'),
      acp('opencode', 'google/m'),
      acp('gemini'),
    ];
    expect(new Set(others).size).toBe(others.length);
  });

  test('has its newest limit, until that is over or a person says so', () => {
    const limited = event('account_limited', LIMIT);
    const later = event('account_limited', { ...LIMIT, until: 2 * HOUR });
    const limits = afterAccounts(
      [],
      [limited, event('account_limited', { ...LIMIT, account: 'codex' }), later],
      0,
    );
    expect(limitOf(limits, 'scripted', HOUR)).toMatchObject({ until: 2 * HOUR });
    expect(limitOf(limits, 'scripted', 2 * HOUR)).toBeNull();
    const after = afterAccounts(limits, [event('account_released', { account: 'scripted', by: 'eva' })], 0);
    expect(after).toMatchObject([{ ...LIMIT, account: 'codex' }]);
  });
});

describe('a turn that meets the limit', () => {
  test.each([
    ['the coder’s', () => running().turn('failed', USED_UP).checkpoint('c1')],
    ['the critic’s', () => awaiting().turn('failed', USED_UP)],
  ])('%s: the loop knows, and the same turn is taken again when it is over', (_, met) => {
    const play = met();
    expect(play.world.accountLimits).toMatchObject([LIMIT]);
    expect(play.run()).toBeNull();
    expect(play.decide()).toMatchObject({ kind: 'rest', until: HOUR, for: 'time' });
    play.wait(HOUR);
    expect(play.run()).toMatchObject({ kind: 'turn' });
  });

  test('the critic’s is no unusable report, however often', () => {
    const play = awaiting();
    for (let times = 1; times < 12; times += 1) {
      play.turn('failed', { ...USED_UP, retryAt: times * HOUR });
      play.wait(HOUR);
    }
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      hold: null,
      roles: { critic: { failed: 0 } },
    });
  });

  test.each([
    ['without an end', { ...USED_UP, retryAt: null }],
    ['whose end is past', { ...USED_UP, retryAt: 0 }],
    ['of requests', { ...USED_UP, code: 'rate_limit' }],
  ])('a limit %s is the turn’s own failure', (_, failure) => {
    const play = running().turn('failed', failure).checkpoint('c1');
    expect(play.world.accountLimits).toEqual([]);
    expect(play.task.hold).not.toBeNull();
  });
});

describe('while an account is used up', () => {
  const limited = (play: Play): Play => play.change({ accountLimits: [LIMIT] });

  test.each([
    ['queued', () => limited(queued()).change({ slotsFull: false }), 'queued'],
    ['running, after a red gate', () => limited(running()).worked('c1', 'fail'), 'running'],
    ['revising, after a red gate', () => limited(revising()).worked('c2', 'fail'), 'revising'],
  ] as const)('%s: held without a slot until it is over', (_, start, state) => {
    const play = start();
    expect(play.task).toMatchObject({
      state,
      hold: { reason: 'provider_limit', until: HOUR, account: 'scripted' },
    });
    expect(play.run()).toBeNull();
    play.wait(HOUR);
    expect(play.task.hold).toBeNull();
    expect(play.run()).toMatchObject({ kind: 'turn', role: 'coder' });
  });

  test('a critic of another provider goes on; its changes wait for the coder’s', () => {
    const agent = { ...agents.critic, kind: 'codex' };
    const play = limited(running({ agents: { ...agents, critic: agent } })).worked('c1');
    expect(play.run()).toMatchObject({ kind: 'turn', role: 'critic' });
    play.critic(changes());
    expect(play.decide()).toMatchObject({
      kind: 'rest',
      until: HOUR,
      why: 'waiting for scripted: resets at nine',
    });
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: null });
  });

  test('what costs nothing goes on: an approved head is merged', () => {
    const play = limited(awaiting()).critic({ verdict: 'APPROVE', findings: [] });
    expect(play.task.state).toBe('merging');
  });

  test('a person’s resume of one task tries the account again', () => {
    const play = limited(running()).worked('c1', 'fail').ask('resume');
    expect(play.world.accountLimits).toEqual([]);
    expect(play.run()).toMatchObject({ kind: 'turn', role: 'coder' });
  });

  test('a limit that a person lifted for all releases whoever waited', () => {
    const play = limited(running()).worked('c1', 'fail');
    expect(play.run()).toBeNull();
    play.change({ accountLimits: [] });
    expect(play.of('hold_released')).toEqual([{ by: 'loop' }]);
    expect(play.run()).toMatchObject({ kind: 'turn', role: 'coder' });
  });
});

const elsewhere = (play: Play, ended: Partial<EventData['turn_completed']>): Play => {
  const limits = afterAccounts(play.world.accountLimits, [endedTurn('t2', ended)], play.now);
  return play.change({ accountLimits: [...limits] });
};

describe('an account whose turns fail at once', () => {
  const AT_ONCE = { code: 'exit_nonzero', message: '503', workless: true } as const;
  const failsAtOnce = (play: Play): Play => play.turn('failed', AT_ONCE).checkpoint('c1');

  /** What a turn of another task comes to meanwhile. */
  const failsElsewhere = (play: Play): Play => elsewhere(play, { status: 'failed', ...AT_ONCE });

  test('is held as out after three in a row of two tasks, which have all their chances again', () => {
    const play = failsElsewhere(running());
    for (let times = 0; times < 2; times += 1) failsAtOnce(play).wait(400_000);
    expect(play.world.accountLimits).toMatchObject([{ account: 'scripted', outage: { failures: 3 } }]);
    expect(play.task).toMatchObject({ state: 'running', roles: { coder: { failed: 0 } } });
  });

  test('is not out while they are turns of one task, which ends by its own patience', () => {
    const play = running();
    let failures = 0;
    for (; play.task.state === 'running' && failures < 20; failures += 1) {
      failsAtOnce(play);
      expect(outageOf(play.world.accountLimits, 'scripted')).toBeNull();
      play.wait(400_000);
    }
    expect(failures).toBe(PROVIDER_PATIENCE);
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'error_max_retries' });
  });

  test.each(PROVIDERS_OWN)('is out by one task alone when the provider says so: %s', (code) => {
    const play = running();
    for (let times = 0; times < 2 * PROVIDER_PATIENCE; times += 1)
      play.turn('failed', { code, message: '503', workless: true }).checkpoint('c1').wait(HOUR);
    expect(outageOf(play.world.accountLimits, 'scripted')).not.toBeNull();
    expect(play.task.state).toBe('running');
  });

  test('counts one task for no more than two failures, however often it failed', () => {
    const play = running();
    for (let times = 0; times < 6; times += 1) failsAtOnce(play).wait(400_000);
    failsElsewhere(play);
    expect(outageOf(play.world.accountLimits, 'scripted')).toMatchObject({ until: play.now + 10_000 });
  });

  test('that was out by the rules of an older version stays so', () => {
    const outage = { since: 0, failures: 5 };
    const play = running().change({
      accountLimits: [{ account: 'scripted', why: '503', until: 0, since: 0, outage }],
    });
    failsAtOnce(play);
    expect(outageOf(play.world.accountLimits, 'scripted')).toMatchObject({ outage: { failures: 6 } });
  });

  test('is out when it never answers anybody, and no task ends for it', () => {
    const silent = { code: null, message: 'silent for 5 min', workless: true } as const;
    const play = elsewhere(running(), { status: 'stalled', ...silent });
    for (let times = 0; times < 12; times += 1) play.turn('stalled', silent).checkpoint('c1').wait(HOUR);
    expect(outageOf(play.world.accountLimits, 'scripted')).toMatchObject({ why: 'silent for 5 min' });
    expect(play.task).toMatchObject({ state: 'running', turns: 1, roles: { coder: { stalled: 0 } } });
  });

  test.each([
    ['of one task alone', undefined],
    ['after some work', false],
  ] as const)('is not out by silence %s: that task ends', (_, workless) => {
    const ended = {
      code: null,
      message: 'silent',
      ...(workless === undefined && { workless: true as const }),
    };
    const play = running();
    if (workless === false) elsewhere(play, { status: 'stalled', ...ended });
    for (let times = 0; times < 12 && play.task.state === 'running'; times += 1)
      play.turn('stalled', ended).checkpoint('c1').wait(HOUR);
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'stall_timeout' });
  });

  test('is found out before a task that had failed by itself pays for it', () => {
    const play = running().turn('failed', { code: 'exit_nonzero', message: 'exit 1' }).checkpoint('c1');
    failsElsewhere(play);
    for (let times = 0; times < 4; times += 1) failsAtOnce(play.wait(HOUR));
    expect(play.task.state).toBe('running');
    expect(play.world.accountLimits).toMatchObject([{ outage: { failures: 5 } }]);
  });

  test('costs no turn of any task, however long it is out', () => {
    const play = failsElsewhere(running());
    for (let times = 0; times <= 2 * play.policy.maxTurns; times += 1) failsAtOnce(play).wait(HOUR);
    expect(play.task.state).toBe('running');
    expect(play.worked('c2').task.state).toBe('awaiting_critic');
  });

  test('is found out although a turn that began before works in between', () => {
    const play = running();
    for (let times = 0; times < 12; times += 1) {
      failsAtOnce(play);
      if (times < 4) elsewhere(play, { status: 'finished' });
      else failsElsewhere(play);
      play.wait(HOUR);
    }
    expect(play.task.state).toBe('running');
  });

  describe('once it is out', () => {
    const out = (): Play => failsElsewhere(failsElsewhere(failsAtOnce(running())));

    test.each<[string, Partial<EventData['turn_completed']>]>([
      ['finished', { status: 'finished' }],
      ['took too long', { status: 'timed_out' }],
      ['went silent', { status: 'stalled' }],
      ['failed after some work', { status: 'failed', code: 'exit_nonzero' }],
      ['answered and wrote where it must not', { status: 'failed', code: TAMPERED }],
    ])('is over when a turn %s', (_, ended) => {
      expect(elsewhere(out(), ended).world.accountLimits).toEqual([]);
    });

    test.each<[string, Partial<EventData['turn_completed']>]>([
      ['its hook failed', { status: 'failed', code: 'hook_failed' }],
      ['its workspace was refused', { status: 'failed', code: 'workspace_refused' }],
      ['the forge was away', { status: 'failed', code: 'forge_unavailable' }],
      ['it could not be confined', { status: 'failed', code: 'sandbox_failed' }],
      ['git has no identity', { status: 'failed', code: 'could_not_start' }],
      [
        'it went silent in the middle of a tool',
        { status: 'stalled', code: 'repeated_calls', workless: true },
      ],
      ['it took too long without any work', { status: 'timed_out', workless: true }],
      ['its runner was stopped', { status: 'interrupted' }],
      ['it was cancelled', { status: 'cancelled' }],
    ])('is as it was when a turn ended because %s', (_, ended) => {
      const play = out();
      const before = play.world.accountLimits;
      expect(before).toMatchObject([{ outage: { failures: 3 } }]);
      expect(elsewhere(play, ended).world.accountLimits).toEqual(before);
    });

    test('is tried by another soon when the turn that was to try it never asked', () => {
      const play = out().wait(HOUR);
      expect(play.world.accountLimits).toMatchObject([{ outage: { triedBy: 't1' } }]);
      play.turn('failed', { code: 'hook_failed', message: 'before_run failed' });
      const [limit] = play.world.accountLimits;
      expect(limit).toMatchObject({ until: play.now + 10_000, outage: { failures: 3 } });
      expect(limit?.outage).not.toHaveProperty('triedBy');
    });
  });

  test('is lasting when it was tried for six hours, whatever clocks say', () => {
    let times = 0;
    let limits: readonly AccountLimit[] = [];
    const fail = (at: number): boolean => {
      limits = afterAccounts(limits, [endedTurn(`t${++times % 2}`, { status: 'failed', ...AT_ONCE })], at);
      return limits.some(isLasting);
    };
    for (let month = 0; month < 10; month += 1) expect(fail(month * 720 * HOUR)).toBe(false);
    for (let more = 0; more < 9; more += 1) expect(fail(0)).toBe(false);
    for (let more = 0; more < 4; more += 1) fail(0);
    expect(limits.some(isLasting)).toBe(true);
  });

  test('while it works for others ends the task whose turns fail so', () => {
    const play = running();
    for (let times = 0; times < 12 && play.task.state === 'running'; times += 1) {
      failsAtOnce(play).change({ accountLimits: [] });
      play.wait(400_000);
    }
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'error_max_retries' });
  });
});

test('the account that a turn tries is read from older databases, too', () => {
  const started = { turn: 1, role: 'coder', sessionId: 's', prompt: 'task' } as const;
  expect(triedAccount(started)).toBeNull();
  expect(triedAccount({ ...started, triesAccount: 'claude' })).toBe('claude');
  expect(triedAccount({ ...started, probe: 'claude' })).toBe('claude');
});

describe('an account that is refused what every task needs', () => {
  const LOOP = { pausedBy: null, holds: [], trials: [], deploy: null, deployAgain: null };
  const refused = (code: string) => ({ code, message: 'no', workless: true as const });
  const released = (play: Play): Play =>
    play.change({
      accountLimits: afterAccounts(
        play.world.accountLimits,
        [event('account_released', { account: 'scripted', by: 'eva' })],
        play.now,
      ),
    });
  const blocked = (play: Play) => blockOf(play.world.accountLimits, 'scripted')?.blocked?.code;

  test.each(['billing', 'model_unavailable', 'setting_refused'])('%s blocks it at once', (code) => {
    const play = running().turn('failed', refused(code)).checkpoint('c1');
    expect(blocked(play)).toBe(code);
    expect(play.task).toMatchObject({
      state: 'running',
      hold: { reason: 'provider_limit', account: 'scripted' },
    });
    expect(play.wait(365 * 24 * HOUR).task.hold).not.toBeNull();
    expect(
      loopWaits({ ...LOOP, accountLimits: play.world.accountLimits }, play.policy, null, play.now),
    ).toMatchObject([{ stops: 'account', resumes: true, until: null }]);
  });

  test('a credential blocks it when it was refused three times in a row, to whatever task', () => {
    const play = running();
    for (let times = 1; times <= 3; times += 1) {
      expect(blocked(play)).toBeUndefined();
      play.turn('failed', refused('auth')).checkpoint(`c${times}`).wait(400_000);
    }
    expect(blocked(play)).toBe('auth');
  });

  test('one word of a person lets all go on, with the chances they had, and nothing is asked before', () => {
    const play = running();
    for (let times = 1; times <= 3 * PROVIDER_PATIENCE; times += 1) {
      play.turn('failed', { ...refused('billing'), durationMs: 0 }).checkpoint(`c${times}`);
      expect(play.task.hold).toMatchObject({ reason: 'provider_limit' });
      released(play.wait(HOUR)).look();
      expect(play.task.hold).toBeNull();
    }
    expect(play.wait(HOUR / 100).worked('d1').task.state).toBe('awaiting_critic');
    expect(play.world.accountLimits).toEqual([]);
  });

  test('waits for a person whatever the clock says', () => {
    const play = running().turn('failed', refused('billing')).checkpoint('c1');
    const { accountLimits } = play.world;
    const { since } = blockOf(accountLimits, 'scripted')!;
    for (const now of [since! - 30 * 24 * HOUR, since! + 365 * 24 * HOUR]) {
      expect(limitOf(accountLimits, 'scripted', now)?.blocked?.code).toBe('billing');
      expect(usedUp(accountLimits, now)).toHaveLength(1);
    }
  });

  test('a clock that was set back behind its release hides no new refusal', () => {
    const play = running().turn('failed', refused('billing')).checkpoint('c1').wait(HOUR);
    released(play);
    play.now -= HOUR / 2;
    const late = { ...refused('billing'), status: 'failed', blocks: 'x', durationMs: 1_000 } as const;
    expect(blocked(elsewhere(play, late))).toBe('billing');
  });

  test('a turn that began before that says nothing when it fails afterwards', () => {
    const play = running().turn('failed', refused('billing')).checkpoint('c1').wait(HOUR);
    released(play);
    const late = { ...refused('billing'), status: 'failed', blocks: 'x' } as const;
    expect(blocked(elsewhere(play, { ...late, durationMs: 60_000 }))).toBeUndefined();
    expect(blocked(elsewhere(play.wait(1_000), { ...late, durationMs: 1_000 }))).toBe('billing');
  });

  test('a model that is not there is no block while another may be asked', () => {
    const { agents } = testPolicy();
    const play = running({ agents: { ...agents, coder: { ...agents.coder, fallbackModels: ['other'] } } });
    play.turn('failed', refused('model_unavailable')).checkpoint('c1').wait(HOUR);
    expect(blocked(play)).toBeUndefined();
    expect(play.run()).toMatchObject({ fallback: 1 });
    play.turn('failed', refused('model_unavailable')).checkpoint('c2');
    expect(blocked(play)).toBe('model_unavailable');
  });

  test('a spend limit that ends at a time is waited for', () => {
    const play = running()
      .turn('failed', { ...refused('billing'), retryAt: HOUR })
      .checkpoint('c1');
    expect(play.world.accountLimits).toMatchObject([{ until: HOUR }]);
    expect(blocked(play)).toBeUndefined();
    expect(play.wait(HOUR).task.hold).toBeNull();
  });

  test('whoever waits for its critic is held too, so that a person is told', () => {
    const { agents } = testPolicy();
    const critic = { ...agents.critic, kind: 'claude' as const };
    const play = awaiting({ agents: { ...agents, critic } }).turn('failed', refused('billing'));
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      hold: { reason: 'provider_limit', account: 'claude', until: null },
    });
    play.change({ accountLimits: [] }).look();
    expect(play.run()).toMatchObject({ role: 'critic' });
  });

  test('other settings are worth another try', () => {
    const play = running().turn('failed', refused('setting_refused'));
    const { accountLimits } = play.world;
    expect(withOtherSettings(accountLimits, play.policy)).toEqual([]);
    const { agents } = play.policy;
    const changed = { ...play.policy, agents: { ...agents, coder: { ...agents.coder, effort: 'low' } } };
    expect(withOtherSettings(accountLimits, changed)).toEqual(['scripted']);
  });

  test('the first request of a conversation, refused for reasons nobody knows, is an outage when two tasks meet it', () => {
    const play = running().turn('failed', refused('invalid_request')).checkpoint('c1');
    expect(play.of('turn_completed')).toMatchObject([{ code: REQUEST_REFUSED }]);
    expect(play.task.state).toBe('running');
  });
});
