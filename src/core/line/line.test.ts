import { describe, expect, test } from 'vitest';
import { landing, merging } from '../../../test/support/play.ts';
import type { Task } from '../task.ts';
import {
  aheadOf,
  commitOf,
  freePlaces,
  isInLine,
  isSettled,
  type Misfit,
  movesLine,
  narrowed,
  partnersOf,
} from './line.ts';

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

describe('which of those ahead it is', () => {
  const line = ['a', 'b', 'c', 'd', 'e'].map((task, at) => ({ task, issue: at + 1 }));

  /** Found by gates that are red wherever it stands behind this one; what each of them ran on top of. */
  function search(count: number, culprit: string): { found: Misfit; on: string[] } {
    let found = narrowed({ with: line.slice(0, count), text: 'FAIL' }, 'green');
    const on: string[] = [];
    while (!isSettled(found)) {
      const tested = names(found.on!);
      on.push(tested.join(''));
      found = narrowed(found, tested.includes(culprit) ? { red: `FAIL on ${tested.at(-1)}` } : 'green');
    }
    return { found, on };
  }

  test.each([
    [1, 'a', [], []],
    [2, 'a', ['a'], []],
    [2, 'b', ['a'], ['a']],
    [3, 'c', ['a', 'ab'], ['a', 'b']],
    [5, 'd', ['ab', 'abc', 'abcd'], ['a', 'b', 'c']],
  ])('of %i ahead, %s: by halving', (count, culprit, on, below) => {
    const searched = search(count, culprit);
    expect(searched.on).toEqual(on);
    expect([names(searched.found.with), names(searched.found.below!)]).toEqual([[culprit], below]);
  });

  test('the output that is kept is that of the smallest red', () => {
    expect(search(5, 'd').found.text).toBe('FAIL on d');
    expect(search(5, 'e').found.text).toBe('FAIL');
  });

  test('a conflict needs no gate, and who was not yet tested alone is', () => {
    const others = line.slice(0, 2);
    expect(isSettled({ with: others, text: null })).toBe(true);
    expect(isSettled({ with: others.slice(1), text: 'FAIL' })).toBe(false);
  });

  test('is tested on what landed, or on what is about to', () => {
    expect(commitOf(inLine('a', 1, { state: 'merged', mergedSha: 'landed' }))).toBe('landed');
    expect(commitOf(inLine('a', 1))).toBe('candidate');
    expect(commitOf(inLine('a', 1, { landing: null }))).toBeNull();
    expect(commitOf(inLine('a', 1, { misfit }))).toBeNull();
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
