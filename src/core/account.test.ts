/** A provider's account that is used up: what waits for it, what goes on, and what ends it. */
import { describe, expect, test } from 'vitest';
import { awaiting, changes, type Play, queued, revising, running } from '../../test/support/play.ts';
import { testPolicy } from '../../test/support/policy.ts';
import { accountOf, afterAccounts, limitOf } from './account.ts';
import { event } from './event.ts';
import type { AgentPolicy } from './policy.ts';

const HOUR = 3_600_000;
const USED_UP = { code: 'usage_limit', message: 'resets at nine', retryAt: HOUR };
const LIMIT = { account: 'scripted', why: 'resets at nine', until: HOUR };
const { agents } = testPolicy();

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
    );
    expect(limitOf(limits, 'scripted', HOUR)).toMatchObject({ until: 2 * HOUR });
    expect(limitOf(limits, 'scripted', 2 * HOUR)).toBeNull();
    const after = afterAccounts(limits, [event('account_released', { account: 'scripted', by: 'eva' })]);
    expect(after).toEqual([{ ...LIMIT, account: 'codex' }]);
  });
});

describe('a turn that meets the limit', () => {
  test.each([
    ['the coder’s', () => running().turn('failed', USED_UP).checkpoint('c1')],
    ['the critic’s', () => awaiting().turn('failed', USED_UP)],
  ])('%s: the loop knows, and the same turn is taken again when it is over', (_, met) => {
    const play = met();
    expect(play.world.accountLimits).toEqual([LIMIT]);
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
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: null, streaks: { critic: 0 } });
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
    expect(play.decide()).toMatchObject({ kind: 'rest', until: HOUR, why: 'scripted: resets at nine' });
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
    expect(play.run()).toMatchObject({ kind: 'turn', role: 'coder' });
  });
});
