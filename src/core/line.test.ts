import { describe, expect, test } from 'vitest';
import { landing, merging } from '../../test/support/play.ts';
import { aheadOf, freePlaces, isInLine, movesLine, partnersOf } from './line.ts';
import type { Task } from './task.ts';

const misfit = { with: [{ task: 'a', issue: 1 }], text: 'FAIL' };
const inLine = (id: string, linedUpAt: number, more: Partial<Task> = {}): Task => ({
  ...landing().task,
  id,
  linedUpAt,
  misfit: null,
  ...more,
});
const names = (ahead: { task: string }[]): string[] => ahead.map(({ task }) => task);

describe('who is ahead', () => {
  const [a, b, c] = [inLine('a', 3), inLine('b', 1), inLine('c', 2)];

  test('whoever lined up before, first to land first', () => {
    expect(names(aheadOf(a, [a, b, c]))).toEqual(['b', 'c']);
    expect(names(aheadOf(c, [a, b, c]))).toEqual(['b']);
    expect(aheadOf(b, [a, b, c])).toEqual([]);
  });

  test('of two that lined up at the same moment every look says the same', () => {
    const twin = inLine('a2', 3);
    expect(names(aheadOf(twin, [twin, a]))).toEqual(['a']);
    expect(aheadOf(a, [twin, a])).toEqual([]);
  });

  test('tells the candidate to build on, or that there is none yet', () => {
    const early = inLine('b', 1, { landing: null });
    expect(aheadOf(a, [early, c])).toMatchObject([
      { task: 'b', candidate: null },
      { task: 'c', candidate: { sha: 'candidate' } },
    ]);
  });

  test('nobody who stands beside the line, and nobody who is not approved', () => {
    expect(aheadOf(a, [a, inLine('b', 1, { misfit }), inLine('c', 2, { state: 'revising' })])).toEqual([]);
  });

  test('one that has yet to line up has everybody ahead', () => {
    expect(names(aheadOf(inLine('d', 0, { state: 'awaiting_critic' }), [a, b, c]))).toEqual(['b', 'c', 'a']);
  });
});

describe('what became of those it does not go together with', () => {
  const landed = inLine('a', 1, { state: 'merged' });
  const abandoned = inLine('b', 1, { state: 'abandoned' });

  test('while one of them may land, that is waited for', () => {
    expect(partnersOf([landed, inLine('b', 1)])).toBe('in_line');
    expect(partnersOf([abandoned, inLine('b', 1)])).toBe('in_line');
  });

  test('landed, when all of them have', () => {
    expect(partnersOf([landed, landed])).toBe('landed');
  });

  test.each([
    ['abandoned', abandoned],
    ['unknown', null],
    ['asked for changes', inLine('b', 1, { state: 'revising' })],
    ['beside the line itself', inLine('b', 1, { misfit })],
  ])('gone, when one of them is %s', (_, other) => {
    expect(partnersOf([landed, other])).toBe('gone');
  });
});

describe('the line moves', () => {
  const built = inLine('a', 1);
  const waiting = inLine('a', 1, { landing: null });

  test('with a candidate, without it, and with whoever comes or goes', () => {
    expect(movesLine(waiting, built)).toBe(true);
    expect(movesLine(built, waiting)).toBe(true);
    expect(movesLine(merging().task, { ...merging().task, state: 'awaiting_critic' })).toBe(true);
    expect(movesLine(built, { ...built, misfit })).toBe(true);
    expect(movesLine(built, { ...built, state: 'merged' })).toBe(true);
  });

  test('not with a gate that ends, nor with work elsewhere', () => {
    expect(movesLine(built, { ...built, landing: { ...built.landing!, gate: null } })).toBe(false);
    const elsewhere = inLine('a', 1, { state: 'awaiting_critic', landing: null });
    expect(movesLine(elsewhere, { ...elsewhere, state: 'revising' })).toBe(false);
  });

  test('one beside it is not in it, and takes no place', () => {
    expect([isInLine(built), isInLine({ ...built, misfit })]).toEqual([true, false]);
    expect(freePlaces([built, { ...built, misfit }], 3)).toBe(2);
  });
});
