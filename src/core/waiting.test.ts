/** Holds, limits, cooldowns and put-off effects when the wall clock is set. */
import { expect, test } from 'vitest';
import { running } from '../../test/support/play.ts';
import { event } from './event.ts';
import { isHeld } from './line/schedule.ts';
import { afterAccounts, limitOf } from './money/account.ts';
import { isPutOff, isWaiting } from './waiting.ts';

const [MINUTE, HOUR, MONTH] = [60_000, 3_600_000, 30 * 86_400_000];

test('a wait lasts until its time, and not longer than it was to when the clock is set back', () => {
  const wait = { since: MONTH, until: MONTH + HOUR };
  expect(isWaiting(wait, MONTH)).toBe(true);
  expect(isWaiting(wait, MONTH + HOUR)).toBe(false);
  expect(isWaiting(wait, MONTH - MINUTE), 'a small correction ends nothing').toBe(true);
  expect(isWaiting(wait, 0)).toBe(false);
  expect(isWaiting({ until: HOUR }, 0), 'of unknown age').toBe(true);
});

test('a held task goes on when the clock was set back by a month', () => {
  const play = running();
  play.now = MONTH;
  play.turn('failed', { code: 'overload', message: 'busy' }).checkpoint('c1');
  const { task } = play;
  expect(task.hold).toMatchObject({ reason: 'retry_backoff', since: MONTH });
  expect(isHeld(task, MONTH + 1)).toBe(true);
  play.now = 0;
  expect(isHeld(task, 0)).toBe(false);
  expect(play.change({}).task.hold).toBeNull();
});

test('an account that is used up is asked again when the clock was set back', () => {
  const happened = event('account_limited', { account: 'claude', why: 'limit', until: MONTH + HOUR });
  const limits = afterAccounts([], [happened], MONTH);
  expect(limitOf(limits, 'claude', MONTH + 1)).not.toBeNull();
  expect(limitOf(limits, 'claude', 0)).toBeNull();
});

test('an effect that was put off is tried when its time is further away than any is put off', () => {
  expect(isPutOff({ notBefore: HOUR }, 0)).toBe(true);
  expect(isPutOff({ notBefore: HOUR }, HOUR)).toBe(false);
  expect(isPutOff({ notBefore: MONTH }, 0)).toBe(false);
});
