import { describe, expect, test } from 'vitest';
import type { Usage } from './cost.ts';
import { callsOf, roundOf, turnWarnings } from './turn-cost.ts';

const MINUTE = 60_000;

type Call = Usage & { key: string };
const call = (change: Partial<Call> = {}): Call => ({
  key: 'k',
  task: 'a',
  turn: 1,
  role: 'coder',
  sessionId: 's1',
  model: 'big',
  input: 1000,
  output: 10,
  cacheRead: 0,
  cacheWrite: 39_000,
  reasoning: 0,
  costUsd: 1,
  at: 0,
  ...change,
});
const turn = (role: Usage['role'], number: number, sessionId = 's1', startedAt = 0) => ({
  role,
  turn: number,
  sessionId,
  startedAt,
});
const SECOND = turn('coder', 2);

describe('the round of a turn', () => {
  const turns = [
    turn('specifier', 1, 'spec'),
    turn('coder', 1),
    turn('critic', 1, 'c1'),
    turn('coder', 2),
    turn('critic', 2, 'c2'),
    turn('critic', 2, 'c3'),
    turn('coder', 3),
    turn('coder', 4),
  ];

  test.each([
    ['all before the first verdict', 0, 1],
    ['the first work', 1, 1],
    ['a critic', 2, 1],
    ['work on its findings', 3, 2],
    ['a critic that was asked again', 5, 2],
    ['what no critic has judged yet', 7, 3],
  ])('%s', (_what, at, round) => {
    expect(roundOf(turns, 2, turns[at]!)).toBe(round);
  });

  test('is not counted up by a critic that gave no verdict', () => {
    const some = [turn('coder', 1), turn('critic', 1, 'c1'), turn('coder', 2)];
    expect(roundOf(some, 0, some[2]!)).toBe(1);
  });
});

test('a turn that was interrupted and started again under its number has two starts, each with its own calls', () => {
  const starts = [turn('coder', 1, 's1', 100), turn('coder', 1, 's1', 200)];
  const calls = [call({ at: 90 }), call({ at: 150 }), call({ at: 200 }), call({ at: 200, turn: 2 })];
  const at = (start: number) => callsOf(calls, starts, starts[start]!).map((one) => one.at);
  expect([at(0), at(1)]).toEqual([[90, 150], [200]]);
});

describe('a turn is warned of', () => {
  test('that cost more than the limit', () => {
    const dear = [call({ costUsd: 3 }), call({ costUsd: 2.5 })];
    expect(turnWarnings(dear, turn('coder', 1), 5)).toEqual([
      { kind: 'expensive', costUsd: 5.5, limitUsd: 5, complete: true },
    ]);
    expect(turnWarnings(dear, turn('coder', 1), 5.5)).toEqual([]);
    expect(turnWarnings(dear, turn('coder', 1), null)).toEqual([]);
    expect(turnWarnings([...dear, call({ costUsd: null })], turn('coder', 1), 5)).toMatchObject([
      { costUsd: 5.5, complete: false },
    ]);
  });

  test('whose cost nobody knows: no', () => {
    expect(turnWarnings([call({ costUsd: null })], turn('coder', 1), 0.01)).toEqual([]);
  });

  test('that continued its session without finding it in the cache', () => {
    const calls = [
      call({ at: MINUTE }),
      call({ turn: 2, cacheRead: 2000, cacheWrite: 40_000, at: 13 * MINUTE }),
      call({ turn: 2, cacheRead: 42_000, cacheWrite: 500, at: 14 * MINUTE }),
    ];
    expect(turnWarnings(calls, SECOND, null)).toEqual([
      { kind: 'cold_cache', read: 2000, expected: 40_000, restedMs: 12 * MINUTE },
    ]);
  });

  test.each<[string, Call[]]>([
    ['a warm one', [call(), call({ turn: 2, cacheRead: 40_000, cacheWrite: 2000 })]],
    ['the first of its session', [call({ turn: 2 })]],
    ['one in another session', [call({ sessionId: 's0' }), call({ turn: 2 })]],
    ['one of another role', [call({ role: 'critic' }), call({ turn: 2 })]],
    ['a session too short to be cached', [call({ cacheWrite: 2000 }), call({ turn: 2 })]],
    [
      'an agent that tells nothing of a cache',
      [call({ input: 40_000, cacheWrite: 0 }), call({ turn: 2, input: 40_000, cacheWrite: 0 })],
    ],
    [
      'a call on the side, by a small model',
      [
        call(),
        call({ turn: 2, model: 'small', input: 9000, cacheWrite: 0 }),
        call({ turn: 2, cacheRead: 40_000 }),
      ],
    ],
    [
      'the side calls that are told as a rest',
      [call(), call({ turn: 2, key: 'rest:r', input: 9000 }), call({ turn: 2, cacheRead: 40_000 })],
    ],
    [
      'a session that was shortened meanwhile',
      [call({ cacheWrite: 190_000 }), call({ turn: 2, input: 1000, cacheRead: 9000, cacheWrite: 0 })],
    ],
    ['one that only told what it cost', [call(), call({ turn: 2, input: 0, cacheWrite: 0 })]],
  ])('%s: no', (_what, calls) => {
    expect(turnWarnings(calls, SECOND, null)).toEqual([]);
  });
});
