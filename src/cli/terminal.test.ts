import { expect, test } from 'vitest';
import { cut, painter, table, wantsColor, width } from './terminal.ts';

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

test('colours are for terminals, NO_COLOR forbids them, FORCE_COLOR asks for them', () => {
  expect(wantsColor({}, true)).toBe(true);
  expect(wantsColor({}, false)).toBe(false);
  expect(wantsColor({ TERM: 'dumb' }, true)).toBe(false);
  expect(wantsColor({ NO_COLOR: '1' }, true)).toBe(false);
  expect(wantsColor({ NO_COLOR: '' }, true)).toBe(true);
  expect(wantsColor({ FORCE_COLOR: '1' }, false)).toBe(true);
  expect(wantsColor({ FORCE_COLOR: '0' }, true)).toBe(false);
  expect(wantsColor({ NO_COLOR: '1', FORCE_COLOR: '1' }, false)).toBe(false);
  expect(painter(false).red('x')).toBe('x');
});
