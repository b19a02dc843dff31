import { expect, test } from 'vitest';
import type { UsageReport } from '../agent.ts';
import { beyond } from './beyond-record.ts';

const NONE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
const used = (model: string, usage: object, costUsd: number | null = 0): UsageReport => ({
  key: 'k',
  model,
  ...NONE,
  ...usage,
  costUsd,
});

test.each([
  ['nothing', [used('a', { input: 5, output: 3 })], [used('a', { input: 5, output: 2, reasoning: 1 })], null],
  [
    'a title',
    [used('a', { input: 5 }), used('b', { input: 2, output: 1 })],
    [used('a', { input: 5 })],
    { model: 'b', input: 2, output: 1 },
  ],
  ['a model by another name', [used('a[1m]', { input: 5 })], [used('a', { input: 5 })], null],
  [
    'another price',
    [used('a', {}, 0.5), used('a', { input: 5 })],
    [used('a', { input: 5 }, 0.2)],
    { costUsd: 0.3, input: 0 },
  ],
  ['at a price nobody knows', [used('a', { input: 7 }, null)], [], { costUsd: null, input: 7 }],
  [
    'a lower price, and nothing is taken back',
    [used('a', { input: 5 }, 0.1)],
    [used('a', { input: 5 }, 0.2)],
    null,
  ],
  ['what it never told', [used('a', {}, 0.5)], [used('a', { input: 5 }, 0.2)], null],
])('beyond its record a program counted: %s', (_, heard, recorded, expected) => {
  const rest = beyond(heard, recorded);
  if (expected === null) expect(rest).toBeNull();
  else expect(rest).toMatchObject(expected);
});
