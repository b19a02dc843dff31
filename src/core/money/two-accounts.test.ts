import { describe, expect, test } from 'vitest';
import { disagreement, type ToldUsage } from './two-accounts.ts';

const told = (id: string | null, input: number, more: Partial<ToldUsage> = {}): ToldUsage => ({
  ...{ id, input, output: 10, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  ...more,
});
const BEFORE = { ids: new Set<string>(), isOpen: false };

interface Given {
  counted: ToldUsage[];
  agent: ToldUsage[];
  /** Who says that it is all; both if nothing is said. */
  whole?: ('counted' | 'agent')[];
  before?: Partial<typeof BEFORE>;
}

const held = ({ counted, agent, whole = ['counted', 'agent'], before = {} }: Given) =>
  disagreement(
    {
      counted: { told: counted, isWhole: whole.includes('counted') },
      agent: { told: agent, isWhole: whole.includes('agent') },
    },
    { ...BEFORE, ...before },
  );

test.each<[string, Given]>([
  ['both tell the same', { counted: [told('a', 5), told('b', 6)], agent: [told('b', 6), told('a', 5)] }],
  [
    'one divides it otherwise',
    {
      counted: [told('a', 5, { cacheRead: 20, reasoning: 4 })],
      agent: [told(null, 25, { output: 14 })],
    },
  ],
  ['the agent tells nothing', { counted: [told('a', 5)], agent: [] }],
  [
    'the agent was cut off',
    { counted: [told('a', 5), told('b', 6)], agent: [told('a', 5)], whole: ['counted'] },
  ],
  [
    'the provider did not tell all',
    { counted: [told('a', 5)], agent: [told('a', 5), told('b', 6)], whole: ['agent'] },
  ],
  [
    'the agent tells again what was counted in an earlier turn',
    { counted: [told('b', 6)], agent: [told('a', 5), told('b', 6)], before: { ids: new Set(['a']) } },
  ],
  [
    'an agent without names may tell what a turn used that was cut off',
    { counted: [told('b', 6)], agent: [told(null, 90)], before: { isOpen: true } },
  ],
])('no difference: %s', (_what, given) => {
  expect(held(given)).toBeNull();
});

describe('a difference', () => {
  test('has both sums, and the calls where both know their names', () => {
    const found = held({
      counted: [told('a', 5), told('b', 100), told('b', 0, { output: 5 }), told('c', 7)],
      agent: [told('a', 5), told('b', 90), told('d', 8), told(null, 1)],
    });
    expect(found).toEqual({
      counted: { input: 112, output: 35, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      agent: { input: 104, output: 40, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      calls: [
        { id: 'b', counted: 115, agent: 100 },
        { id: 'c', counted: 17, agent: null },
        { id: 'd', counted: null, agent: 18 },
      ],
    });
  });

  test('of a program that names no calls has the sums alone', () => {
    expect(held({ counted: [told('a', 5)], agent: [told('k1', 3)] })).toMatchObject({ calls: [] });
  });

  test.each<[string, Given]>([
    [
      'the agent says less, and that it is all',
      { counted: [told('a', 5)], agent: [told(null, 4)], whole: ['agent'] },
    ],
    [
      'the agent says more than all that was counted',
      { counted: [told('a', 5)], agent: [told(null, 6)], whole: ['counted'] },
    ],
    [
      'it says less, though a turn was cut off before',
      { counted: [told('a', 5)], agent: [told(null, 4)], before: { isOpen: true } },
    ],
    [
      'it says more of calls that it names, though a turn was cut off before',
      { counted: [told('a', 5)], agent: [told('a', 6)], before: { isOpen: true } },
    ],
    ['nothing was answered, and it says that it used something', { counted: [], agent: [told(null, 4)] }],
  ])('is one where %s', (_what, given) => {
    expect(held(given)).not.toBeNull();
  });
});
