/** Every trap of Claude's figures, without Claude. */
import { describe, expect, test } from 'vitest';
import { LIST_PRICES } from '../../core/money/prices.ts';
import type { UsageReport } from '../agent.ts';
import { claudeAccount } from './account.ts';
import { readMessage } from './message.ts';

const MODEL = 'claude-sonnet-4-5';
const used = (output: number) => ({
  input_tokens: 100,
  output_tokens: output,
  cache_read_input_tokens: 20,
  cache_creation_input_tokens: 3,
});
const counted = (output: number, more: object = {}) => ({
  [MODEL]: {
    inputTokens: 100,
    outputTokens: output,
    cacheReadInputTokens: 20,
    cacheCreationInputTokens: 3,
    costUSD: 0.000_5,
    ...more,
  },
});
const start = (id: string) => ({
  type: 'stream_event',
  event: { type: 'message_start', message: { id, model: MODEL, usage: used(1) } },
});
const end = (output: number, more: object = used(output)) => ({
  type: 'stream_event',
  event: { type: 'message_delta', usage: more },
});
const block = (id: string, change: object = {}) => ({
  type: 'assistant',
  message: {
    id,
    model: MODEL,
    stop_reason: null,
    usage: used(1),
    content: [{ type: 'text', text: 'x' }],
    ...change,
  },
});
const result = (sums: object) => ({
  type: 'result',
  subtype: 'success',
  is_error: false,
  uuid: 'r1',
  model_usage_since_last_result: sums,
});
const retry = (error_status: number | null) => ({
  type: 'system',
  subtype: 'api_retry',
  error: 'x',
  error_status,
});
const line = (id: string, output: number) => ({
  id,
  model: MODEL,
  usage: { input: 100, output, cacheRead: 20, cacheWrite: 3, reasoning: 0 },
  final: true,
});

function told(
  messages: readonly object[],
  transcript = [] as ReturnType<typeof line>[],
  before = transcript.slice(0, 0),
) {
  const reports: UsageReport[] = [];
  const account = claudeAccount(LIST_PRICES, (report) => reports.push(report));
  account.catchUp(before);
  for (const given of messages) account.see(readMessage(given)!);
  account.close(transcript);
  return reports.map(({ key, input, output, costUsd }) => ({ key, input, output, costUsd }));
}
const keys = (...given: Parameters<typeof told>) => told(...given).map(({ key, output }) => [key, output]);

describe('an account of Claude', () => {
  test('tells a message once, with the figures of its end, however many blocks it has', () => {
    expect(keys([start('m1'), block('m1'), block('m1'), end(50)], [line('m1', 50)])).toEqual([['m1', 50]]);
  });

  test('takes what the end leaves out from the beginning', () => {
    expect(told([start('m1'), end(50, { output_tokens: 50 })])).toMatchObject([{ input: 100, output: 50 }]);
  });

  test('takes an answer that came whole, without a stream', () => {
    expect(keys([block('m1', { stop_reason: 'end_turn', usage: used(9) })])).toEqual([['m1', 9]]);
  });

  test('takes subagents from the transcript: their blocks are not final (loops 41)', () => {
    expect(keys([block('sub'), start('m1'), end(5)], [line('m1', 5), line('sub', 300)])).toEqual([
      ['m1', 5],
      ['sub', 300],
    ]);
  });

  test('takes calls on the side from what the provider counted beyond the rest', () => {
    const sums = counted(57, { inputTokens: 111 });
    expect(told([start('m1'), end(50), result(sums)])).toMatchObject([
      { key: 'm1', input: 100, output: 50 },
      { key: `rest:r1:${MODEL}`, input: 11, output: 7 },
    ]);
  });

  test('adds what the provider’s price is above ours, takes nothing back, and heeds no price it guessed', () => {
    const cost = (more: object) =>
      told([start('m1'), end(50), result(counted(50, more))]).reduce(
        (sum, { costUsd }) => sum + (costUsd ?? 0),
        0,
      );
    expect(cost({ costUSD: 0.5 })).toBeCloseTo(0.5, 9);
    const ours = cost({ costUSD: 9, costBasis: 'unknown' });
    expect(ours).toBeLessThan(0.01);
    expect(cost({ costUSD: 0.000_1 })).toBeCloseTo(ours, 9);
  });

  test('tells what was cut off as it began, and once, whether the provider counted it or not', () => {
    expect(keys([start('m1'), block('m1')])).toEqual([['m1', 1]]);
    const again = [start('m1'), start('m2'), end(50)];
    const both = counted(51, {
      inputTokens: 200,
      cacheReadInputTokens: 40,
      cacheCreationInputTokens: 6,
      costUSD: 0.001_432_5,
    });
    const sum = (sums: object) =>
      told([...again, result(sums)]).reduce((total, { input }) => total + input, 0);
    expect(sum(both)).toBe(200);
    expect(sum(counted(50))).toBe(200);
  });

  test('an answer that was stopped in its middle is in the transcript, and not in what the provider counted', () => {
    const stopped = { ...line('m2', 1), final: false };
    const messages = [start('m1'), end(50), start('m2'), result(counted(50))];
    expect(keys(messages, [line('m1', 50), stopped])).toEqual([
      ['m1', 50],
      ['m2', 1],
    ]);
    for (const { costUsd } of told(messages, [line('m1', 50), stopped]))
      expect(costUsd).toBeGreaterThanOrEqual(0);
  });

  test('a model is one model, whatever window was asked for', () => {
    const sums = { [`${MODEL}[1m]`]: counted(50)[MODEL] };
    expect(keys([start('m1'), end(50), result(sums)])).toEqual([['m1', 50]]);
  });

  test.each<[string, object[], boolean]>([
    ['whole', [start('m1'), end(50), result(counted(50))], true],
    ['with an answer that broke off', [start('m1'), start('m2'), end(50), result(counted(50))], false],
    [
      'without sums',
      [start('m1'), end(50), { ...result({}), model_usage_since_last_result: undefined }],
      false,
    ],
    ['after a refusal', [retry(529), start('m1'), end(50), result(counted(50))], true],
    ['after a connection that broke', [retry(null), start('m1'), end(50), result(counted(50))], false],
  ])('is complete or says that it is not: %s', (_, messages, isComplete) => {
    const account = claudeAccount(LIST_PRICES, () => {});
    for (const given of messages) account.see(readMessage(given)!);
    account.close([]);
    expect(account.isComplete()).toBe(isComplete);
  });

  test('catches up with a turn that died, apart from what this one is counted', () => {
    expect(
      keys([start('m2'), end(50), result(counted(50))], [line('m1', 70), line('m2', 50)], [line('m1', 70)]),
    ).toEqual([
      ['m1', 70],
      ['m2', 50],
    ]);
  });

  test('a model without a known price has no cost, and figures that make no sense count as nothing', () => {
    expect(told([block('m1', { model: 'other', stop_reason: 'end_turn' })])).toMatchObject([
      { costUsd: null },
    ]);
    const odd = { input_tokens: -5, output_tokens: 'many' };
    expect(told([block('m1', { stop_reason: 'end_turn', usage: odd })])).toMatchObject([
      { input: 0, output: 0 },
    ]);
  });
});
