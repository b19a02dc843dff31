/**
 * How busy the slots are with heavy-tailed turn lengths, on virtual time with the real runner, against the ideal
 * schedule; beside it the same turns in a loop with a barrier, which waits for the slowest of each batch.
 */
import type { Policy } from '../src/core/policy.ts';
import { simAgent, WILLING } from '../test/simulation/agent.ts';
import { seeded } from '../test/simulation/random.ts';
import { startRunner } from '../test/simulation/runner.ts';
import { NO_FAULTS, somePolicy } from '../test/simulation/story.ts';
import { createTimeline } from '../test/simulation/time.ts';
import { addIssue, createWorld } from '../test/simulation/world.ts';
import { NO_BUDGET } from '../test/support/policy.ts';
import type { Measured } from './measure.ts';

const ISSUES = 60;
const SLOTS = 3;
/** Which turn happens to be the last decides one run by several per cent: it is the sum of some. */
const WORLDS = [3, 4, 5, 6, 8, 9, 11];

export async function utilisation(): Promise<Measured[]> {
  const random = seeded(7);
  const lengths = Array.from({ length: ISSUES }, () => Math.round(30_000 / Math.max(0.02, random()) ** 0.8));
  let [ours, ideal, barrier] = [0, 0, 0];
  for (const world of WORLDS) {
    const { took, turns } = await loopTime(lengths, world);
    ours += took;
    ideal += Math.max(turns.reduce((sum, turn) => sum + turn, 0) / SLOTS, Math.max(...turns));
    for (let index = 0; index < turns.length; index += SLOTS)
      barrier += Math.max(...turns.slice(index, index + SLOTS));
  }
  const minutes = (span: number): string => `${(span / 60_000).toFixed(0)} virtual min`;
  return [
    {
      name: `slot utilisation, ${ISSUES} heavy-tailed turns, ${SLOTS} slots`,
      value: minutes(ours),
      against: `ideal ${minutes(ideal)}`,
      ratio: ideal / ours,
      goal: '≥ 0.95',
      met: ideal / ours >= 0.95,
    },
    {
      name: '… the same with a barrier',
      value: minutes(barrier),
      against: `ideal ${minutes(ideal)}`,
      ratio: ideal / barrier,
      goal: 'baseline',
      met: null,
    },
  ];
}

/** Plays all issues; `turns` is what each coder turn really took, `took` the time until the last of them ended. */
async function loopTime(
  lengths: readonly number[],
  seed: number,
): Promise<{ took: number; turns: number[] }> {
  const random = seeded(seed);
  const time = createTimeline(0);
  const world = createWorld(time, random);
  const base = somePolicy(random);
  const agent = { ...base.agents.coder, turnTimeoutMs: 2 ** 30, stallTimeoutMs: 0 };
  const policy: Policy = {
    ...base,
    maxConcurrent: SLOTS,
    maxTurns: 20,
    critic: { ...base.critic, enabled: true, parallel: 10 },
    merge: { ...base.merge, enabled: true, requiredChecks: [] },
    maxWaiting: null,
    budget: NO_BUDGET,
    agents: { ...base.agents, coder: agent, critic: agent },
  };
  for (let number = 1; number <= lengths.length; number++) addIssue(world, number, 'sure');
  const inner = simAgent(world, WILLING);
  const turns: number[] = [];
  let took = 0;
  const timedAgent = {
    ...inner,
    run: async (...[turn, hooks]: Parameters<typeof inner.run>) => {
      if (turn.role !== 'coder') return inner.run(turn, hooks);
      const startedAt = time.now();
      await time.sleep(lengths[turn.issue! - 1]!);
      const result = await inner.run(turn, hooks);
      took = time.now();
      turns.push(took - startedAt);
      return result;
    },
  };
  const { done } = startRunner(world, policy, WILLING, NO_FAULTS, 'bench', 'until_idle', timedAgent);
  let finished = false;
  void done.then(() => {
    finished = true;
  });
  await time.play(() => finished, 1e12);
  return { took, turns };
}
