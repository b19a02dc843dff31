import { describe, expect, test } from 'vitest';
import { failureSignature } from './signature.ts';

const ROOT = '/trees/one';
const of = (text: string, root = ROOT): string => failureSignature(1, text, root);

describe('two red runs look the same when only this differs', () => {
  const TABLE: [string, string, string][] = [
    ['times', 'FAIL a.test.ts (12 ms)\n1 failed in 0.31s', 'FAIL a.test.ts (948 ms)\n1 failed in 12.5s'],
    ['colours', '\x1b[31mFAIL\x1b[0m a.test.ts', 'FAIL a.test.ts'],
    [
      'one more passing test',
      ' ✓ old\n × broken\nTests  1 failed | 20 passed (21)',
      ' ✓ old\n ✓ new\n × broken\nTests  1 failed | 21 passed (22)',
    ],
    ['line numbers', 'AssertionError at x.py:12', 'AssertionError at x.py:97'],
    ['addresses', 'panic: 0xc000012 boom', 'panic: 0xc0000ff boom'],
    ['blank lines and spaces', 'FAIL  a\n\n\n', 'FAIL a'],
    [
      'what pytest says beside',
      'FAILED t.py::test_a\n1 failed, 3 passed in 0.1s',
      'FAILED t.py::test_a\n1 failed, 9 passed in 2s',
    ],
    ['a run without a word of failure, alike', 'nothing to see', 'nothing to see'],
  ];
  test.each(TABLE)('%s', (_what, a, b) => {
    expect(of(a)).toBe(of(b));
  });

  test('the directory it ran in', () => {
    expect(of('error in /trees/one/src/a.ts')).toBe(of('error in /trees/two/src/a.ts', '/trees/two'));
  });
});

describe('they look different when', () => {
  const TABLE: [string, string, string][] = [
    ['another test fails', 'FAIL a.test.ts', 'FAIL b.test.ts'],
    ['one more test fails', 'Tests: 1 failed, 3 passed', 'Tests: 2 failed, 3 passed'],
    ['one more fails, as node says it', '# fail 1', '# fail 2'],
    ['one more fails, as unittest says it', 'FAILED (failures=1)', 'FAILED (failures=2)'],
    [
      'there are more errors, as eslint says it',
      '✖ 1 problem (1 error, 0 warnings)',
      '✖ 2 problems (2 errors, 0 warnings)',
    ],
    ['there are more errors, as tsc says it', 'Found 1 error in a.ts', 'Found 3 errors in a.ts'],
    ['the assertion says something else', 'expected true to be false', 'expected 1 to be undefined'],
    ['a failing line is missing', 'FAIL a\nFAIL b', 'FAIL a'],
    ['there is no word of failure and the text differs', 'one', 'two'],
  ];
  test.each(TABLE)('%s', (_what, a, b) => {
    expect(of(a)).not.toBe(of(b));
  });

  test('the exit code differs', () => {
    expect(failureSignature(1, 'FAIL a', ROOT)).not.toBe(failureSignature(2, 'FAIL a', ROOT));
  });
});

test('takes time in proportion to the text, whatever is in it', () => {
  for (const evil of ['0', 'f', 'fail ', '1.', 'error: 1 ', '\x1b[']) of(evil.repeat(200_000));
});
