import { expect, test } from 'vitest';
import type { CostLine } from '../core/money/cost.ts';
import type { CostView } from '../operations/cost.ts';
import { costText, tokensText } from './cost-text.ts';
import { painter, type Terminal } from './terminal.ts';

const terminal = { paint: painter(false), columns: null } as Terminal;
const line = (change: Partial<CostLine>): CostLine => ({
  key: '#7',
  title: 'Größer 🚀',
  turns: 3,
  input: 1000,
  output: 1200,
  cacheRead: 8_000_000,
  cacheWrite: 400,
  reasoning: 0,
  tokens: 8_002_600,
  costUsd: 12.345,
  unpriced: 0,
  complete: true,
  cacheHitRatio: 0.816,
  ...change,
});
const view: CostView = {
  billing: 'usd',
  pricesAsOf: '2026-09-23',
  warnings: [],
  backlog: { waiting: 0, most: null, full: false, text: '' },
  since: null,
  by: 'issue',
  lines: [
    line({}),
    line({
      key: '#12',
      title: 'Second',
      turns: 12,
      cacheRead: 0,
      cacheHitRatio: 0,
      costUsd: null,
      complete: false,
    }),
  ],
  total: line({ key: 'total', title: '', turns: 15, complete: false }),
  pulls: [],
  merged: { pulls: 1, costUsd: 12.345, perPullUsd: 12.345, allInPerPullUsd: 20, complete: true },
  abandoned: { tasks: 2, costUsd: 1.5, share: 0.11, shareOf: 'usd', complete: false },
};

test('a table that aligns, with its sums and what they mean below', () => {
  expect(costText(view, terminal)).toBe(`issue  turns     in  cached    out     cost
#7         3   8.0M    82 %   1200   $12.35  Größer 🚀
#12       12  ≥1400     0 %  ≥1200  unknown  Second
total     15  ≥8.0M    82 %  ≥1200  ≥$12.35

1 merged pull request: $12.35 each, ≥$20.00 with all other spending
2 abandoned tasks: ≥$1.50, 11 % of the cost
cache hit ratio: 82 %
list prices as of 2026-09-23
≥: some usage is unknown`);
});

test('without colours there is no control character, with them there is', () => {
  const controls = String.fromCharCode(27);
  expect(costText(view, terminal)).not.toContain(controls);
  expect(costText(view, { ...terminal, paint: painter(true) })).toContain(controls);
});

test.each([
  [null, 'Nothing was spent yet.'],
  ['2026-11-15T10:00:00.000Z', 'Nothing was spent since 2026-11-15 10:00.'],
])('nothing since %s', (since, says) => {
  expect(costText({ ...view, since, lines: [] }, terminal)).toBe(says);
});

test('where no cost is known it says so, and shares the tokens', () => {
  const text = costText(
    {
      ...view,
      total: line({ key: 'total', costUsd: null, complete: false, cacheHitRatio: null }),
      merged: { pulls: 2, costUsd: null, perPullUsd: null, allInPerPullUsd: null, complete: true },
      abandoned: { tasks: 1, costUsd: null, share: 0.5, shareOf: 'tokens', complete: true },
    },
    terminal,
  );
  expect(text).toContain('2 merged pull requests: cost unknown each');
  expect(text).toContain('1 abandoned task: cost unknown, 50 % of the tokens');
  expect(text).toContain('cache hit ratio: unknown');
});

test('turns that cost too much are named by turn and by round, and else counted', () => {
  const turn = { task: 'a', role: 'coder', turn: 2, sessionId: 's' } as const;
  const warnings: CostView['warnings'] = [
    { ...turn, kind: 'expensive', text: '#7 turn 2 cost $9.00, more than $5.00' },
  ];
  const says = (by: CostView['by']) =>
    costText({ ...view, by, warnings }, terminal)
      .split('\n')
      .at(-1);
  expect(says('turn')).toBe('! #7 turn 2 cost $9.00, more than $5.00');
  expect(says('round')).toBe(says('turn'));
  expect(says('issue')).toBe('! 1 warning about single turns: `forge-loop cost --by turn`');
});

test('of a subscription the dollars are named for what they are', () => {
  const text = costText({ ...view, billing: 'subscription' }, terminal);
  expect(text.split('\n')[0]).toContain('list price');
  expect(text).toContain('a subscription is not billed by the token');
});

test('what nobody knows is no number', () => {
  const nothing = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, tokens: 0, cacheHitRatio: null };
  const unknown = line({ ...nothing, costUsd: null, complete: false, title: '' });
  const shown = costText({ ...view, lines: [unknown], total: { ...unknown, key: 'total' } }, terminal);
  expect(shown.split('\n')[1]).toMatch(/^#7 +3 +\? +- +\? +unknown$/);
  expect(tokensText(0, false)).toBe('tokens unknown');
  expect([tokensText(0, true), tokensText(500, false)]).toEqual(['0 tokens', '≥500 tokens']);
});
