/**
 * Does the critic's answer reach the coder while the provider's cache still has the conversation? The real loop on virtual
 * time: twelve issues, three slots, coder turns of one to four minutes, critics of 45 to 120 seconds, which ask for changes
 * half of the time. Counted is the time from the end of a coder's turn to the beginning of its revision, and from the end of a
 * critic's turn to the beginning of its next round, which goes on in the same session only while the cache has it.
 */
import { expect, test } from 'vitest';
import type { Policy } from '../../src/core/policy.ts';
import { simAgent, WILLING } from '../../test/simulation/agent.ts';
import { seeded } from '../../test/simulation/random.ts';
import { startRunner } from '../../test/simulation/runner.ts';
import { NO_FAULTS, somePolicy } from '../../test/simulation/story.ts';
import { createTimeline } from '../../test/simulation/time.ts';
import { addIssue, createWorld } from '../../test/simulation/world.ts';
import { TTL_MS } from '../../test/support/llm/prompt-cache.ts';
import { NO_BUDGET } from '../../test/support/policy.ts';

const ISSUES = 12;
const SLOTS = 3;
/** Asks for changes half of the time. */
const CRITICAL = { ...WILLING, approves: 0.5 };

test('the critic’s answer comes while the cache is warm', async () => {
  const stories = await Promise.all([1, 2, 3, 4, 5].map(gapsOf));
  const gaps = stories.flatMap(({ revisions }) => revisions);
  const warm = warmShare(gaps);
  console.log(
    '\n| what begins again | how often | median gap | longest gap | within 5 minutes | goal | met |',
  );
  console.log('|---|---|---|---|---|---|---|');
  console.log(line('a coder’s revision', gaps, `≥ 95 % | ${warm >= 0.95 ? 'yes' : 'NO'}`));
  console.log(
    line(
      'a critic’s next round',
      stories.flatMap(({ rounds }) => rounds),
      'reported | –',
    ),
  );
  expect(gaps.length).toBeGreaterThan(20);
  expect(warm).toBeGreaterThanOrEqual(0.95);
});

const warmShare = (gaps: readonly number[]): number =>
  gaps.filter((gap) => gap < TTL_MS).length / gaps.length;

function line(what: string, gaps: readonly number[], goal: string): string {
  const sorted = [...gaps].sort((a, b) => a - b);
  const seconds = (at: number) => `${Math.round((sorted[at] ?? Number.NaN) / 1000)} s`;
  return `| ${what} | ${gaps.length} | ${seconds(Math.floor(sorted.length / 2))} | ${seconds(sorted.length - 1)} | ${Math.round(warmShare(gaps) * 100)} % | ${goal} |`;
}

async function gapsOf(seed: number): Promise<{ revisions: number[]; rounds: number[] }> {
  const random = seeded(seed);
  const time = createTimeline(0);
  const world = createWorld(time, random);
  const base = somePolicy(random);
  const agent = { ...base.agents.coder, kind: 'simulated', turnTimeoutMs: 2 ** 30, stallTimeoutMs: 0 };
  const policy: Policy = {
    ...base,
    maxConcurrent: SLOTS,
    maxTurns: 20,
    session: 'persist',
    critic: { ...base.critic, enabled: true, parallel: 2, maxRounds: 10 },
    merge: { ...base.merge, enabled: true, requiredChecks: [] },
    budget: NO_BUDGET,
    agents: { ...base.agents, coder: agent, critic: agent, specifier: agent },
  };
  for (let number = 1; number <= ISSUES; number += 1) addIssue(world, number, 'sure');
  const inner = simAgent(world, CRITICAL);
  const between = (from: number, to: number) => (from + random() * (to - from)) * 1000;
  const slow = {
    ...inner,
    run: async (...[turn, hooks]: Parameters<typeof inner.run>) => {
      await time.sleep(turn.role === 'coder' ? between(60, 240) : between(45, 120));
      return inner.run(turn, hooks);
    },
  };
  const { done } = startRunner(world, policy, CRITICAL, NO_FAULTS, 'bench', 'until_idle', slow);
  let finished = false;
  void done.then(() => {
    finished = true;
  });
  await time.play(() => finished, 1e12);
  const revisions: number[] = [];
  const rounds: number[] = [];
  const endedAt = new Map<string, number>();
  const judgedAt = new Map<string, number>();
  for (const one of await world.store.events()) {
    if (one.task === null) continue;
    if (one.type === 'turn_completed') (one.data.role === 'coder' ? endedAt : judgedAt).set(one.task, one.at);
    if (one.type !== 'turn_started') continue;
    if (one.data.prompt === 'revise') revisions.push(one.at - endedAt.get(one.task)!);
    const judged = judgedAt.get(one.task);
    if (one.data.role === 'critic' && judged !== undefined) rounds.push(one.at - judged);
  }
  return { revisions, rounds };
}
