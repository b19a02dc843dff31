import { describe, expect, test } from 'vitest';
import { running } from '../../test/support/play.ts';
import { exhausted, spent } from './budget.ts';

const NONE = { usd: null, tokens: null, wallMs: null };
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
