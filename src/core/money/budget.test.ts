import { describe, expect, test } from 'vitest';
import {
  APPROVE,
  awaiting,
  changes,
  merging,
  type Play,
  queued,
  running,
} from '../../../test/support/play.ts';
import { exhausted, loopLimit, nearing, spent } from './budget.ts';

const NONE = { usd: null, tokens: null, wallMs: null, warnTurnUsd: null };
const used = { usd: 1.5, tokens: 1000, wallMs: 60_000 };

describe('a budget', () => {
  test('that was not set is never spent', () => {
    expect(exhausted({ usd: 1e9, tokens: 1e12, wallMs: 1e12 }, NONE)).toBeNull();
  });

  test.each([
    ['usd', { usd: 1.51 }, null],
    ['usd', { usd: 1.5 }, '$1.50 of $1.50 spent'],
    ['tokens', { tokens: 1001 }, null],
    ['tokens', { tokens: 1000 }, '1000 of 1000 tokens used'],
    ['wall clock', { wallMs: 60_001 }, null],
    ['wall clock', { wallMs: 60_000 }, '60 s of 60 s worked'],
    ['nothing allowed', { usd: 0 }, '$1.50 of $0.00 spent'],
  ])('of %s %j: %s', (_what, budget, says) => {
    expect(exhausted(used, { ...NONE, ...budget })).toBe(says);
  });
});

describe('spent', () => {
  test('adds the turn in flight to the turns that have ended', () => {
    const { task } = running().worked('c1', 'fail');
    expect(spent(task, { costUsd: 2, tokens: 3 }, 500)).toEqual({ usd: 2, tokens: 3, wallMs: 1500 });
  });

  test('waiting costs nothing, nor does a turn that was decided and has not begun', () => {
    const play = running().worked('c1', 'could_not_run');
    play.now += 86_400_000;
    expect(spent(play.task, { costUsd: 0, tokens: 0 }, 0).wallMs).toBe(1000);
  });
});

describe('a budget of the loop', () => {
  const spending = (costUsd: number, tokens = 0, complete = true) => ({ costUsd, tokens, complete });
  const NOTHING = { usd: null, tokens: null };
  test.each([
    ['nothing is limited', NOTHING, NOTHING, null],
    ['the day is not over its limit', { usd: 5.01, tokens: null }, NOTHING, null],
    [
      'the dollars of the day are spent',
      { usd: 5, tokens: null },
      NOTHING,
      { scope: 'day', why: 'the budget of the day is spent: $5.00 of $5.00 spent', until: 900 },
    ],
    [
      'the tokens of the day are used',
      { usd: 9, tokens: 100 },
      NOTHING,
      { scope: 'day', why: 'the budget of the day is spent: 100 of 100 tokens used', until: 900 },
    ],
    [
      'both are spent: the one that only a person ends',
      { usd: 5, tokens: null },
      { usd: 20, tokens: null },
      { scope: 'loop', why: 'the budget of the loop is spent: ≥$20.00 of $20.00 spent', until: null },
    ],
    ['the loop is not over its limit', NOTHING, { usd: 21, tokens: 401 }, null],
  ])('%s', (_what, day, loop, expected) => {
    const budget = { ...NONE, day, loop };
    const used = { day: spending(5, 100), ever: spending(20, 400, false) };
    expect(loopLimit(used, budget, 900)).toEqual(expected);
  });

  test('is warned of from 80 % on, each limit for itself', () => {
    const near = (usd: number, tokens: number, wallMs: number) =>
      nearing({ usd, tokens, wallMs }, { usd: 10, tokens: 1000, wallMs: 100_000 }).map(({ limit }) => limit);
    expect(near(7.99, 799, 79_999)).toEqual([]);
    expect(near(8, 799, 80_000)).toEqual(['usd', 'wall_ms']);
    expect(near(11, 1000, 0)).toEqual(['usd', 'tokens']);
    expect(nearing({ usd: 8, tokens: 0, wallMs: 0 }, { usd: 10, tokens: null })[0]?.says).toBe(
      '$8.00 of $10.00 spent',
    );
  });
});

