/**
 * What the loop adds to a turn: from the commit that decides it to the commit that records its end, against the provider's
 * own SDK or program taking the same turn, in one run. Both write one file and say one word.
 */
import { expect, test } from 'vitest';
import { makeWorld } from '../../test/support/e2e/world.ts';
import { startLlm } from '../../test/support/llm/server.ts';
import { PROGRAM } from '../setup.ts';
import { bareTurn } from './bare.ts';
import { HEROES, type Hero } from './heroes.ts';

const TURNS = 6;
const GOAL = 1.1;
const DO_IT = [{ run: 'echo whole > answer.txt' }, { say: 'done' }];

for (const hero of HEROES)
  test(`${hero.kind}: a turn of the loop against a bare one (dispatch 26)`, async () => {
    const bare = await bareTurns(hero);
    const ours = await loopTurns(hero);
    bare.push(...(await bareTurns(hero)));
    const ratio = median(ours) / median(bare);
    console.log(
      `| ${hero.kind}: a turn of the loop | ${Math.round(median(ours))} ms | bare: ${Math.round(median(bare))} ms | ${ratio.toFixed(2)} | ≤ ${GOAL} | ${ratio <= GOAL ? 'yes' : 'NO'} |`,
    );
    expect(ours).toHaveLength(TURNS);
  });

async function bareTurns(hero: Hero): Promise<number[]> {
  const took: number[] = [];
  for (let turn = 0; turn < TURNS / 2; turn += 1) {
    const llm = await startLlm({ rules: [{ replies: DO_IT }] });
    took.push(await bareTurn(hero, hero.env(llm), 'Write the file.'));
    await llm.close();
  }
  return took;
}

async function loopTurns(hero: Hero): Promise<number[]> {
  const llm = await startLlm({
    rules: [
      {
        when: { says: 'You are the critic' },
        replies: Array.from({ length: TURNS }, () => ({ answer: { verdict: 'APPROVE', findings: [] } })),
      },
      ...Array.from({ length: TURNS }, (_, index) => ({
        when: { says: `ISSUE-${index}-BODY` },
        replies: [{ run: `echo whole > answer-${index}.txt` }, { say: 'done' }],
      })),
    ],
  });
  const world = makeWorld({ program: PROGRAM, env: hero.env(llm) });
  try {
    world.settings({
      agent: { kind: hero.kind, model: hero.model, max_concurrent: 1 },
      gate: { commands: ['true'] },
    });
    for (let index = 0; index < TURNS; index += 1)
      await world.issue({
        title: `Write file ${index}`,
        body: `The file \`answer-${index}.txt\` must contain \`whole\`. ISSUE-${index}-BODY`,
      });
    await world.settle();
    const turns = (await world.events()).filter(
      (one) => (one.type === 'turn_started' || one.type === 'turn_completed') && one.data.role === 'coder',
    );
    return turns
      .filter(({ type }) => type === 'turn_completed')
      .map(({ at, task }) => at - turns.find((one) => one.type === 'turn_started' && one.task === task)!.at);
  } finally {
    await world.dispose();
    await llm.close();
  }
}

const median = (samples: readonly number[]): number =>
  [...samples].sort((a, b) => a - b)[Math.floor(samples.length / 2)] ?? Number.NaN;
