/** The list of Symphony's points in the ADR is kept to: each names tests that name it, or is argued there. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const adr = read('docs/adr/0044-symphony.md');
const rows = [...adr.matchAll(/^\| (\d+) \| (.+) \| (.+) \|$/gm)].map(
  ([, number = '', what = '', by = '']) => ({
    number,
    what,
    files: [...by.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, file = '']) => file),
  }),
);

test('every point is in the table or argued', () => {
  const numbers = Array.from({ length: 21 }, (_, index) => String(index + 1));
  const argued = [...adr.matchAll(/^- \*\*(\d+)[.,]/gm)].map(([, number]) => number);
  expect(
    numbers.filter((one) => !argued.includes(one) && !rows.some(({ number }) => number === one)),
  ).toEqual([]);
  for (const { number, files } of rows) if (files.length === 0) expect(argued, number).toContain(number);
});

test.each(rows.flatMap(({ number, what, files }) => files.map((file) => [number, what, file] as const)))(
  '%s (%s) is named by a test of %s',
  (number, _what, file) => {
    expect(read(file)).toMatch(new RegExp(`symphony (?:\\d+, )*${number}\\b`));
  },
);

test.each([
  ...['configuration', 'scope', 'normalisation', 'tools for agents'],
  ...['request', 'response', 'malformed row', 'pagination', 'rate limit'],
])('symphony 10: the profile of the adapter says what there is to know of: %s', (what) => {
  const [, profile = ''] = /\n## Profile of the adapter\n(.+?)\n## /s.exec(read('docs/github.md')) ?? [];
  expect(profile).toMatch(new RegExp(`^\\| ${what}`, 'm'));
});
