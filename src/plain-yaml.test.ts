import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { plainValues } from './plain-yaml.ts';

const ISSUE = `number: 12
title: Add a revoke button to the list of tokens
state: open
labels: [loop:ready, backend]
priority: null
blocked_by: [3, 4]
created: 2026-11-18T13:33:23.123Z
ready:
  at: 2026-11-18T13:40:00Z
  by: Öperator O’Hara
  text_hash: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef`;

test('reads what an issue’s file has', () => {
  expect(plainValues(ISSUE)).toEqual(parse(ISSUE));
});

const VALUES = [
  ...[
    'word',
    'two words',
    'a (b) `c` {d} [e] "f" \'g\' & * ! | > % @',
    'a:b',
    'a#b',
    "it's",
    'Ünïcödé 世界 ✅',
  ],
  ...['0', '7', '007', '1.5', '-3', '0x1f', '1e3', '1_000', '123456789012345678', '.inf', '.nan', '+1'],
  ...['null', 'Null', 'NULL', '~', 'true', 'True', 'FALSE', 'yes', 'no', 'on', 'y'],
  ...['2026-11-18', '2026-11-18T13:33:23Z', '2026-11-18 13:33', '12:30:45'],
  ...['""', '"a"', '"a: b # c"', '"a\\nb"', '"a""b"', "'a'", "'a''b'", '"', '"open', 'a "b', 'a" b'],
  ...['[]', '[ ]', '[a]', '[a, b]', '[a,b]', '[a, ]', '[a:b]', '[a: b]', '[a, [b]]', '[1, 2]', '[true]'],
  ...['["a"]', '[a b]', '[a#b]', '[-]', '[a', '{}', '{a: 1}', '{a}', '[a:]', '[0123]', '[1.5]'],
  ...[
    'a: b',
    'a:',
    'a: ',
    'a #b',
    'a # b',
    '# a',
    '#a',
    '- a',
    '-a',
    '? a',
    ': a',
    ':a',
    '*a',
    '&a b',
    '!!str 1',
  ],
  ...[
    '|',
    '>',
    '| a',
    '%a',
    '@a',
    '`a`',
    ',a',
    ']a',
    'a\tb',
    'a ',
    '  a',
    'a\u0085b',
    'a\u2028b',
    'a\u0007b',
  ],
  ...['1234567890123456789012345678901234567890', '12345678901234567890123456789012345678e1'],
  ...['abcdef7890123456789012345678901234567890', '0bcdef7890123456789012345678901234567890'],
];

test.each(VALUES)('says of `title: %s` what the parser says, or nothing', (value) => {
  expectSame(`title: ${value}`);
  expectSame(`ready:\n  by: ${value}\nnumber: 1`);
});

test.each([
  ...[
    '',
    'a',
    'a:',
    'a:\n',
    'a: 1\na: 2',
    'a: 1\n\nb: 2',
    'a: 1\n# b',
    'a:\n  b: 1\n    c: 2',
    'a: 1\n  b: 2',
  ],
  ...['a:\nb: 1', 'a:\n  b: 1\n  b: 2', 'a:\n b: 1', 'a:\n  - b', 'a:1', 'a:  1', 'A: 1', '"a": 1', 'a b: 1'],
  ...[
    'a:\n  b:\n  c: 1',
    'a: b\n  c',
    'a: 1\r',
    'a: 1\n...',
    '__proto__: 1',
    'a: 1 ',
    '\ta: 1',
    'toString: 1',
  ],
  ...['constructor: 1', 'a:\n  b: 1\nc:\n  d: 2', '- a: 1'],
])('and so of %j', (yaml) => {
  expectSame(yaml);
});

function expectSame(yaml: string): void {
  const plain = plainValues(yaml);
  if (plain !== null) expect(plain).toEqual(parse(yaml));
}
