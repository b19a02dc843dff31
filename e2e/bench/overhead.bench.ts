/**
 * What the loop adds to a turn: from the commit that decides it to the commit that records its end, against the provider's
 * own SDK or program taking the same turn. Both write one file and say one word. They take turns in one run, each alone on
 * the machine: no critic is at work beside, and a load from elsewhere falls on both.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeWorld, type World } from '../../test/support/e2e/world.ts';
import { type Llm, startLlm } from '../../test/support/llm/server.ts';
import { PROGRAM } from '../setup.ts';
import { type Bare, bareTurns } from './bare.ts';
import { HEROES, type Hero } from './heroes.ts';

const TURNS = Number(process.env.BENCH_TURNS ?? 9);
const GOAL = 1.15;
const LOOK_EVERY_MS = 500;

for (const hero of HEROES)
  test(`${hero.kind}: a turn of the loop against a bare one (dispatch 26)`, async () => {
    const { ours, bare } = await inTurns(hero);
    for (const [how, samples] of Object.entries(bare)) {
      const ratio = median(ours) / median(samples);
      console.log(
        `| ${hero.kind}: a turn of the loop | ${Math.round(median(ours))} ms | ${how}: ${Math.round(median(samples))} ms | ${ratio.toFixed(2)} | ≤ ${GOAL} | ${ratio <= GOAL ? 'yes' : 'NO'} |`,
      );
      // Soft, so that the others are measured too.
      expect.soft(ratio, how).toBeLessThanOrEqual(GOAL);
    }
    expect(ours).toHaveLength(TURNS);
  });

async function inTurns(hero: Hero): Promise<{ ours: number[]; bare: Record<string, number[]> }> {
  const llm = await startLlm({
    rules: Array.from({ length: TURNS }, (_, index) => ({
      when: { says: `ISSUE-${index}-BODY` },
      replies: [{ run: `echo whole > answer-${index}.txt` }, { say: 'done' }],
    })),
  });
  const world = makeWorld({ program: PROGRAM, env: hero.env(llm) });
  try {
    world.settings({
      agent: { kind: hero.kind, model: hero.model, max_concurrent: 1 },
      polling: { interval_ms: 1000 },
      gate: { commands: ['true'] },
      critic: { enabled: false },
    });
    world.run();
    const ours: number[] = [];
    const bare: Record<string, number[]> = {};
    for (let turn = 0; turn < TURNS; turn += 1) {
      for (const one of bareTurns(hero)) bare[one.how] = [...(bare[one.how] ?? []), await alone(hero, one)];
      ours.push(await loopTurn(world, turn));
    }
    return { ours, bare };
  } finally {
    await world.dispose();
    await llm.close();
  }
}

async function alone(hero: Hero, { take }: Bare): Promise<number> {
  const llm: Llm = await startLlm({
    rules: [{ replies: [{ run: 'echo whole > answer.txt' }, { say: 'done' }] }],
  });
  try {
    return await take(hero.env(llm), 'Write the file.');
  } finally {
    await llm.close();
  }
}

async function loopTurn(world: World, turn: number): Promise<number> {
  const issue = await world.issue({
    title: `Write file ${turn}`,
    body: `The file \`answer-${turn}.txt\` must contain \`whole\`. ISSUE-${turn}-BODY`,
  });
  // The loop has published it: nothing of it runs any more. Looked for seldom, since whoever looks is the model too.
  while (world.pulls(issue).length === 0) await pause(LOOK_EVERY_MS);
  const { id } = await world.state(issue, 'awaiting_critic');
  const events = (await world.events()).filter(({ task }) => task === id);
  const at = (type: 'turn_started' | 'turn_completed') => events.find((one) => one.type === type)!.at;
  return at('turn_completed') - at('turn_started');
}

const median = (samples: readonly number[]): number =>
  [...samples].sort((a, b) => a - b)[Math.floor(samples.length / 2)] ?? Number.NaN;