describe('when the budget of the loop is spent', () => {
  const DAY = { scope: 'day', why: 'the day is spent', until: 86_400_000 } as const;

  test('a turn is stopped, is no fault of the task however often, and goes on the next day', () => {
    const play = running();
    for (let day = 1; day <= 5; day += 1) {
      play.change({ loopLimit: DAY }).checkpoint(`c${day}`);
      expect(play.resting()).toBe('the day is spent');
      expect(play.change({ loopLimit: null }).run()).toMatchObject({
        prompt: 'interrupted',
        sessionId: 's1',
        turn: 1,
      });
    }
    expect(new Set(play.of('turn_completed').map(({ status, code }) => `${status} ${code}`))).toEqual(
      new Set(['interrupted out_of_budget']),
    );
    expect(play.task).toMatchObject({
      turns: 1,
      roles: { coder: { interrupted: 0 } },
      streaks: { idle: 0 },
    });
  });

  test('a critic is stopped, and judges the next day', () => {
    const play = awaiting().change({ loopLimit: DAY });
    expect(play.of('turn_completed').at(-1)).toMatchObject({ role: 'critic', code: 'out_of_budget' });
    expect(play.resting()).toBe('the day is spent');
    expect(play.change({ loopLimit: null }).run()).toMatchObject({ kind: 'turn', role: 'critic' });
    expect(play.critic(APPROVE).task.state).toBe('merging');
  });

  test('nothing is dispatched or taken up again, and what was paid for is merged', () => {
    const waiting = queued();
    waiting.world.loopLimit = DAY;
    waiting.world.slotsFull = false;
    waiting.look();
    expect(waiting.task.state).toBe('queued');
    expect(waiting.story.at(-1)).toMatchObject({ rest: { for: 'budget', until: 86_400_000 } });

    const asked = awaiting();
    asked.world.slotsFull = true;
    asked.critic(changes());
    asked.world.loopLimit = DAY;
    asked.world.slotsFull = false;
    expect(asked.look().task.state).toBe('awaiting_critic');

    const paid = merging();
    paid.world.loopLimit = DAY;
    expect(paid.candidate().gate('pass').landed().task.state).toBe('merged');
  });

  describe('where nobody knows whether it is spent', () => {
    const unsure = (play: Play): Play =>
      play.turn('interrupted', { code: 'spend_unknown', message: 'the model has no known price' });
    const held = { reason: 'spend_unknown', detail: 'the model has no known price', until: null };

    test('a person says whether the same session goes on', () => {
      const play = unsure(running()).checkpoint('c1');
      expect(play.task.hold).toMatchObject(held);
      expect(play.run()).toBeNull();
      expect(play.ask('resume').run()).toMatchObject({ prompt: 'interrupted', sessionId: 's1', turn: 1 });
      expect(unsure(play).checkpoint('c2').task, 'for as much again').toMatchObject({
        hold: held,
        roles: { coder: { interrupted: 0, failed: 0 } },
      });
    });

    test('so for a critic', () => {
      const play = unsure(awaiting());
      expect(play.task.hold).toMatchObject(held);
      expect(play.ask('resume').run()).toMatchObject({ kind: 'turn', role: 'critic' });
    });

    test('a price for the model says so, too', () => {
      const play = unsure(running()).checkpoint('c1');
      const { coder } = play.policy.agents;
      const prices = { [coder.model ?? '']: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 } };
      Object.assign(play.policy, { agents: { ...play.policy.agents, coder: { ...coder, prices } } });
      expect(play.look().run()).toMatchObject({ kind: 'turn', role: 'coder' });
    });
  });

  test('a task’s own limit still ends it', () => {
    const play = running({ budget: { usd: 1 } });
    play.world.loopLimit = DAY;
    expect(play.change({ spend: { costUsd: 1, tokens: 0 } }).task.reason).toBe('budget_exhausted');
  });
});
