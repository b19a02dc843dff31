import { describe, expect, it } from 'vitest';
import { playStory } from './story.ts';

const SEEDS = Number(process.env.SIM_SEEDS ?? 2000);
const FIRST = Number(process.env.SIM_SEED ?? 1);
const SHARDS = 20;

function report(seed: number, violations: string[], crashAtCall?: number): string {
  const crash = crashAtCall === undefined ? '' : ` (crash after call ${crashAtCall})`;
  return `seed ${seed}${crash}: replay with SIM_SEED=${seed} SIM_SEEDS=1 npm run test:simulation\n${violations.join('\n')}`;
}

describe('the whole loop on virtual time', () => {
  const perShard = Math.ceil(SEEDS / SHARDS);
  for (let shard = 0; shard < Math.min(SHARDS, SEEDS); shard++) {
    it(`keeps its invariants through faults, crashes and people (shard ${shard + 1})`, async () => {
      for (let index = 0; index < perShard; index++) {
        const seed = FIRST + shard * perShard + index;
        const { violations } = await playStory({ seed });
        expect(violations, report(seed, violations)).toEqual([]);
      }
    });
  }

  it.each([11, 41, 43])('survives a crash after every single call (seed %i) (dispatch 36)', async (seed) => {
    const { calls, violations } = await playStory({ seed, calm: true });
    expect(violations, report(seed, violations)).toEqual([]);
    expect(calls).toBeGreaterThan(50);
    for (let crashAtCall = 1; crashAtCall <= calls; crashAtCall++) {
      const crashed = await playStory({ seed, crashAtCall });
      expect(crashed.violations, report(seed, crashed.violations, crashAtCall)).toEqual([]);
    }
  });
});
