import { describe, expect, test } from 'vitest';
import { BadFrontMatter, readFrontMatter } from './front-matter.ts';

describe('front matter', () => {
  test.each<[string, string, object]>([
    ['is there', '---\na: 1\n---\n\n \nbody\n\n', { values: { a: 1 }, body: 'body', bodyLine: 6 }],
    ['is not there', '\n# body\n---\na: 1\n---', { values: {}, body: '# body\n---\na: 1\n---', bodyLine: 2 }],
    ['is empty', '---\n---\nbody', { values: {}, body: 'body', bodyLine: 3 }],
    ['has a byte order mark', '\uFEFF---\na: 1\n---\nbody', { values: { a: 1 }, body: 'body', bodyLine: 4 }],
    [
      'ends lines as on Windows',
      '---\r\na: 1\r\n--- \r\n\r\nb\r\nc\r\n',
      { values: { a: 1 }, body: 'b\nc', bodyLine: 5 },
    ],
    ['ends the file', '---\na: 1\n---', { values: { a: 1 }, body: '' }],
    ['is a comment', '---\n# a: 1\n---\nbody', { values: {}, body: 'body' }],
  ])('%s', (_what, source, expected) => {
    expect(readFrontMatter(source)).toMatchObject(expected);
  });

  test('knows the line of each key, whatever the line ends', () => {
    for (const source of [
      '---\na: 1\nb:\n  c: |\n    x\n    y\n---\n',
      '---\r\na: 1\r\nb:\r\n  c: |\r\n    x\r\n    y\r\n---\r\n',
    ]) {
      const { lineOf, lineOfText } = readFrontMatter(source);
      expect([lineOf(['a']), lineOf(['b', 'c']), lineOf(['b', 'd']), lineOf(['z'])]).toEqual([2, 4, 3, 1]);
      expect(lineOfText(['b', 'c'], 2)).toBe(6);
    }
  });

  test.each<[string, string, BadFrontMatter['kind'], number[]]>([
    ['is never closed', '---\na: 1\n', 'unclosed', [1]],
    ['is no YAML', '---\na: [1\nb: 2\n---\n', 'yaml', [3]],
    ['says keys twice', '---\na: 1\na: 2\nb: 1\nb: 2\n---\n', 'yaml', [3, 5]],
    ['is a list', '---\n# why\n- a\n---\n', 'not_a_map', [3]],
  ])('%s', (_what, source, kind, lines) => {
    let bad: unknown;
    try {
      readFrontMatter(source);
    } catch (error) {
      bad = error;
    }
    expect(bad).toBeInstanceOf(BadFrontMatter);
    const { problems, ...error } = bad as BadFrontMatter;
    expect({ kind: error.kind, line: error.line, lines: problems.map(({ line }) => line) }).toEqual({
      kind,
      line: lines[0],
      lines,
    });
  });
});
