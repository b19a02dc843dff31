/** A small night, so that no change slows the line down unseen; `npm run bench night` plays whole ones. */
import { expect, test } from 'vitest';
import { playNight } from './night.ts';

const SMALL = { issues: 40, ahead: 3, seed: 11 };
/** Three seeds had 0.64 to 0.72: the last tasks of a night land one after the other, and a small one is mostly that. */
const LEAST = 0.6;

test('a night of forty issues keeps up with its gate, and meets fewer conflicts when issues name what they change', async () => {
  const unnamed = await playNight({ ...SMALL, areNamed: false });
  const named = await playNight({ ...SMALL, areNamed: true });
  for (const { merged, ratio } of [unnamed, named]) {
    expect(merged).toBe(SMALL.issues);
    expect(ratio).toBeGreaterThan(LEAST);
  }
  expect(named.conflicts).toBeLessThan(unnamed.conflicts / 2);
}, 300_000);
