import { expect, test } from 'vitest';
import type { UsageReport } from '../agent.ts';
import { acpAccount } from './account.ts';

const PRICES = { 'm-1': { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 1.5 } };
const kept = (before = 0) => {
  const reports: UsageReport[] = [];
  return {
    reports,
    account: acpAccount({ prices: PRICES, model: 'm-1', before }, (one) => reports.push(one)),
  };
};
const usage = {
  inputTokens: 100,
  outputTokens: 20,
  thoughtTokens: 5,
  cachedReadTokens: 10,
  cachedWriteTokens: 3,
};

test.each([
  ['as part of the output', 133, 15],
  ['beside the output', 138, 20],
])('thoughts counted %s', (_, totalTokens, output) => {
  const { account, reports } = kept();
  expect(account.seeEnd({ usage: { ...usage, totalTokens } })).toBe(true);
  expect(reports).toMatchObject([{ input: 100, output, reasoning: 5, cacheRead: 10, cacheWrite: 3 }]);
});

test('an adapter that tells by model is believed before the protocol', () => {
  const { account, reports } = kept();
  const of = (model: string) => ({
    model,
    token_count: { inputTokens: 7, outputTokens: 4, reasoningOutputTokens: 1, cachedInputTokens: 2 },
  });
  account.seeEnd({ usage, _meta: { quota: { model_usage: [of('big'), of('small')] } } });
  expect(reports).toMatchObject([
    { model: 'big', input: 7, output: 3, reasoning: 1, cacheRead: 2, costUsd: null },
    { model: 'small', input: 7 },
  ]);
});

test('Gemini tells by model in words of its own', () => {
  const { account, reports } = kept();
  const token_count = { input_tokens: 9, output_tokens: 4 };
  expect(
    account.seeEnd({ _meta: { quota: { token_count, model_usage: [{ model: 'g', token_count }] } } }),
  ).toBe(true);
  expect(reports).toMatchObject([{ input: 9, output: 4, cacheRead: 0, reasoning: 0 }]);
  expect(account.seeEnd({ _meta: { quota: { token_count, model_usage: [] } } })).toBe(false);
});

test('an end that tells nothing is not known', () => {
  const { account, reports } = kept();
  expect(account.seeEnd({ stopReason: 'end_turn', usage: null })).toBe(false);
  expect(reports).toEqual([]);
});

test('cost is a running total of the session; ours is not added to it', () => {
  const { account, reports } = kept(0.5);
  for (const amount of [0.5, 0.75, 0.75, 1]) account.seeCost({ cost: { amount, currency: 'USD' } });
  account.seeEnd({ usage: { ...usage, totalTokens: 133 } });
  expect(reports.map(({ costUsd }) => costUsd)).toEqual([0.25, 0.25, 0]);
  expect(account.costUsd()).toBe(1);
  const other = kept();
  other.account.seeCost({ cost: { amount: 3, currency: 'EUR' } });
  other.account.seeEnd({ usage: { ...usage, totalTokens: 133 } });
  expect(other.reports).toMatchObject([{ costUsd: (100 + 20 * 2 + 10 * 0.5 + 3 * 1.5) / 1e6 }]);
});
