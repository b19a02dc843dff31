import { describe, expect, test } from 'vitest';
import { event } from '../event.ts';
import { afterLoopHolds, type LoopHold, trunkChanged, untestedMerge } from './loop-hold.ts';

const untested = untestedMerge('7-a', { why: 'abc landed with another tree' });
const refused: LoopHold = { reason: 'credential_refused', account: 'claude', said: 'no key' };

test('holds add up, one for each thing they are about, and are released one by one', () => {
  const both = afterLoopHolds([], [event('loop_held', untested), event('loop_held', refused)]);
  expect(both).toEqual([untested, refused]);
  const again = untestedMerge('7-a', { why: 'again' });
  expect(afterLoopHolds(both, [event('loop_held', again)])).toEqual([refused, again]);
  expect(afterLoopHolds(both, [event('loop_released', { ...untested, by: 'eva' })])).toEqual([refused]);
});

test('other events leave the list as it is', () => {
  const holds = [untested];
  expect(afterLoopHolds(holds, [event('loop_paused', { by: 'eva' })])).toBe(holds);
});

describe('a hold as the first versions wrote it', () => {
  const earlier: [key: string, reason: LoopHold['reason'], detail: string, now: LoopHold][] = [
    ['untested_merge 7-a', 'untested_merge', 'abc landed with another tree', untested],
    [
      'trunk release/2',
      'trunk_changed',
      'trunk was main and is release/2 now: nothing is claimed or merged',
      trunkChanged('main', 'release/2'),
    ],
    ['credential claude', 'credential_refused', 'claude refuses its credential: no key', refused],
    [
      'credential command ./agent --fast',
      'credential_refused',
      'command ./agent --fast refuses its credential: no key',
      { ...refused, account: 'command ./agent --fast' },
    ],
  ];

  test.each(earlier)('%s is read with its evidence, and released by either', (key, reason, detail, now) => {
    const held = event('loop_held', { key, reason, detail });
    expect(afterLoopHolds([], [held])).toEqual([now]);
    expect(afterLoopHolds([], [held, event('loop_released', { key, by: 'eva' })])).toEqual([]);
    expect(afterLoopHolds([], [held, event('loop_released', { ...now, by: 'eva' })])).toEqual([]);
  });
});
