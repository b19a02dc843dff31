/** Patterns of strangers: they match as regular expressions do, and in time whatever they say. */
import { describe, expect, test } from 'vitest';
import { patternOf } from './pattern.ts';

const matches = (source: string, text: string): boolean => {
  const pattern = patternOf(source);
  if (!pattern.ok) throw new Error(pattern.problem);
  return pattern.matches(text);
};

const TEXTS = [
  '',
  'a',
  'ab',
  'aab',
  'abc',
  'src/cli/text.ts:12',
  'Null pointer\nin B',
  'x.y',
  'café ☕',
  '(a)',
  'a-b]',
];

describe('a pattern', () => {
  test.each([
    ...[
      'a',
      '',
      'ab|c',
      'a*b',
      '^a+b?$',
      '(ab|a)*c',
      '(?:a|b)+c',
      '[a-c]+',
      '[^a]',
      '[]a]',
      '[a-]b',
      '\\.ts',
      '\\d+$',
    ],
    ...[
      '^$',
      'null.*b',
      'POINTER',
      '\\(a\\)',
      '\\Da',
      '\\W',
      '[\\s-]',
      '☕$',
      '(a*)*b',
      '(^a|b$)',
      'a||b',
      '.+.+.+',
    ],
  ])('%s finds what a regular expression finds', (source) => {
    const real = new RegExp(source.replace('[]a]', '[\\]a]'), 'iu');
    for (const text of TEXTS) expect([text, matches(source, text)]).toEqual([text, real.test(text)]);
  });

  test.each([
    ['(a', 'opens a group'],
    ['a)', 'closes a group'],
    ['*a', 'repeats nothing'],
    ['a**', 'repeats a repetition'],
    ['a+?', 'repeats a repetition'],
    ['[a', 'opens a class'],
    ['[z-a]', 'which is empty'],
    ['a{3}', 'counts with {}'],
    ['(?=a)', 'looks around'],
    ['\\1', '\\1, which is not known'],
    ['\\b', '\\b, which is not known'],
    ['a\\', 'ends with a backslash'],
    ['a'.repeat(101), 'longer than 100'],
  ])('%s is refused in words', (source, problem) => {
    expect(patternOf(source)).toMatchObject({ ok: false, problem: expect.stringContaining(problem) });
  });

  test.each(['(a*)*b', '(a|a)*b', '(.*.*.*.*.*)*x', `${'a*'.repeat(50)}`, '((((a+)+)+)+)+b'])(
    '%s, which would take others for ever, takes a look',
    (source) => {
      expect(matches(source, `${'a'.repeat(5000)}c`)).toBe(source.endsWith('*') && !source.includes('('));
    },
  );
});
