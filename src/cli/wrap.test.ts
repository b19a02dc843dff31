import { expect, test } from 'vitest';
import { painter } from './terminal.ts';
import { wrapped, wrappedTable } from './wrap.ts';

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
  expect(wrapped('loop  no runner is running now', 26, 6)).toBe('loop  no runner is\n      running now');
});
