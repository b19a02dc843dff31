import { expect, test } from 'vitest';
import { awaiting, landing, type Play, running } from '../../test/support/play.ts';
import { testPolicy } from '../../test/support/policy.ts';
import { isWorthNoting, judgedAt, mayGo, type Part } from './keep.ts';

const DAY = 86_400_000;
const policy = testPolicy();

test.each<[string, () => Play, number, boolean, Part[]]>([
  ['at work', running, 1000, false, []],
  ['awaiting its critic', awaiting, 1000, false, []],
  ['merged', () => landing().landed(), 0, false, ['private']],
  ['merged, with something still to do', () => landing().landed(), 0, true, []],
  ['merged long ago', () => landing().landed(), 91, false, ['private', 'logs']],
  ['abandoned', () => running().ask('cancel'), 13, false, []],
  ['abandoned for two weeks', () => running().ask('cancel'), 14, false, ['private']],
  ['abandoned for a quarter', () => running().ask('cancel'), 90, false, ['private', 'logs']],
  ['restarted', () => running().ask('cancel').restart(), 1000, false, []],
])('%s', (_, start, days, isPending, parts) => {
  const { task, now } = start();
  expect(mayGo(task, isPending, policy, now + days * DAY)).toEqual(parts);
});

const HOUR = 3_600_000;
test.each<[string, number | null, number, number | null, boolean]>([
  ['no sweep before', null, 30 * DAY, null, true],
  ['one a day before', 29 * DAY, 30 * DAY, 29 * DAY, true],
  ['a clock that jumped a month ahead since', 30 * DAY, 60 * DAY, 30 * DAY, true],
  ['one an hour before', 30 * DAY, 30 * DAY + HOUR, null, false],
  ['one by a clock that was set back since', 60 * DAY, 30 * DAY, null, true],
])('age is judged by the sweep before: %s', (_, before, now, at, noted) => {
  expect(judgedAt(before, now)).toBe(at);
  expect(isWorthNoting(before, now)).toBe(noted);
});

test('while no age is sure, only what needs none goes', () => {
  expect(mayGo(running().ask('cancel').task, false, policy, null)).toEqual([]);
  expect(mayGo(landing().landed().task, false, policy, null)).toEqual(['private']);
});
