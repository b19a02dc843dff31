import { expect, test } from 'vitest';
import { cut, table, tableWithout, width, wrapped, wrappedTable } from './layout.ts';
import { painter } from './terminal.ts';

const paint = painter(true);

test('a table aligns by what a terminal shows: colours take no room, wide letters take two cells', () => {
  const rows = [
    ['ID', 'TITLE', 'WHY'],
    [paint.red('a'), '工作', 'x'],
    ['bcd', 'plain', 'y'],
  ];
  expect(table(rows)).toBe(['ID   TITLE  WHY', `${paint.red('a')}    工作   x`, 'bcd  plain  y'].join('\n'));
  expect(width('é́工')).toBe(3);
});

test.each([
  ['✅', 2],
  ['⚠️', 2],
  ['👩‍💻', 2],
  ['🇩🇪', 2],
  ['…', 1],
  ['✓', 1],
  ['\u200b', 0],
  ['\x1b]8;;https://example.org\x07link\x1b]8;;\x07', 4],
])('%j takes %i cells', (text, cells) => {
  expect(width(text)).toBe(cells);
  expect(
    table([
      [text, 'x'],
      ['1234567', 'x'],
    ]),
  ).toBe(`${text}${' '.repeat(9 - cells)}x\n1234567  x`);
});

test('nothing is cut in two', () => {
  expect(cut('✅✅✅', 4)).toBe('✅…');
  expect(cut('👩‍💻👩‍💻', 3)).toBe('👩‍💻…');
  expect(cut(`${paint.red('ab')}${paint.green('cdef')}`, 5)).toBe(`${paint.red('ab')}${paint.green('cd')}…`);
});

test('a line is cut at the edge, and its colour ends there', () => {
  expect(table([['one', 'a long reason']], 10)).toBe('one  a lo…');
  expect(cut(paint.red('abcdef'), 4)).toBe(`${paint.red('abc')}…`);
  expect(cut('工作工作', 4)).toBe('工…');
  expect(cut('abcd', 4)).toBe('abcd');
});

test('what can be spared is left out, one column after the other, until the rest has room', () => {
  const wide = [
    ['turn 1', 'task', '20:01:43', '$0.01'],
    ['turn 2', 'continuation', '20:02:29', '$0.02'],
  ];
  const at = (columns: number | null) => tableWithout(wide, columns, [1, 2]).split('\n')[1];
  expect(at(null)).toBe('turn 2  continuation  20:02:29  $0.02');
  expect(at(37)).toBe('turn 2  continuation  20:02:29  $0.02');
  expect(at(36)).toBe('turn 2  20:02:29  $0.02');
  expect(at(20)).toBe('turn 2  $0.02');
  expect(at(10)).toBe('turn 2  $…');
});

const rows = [
  ['ok', 'git', 'git 2.43.0'],
  ['fail', 'identity', 'git does not know who you are, so nothing can be committed'],
  ['', '', '→ git config --global user.name "Your Name"'],
];

test('the last column is broken between words, and goes on below where it began', () => {
  expect(wrappedTable(rows, 50).split('\n')).toEqual([
    'ok    git       git 2.43.0',
    'fail  identity  git does not know who you are, so',
    '                nothing can be committed',
    '                → git config --global user.name',
    '                "Your Name"',
  ]);
});

test('where there is no room beside the others it stands below them', () => {
  expect(wrappedTable([['/a/long/path/to/a/folder', 'what is kept in it']], 40)).toBe(
    '/a/long/path/to/a/folder\n    what is kept in it',
  );
});

test('without a terminal every row is a line', () => {
  expect(wrappedTable(rows, null).split('\n')).toHaveLength(3);
});

test('colours take no room, and a word that is longer than the line is left whole', () => {
  const { cyan } = painter(true);
  expect(wrappedTable([['a', cyan('one two three four five')]], 24)).toBe(
    `a  ${cyan('one two three four\n   five')}`,
  );
  const path = '/a/very/long/path/that/fits/into/no/line.txt';
  expect(wrappedTable([['a', `see ${path} there`]], 24)).toBe(`a  see\n   ${path}\n   there`);
});

test('lines of the text itself stay, and each is wrapped', () => {
  expect(wrappedTable([['a', 'one\ntwo']], 80)).toBe('a  one\n   two');
});

test('a paragraph hangs from its first line', () => {
  expect(wrapped('loop  no runner is running now', 26, 6)).toBe('loop  no runner is running\n      now');
});

test('each line of a text keeps its own indentation, also where it goes on', () => {
  expect(wrapped('12:00  claimed: a long title\n       what to do about it', 20, 7)).toBe(
    ['12:00  claimed: a', '       long title', '       what to do', '       about it'].join('\n'),
  );
});
