import { expect, test } from 'vitest';
import { firstLine, shortened } from './shortened.ts';

test.each([
  ['fits', 4, 'fits'],
  ['it ends between words', 12, 'it ends…'],
  ['it ends between words', 8, 'it ends…'],
  ['it ends between words', 16, 'it ends between…'],
  ['/a/path/that/is/longer/than/the/room', 12, '/a/path/tha…'],
  ['see /a/path/that/is/longer/than/the/room', 12, 'see /a/path…'],
  ['an emoji: 🚀🚀', 12, 'an emoji:…'],
  ['🚀🚀🚀', 4, '🚀…'],
])('%j in %i', (text, room, expected) => {
  expect(shortened(text, room)).toBe(expected);
  expect(expected.length).toBeLessThanOrEqual(room);
});

test('the first line of many', () => {
  expect(firstLine('\n one line\nand another', 100)).toBe('one line');
  expect(firstLine('one long line\nand another', 9)).toBe('one long…');
});
