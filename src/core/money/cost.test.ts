import { describe, expect, test } from 'vitest';
import { landing, running } from '../../../test/support/play.ts';
import type { Task } from '../task.ts';
import { type CostInput, costReport, type Usage } from './cost.ts';

const call = (change: Partial<Usage> = {}): Usage => ({
  task: 'a',
  turn: 1,
  role: 'coder',
  sessionId: 's1',
  model: 'big',
  input: 100,
  output: 10,
  cacheRead: 300,
  cacheWrite: 100,
  reasoning: 5,
  costUsd: 1,
  at: 1000,
  ...change,
});

const merged = (id: string, issue: number): Task => ({
  ...landing().landed().task,
  id,
  issue,
  endedAt: 5000,
});
const abandoned = (id: string, issue: number): Task => ({
  ...running().ask('cancel').task,
  id,
  issue,
  endedAt: 5000,
});

const report = (change: Partial<CostInput>) =>
  costReport({
    by: 'issue',
    usage: [],
    unknown: [],
    tasks: [],
    since: 0,
    dayOf: (at) => `day ${Math.floor(at / 1000)}`,
    roundOf: ({ turn }) => turn,
    ...change,
  });

const costs = (change: Partial<CostInput>) => report(change).lines.map(({ key, costUsd }) => [key, costUsd]);

describe('what was spent', () => {
  const usage = [
    call(),
    call({ turn: 2, model: 'small', costUsd: 0.5, at: 2000 }),
    call({ role: 'critic', sessionId: 's2', costUsd: 0.25, at: 2000 }),
    call({ task: 'b', costUsd: 4, at: 3000 }),
    call({ task: 'a2', costUsd: 8, at: 3000 }),
  ];
  const tasks = [merged('a', 7), abandoned('b', 9), { ...merged('a2', 7), attempt: 2 }];

  test.each([
    [
      'issue',
      [
        ['#7', 9.75],
        ['#9', 4],
      ],
    ],
    [
      'role',
      [
        ['coder', 13.5],
        ['critic', 0.25],
      ],
    ],
    [
      'model',
      [
        ['big', 13.25],
        ['small', 0.5],
      ],
    ],
    [
      'day',
      [
        ['day 1', 1],
        ['day 2', 0.75],
        ['day 3', 12],
      ],
    ],
    [
      'turn',
      [
        ['#7 turn 1', 1],
        ['#7 turn 2', 0.5],
        ['#7 critic round 1', 0.25],
        ['#9 turn 1', 4],
        ['#7 (attempt 2) turn 1', 8],
      ],
    ],
    [
      'round',
      [
        ['#7 round 1', 1.25],
        ['#7 round 2', 0.5],
        ['#9 round 1', 4],
        ['#7 (attempt 2) round 1', 8],
      ],
    ],
  ] as const)('by %s', (by, lines) => {
    expect(costs({ by, usage, tasks })).toEqual(lines);
  });

  test('with tokens, turns and the part that came from a cache', () => {
    const { lines, total } = report({ usage: usage.slice(0, 2), tasks });
    expect(lines[0]).toEqual({
      key: '#7',
      title: 'Add a revoke button',
      turns: 2,
      input: 200,
      output: 20,
      cacheRead: 600,
      cacheWrite: 200,
      reasoning: 10,
      tokens: 1030,
      costUsd: 1.5,
      unpriced: 0,
      complete: true,
      cacheHitRatio: 0.6,
    });
    expect(total).toEqual({ ...lines[0], key: 'total', title: '' });
  });

  test('for each merged pull request, and on abandoned work (dispatch 53)', () => {
    expect(report({ usage, tasks })).toMatchObject({
      pulls: [
        { name: '#7', task: 'a', costUsd: expect.any(Number) },
        { name: '#7', task: 'a2', costUsd: expect.any(Number) },
      ],
      merged: { pulls: 2, costUsd: 9.75, perPullUsd: 4.875, allInPerPullUsd: 6.875, complete: true },
      abandoned: { tasks: 1, costUsd: 4, share: 4 / 13.75, shareOf: 'usd', complete: true },
    });
    const late = report({ usage, tasks, since: 5001 });
    expect(late.pulls).toEqual([]);
    expect(late.merged).toEqual({
      pulls: 0,
      costUsd: null,
      perPullUsd: null,
      allInPerPullUsd: null,
      complete: true,
    });
    expect(late.abandoned).toMatchObject({ tasks: 0, costUsd: null, share: 0 });
  });

  test('nothing at all is no share of anything', () => {
    expect(report({})).toMatchObject({
      lines: [],
      total: { tokens: 0, costUsd: null, complete: true, cacheHitRatio: null },
      merged: { pulls: 0, perPullUsd: null },
      abandoned: { tasks: 0, costUsd: null, share: null },
    });
  });
});

describe('what nobody knows', () => {
  test('is unknown, never nothing', () => {
    const { total } = report({ usage: [call({ costUsd: null })], tasks: [merged('a', 7)] });
    expect(total).toMatchObject({ costUsd: null, complete: false, tokens: 515 });
  });

  test('makes a sum a lower bound', () => {
    const { total } = report({ usage: [call(), call({ costUsd: null })] });
    expect(total).toMatchObject({ costUsd: 1, complete: false });
  });

  test('of a whole turn shows, though nothing of it was counted', () => {
    const { lines, merged: m } = report({
      unknown: [
        { task: 'a', role: 'coder', turn: 1, sessionId: 's', at: 1 },
        { task: 'a', role: 'coder', turn: 2, sessionId: 's', at: 2 },
      ],
      tasks: [merged('a', 7)],
    });
    expect(lines).toMatchObject([{ key: '#7', turns: 2, costUsd: null, complete: false }]);
    expect(m).toMatchObject({ pulls: 1, costUsd: null, perPullUsd: null });
  });

  test('of all costs leaves the share to the tokens', () => {
    const usage = [call({ costUsd: null }), call({ task: 'b', costUsd: null })];
    const { abandoned: lost } = report({ usage, tasks: [merged('a', 7), abandoned('b', 9)] });
    expect(lost).toEqual({ tasks: 1, costUsd: null, share: 0.5, shareOf: 'tokens', complete: false });
  });
});
