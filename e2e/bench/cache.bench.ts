/**
 * What a session that goes on is worth: the same three rounds (code, changes, changes, approve) with the real agents, in
 * warm sessions and one-shot. The model is scripted, its prompt cache is played from the bytes it was really sent.
 *
 * Three stories. A coder that has much to read reads six files of 12 kB before it can change them, and a session that begins has
 * to read them again. A coder that has nothing to read saves only what the agent itself sends. In the third every round reads two
 * files of its own, so that the rounds of one session do the same work and can be compared with each other. The critic reads no
 * file in any: what it is told is all it needs.
 */
import { expect, test } from 'vitest';
import type { UsageDelta } from '../../src/store/store.ts';
import { makeWorld } from '../../test/support/e2e/world.ts';
import type { Scenario } from '../../test/support/llm/scenario.ts';
import { startLlm } from '../../test/support/llm/server.ts';
import { PROGRAM } from '../setup.ts';
import { HEROES, type Hero } from './heroes.ts';

type Replies = Scenario['rules'][number]['replies'];
type Mode = 'persist' | 'fresh';
type Story = (round: number, mode: Mode) => Replies;
type CacheKeys = Hero['caches'][number];

interface Round {
  tokens: number;
  cacheRead: number;
  usd: number;
  wallMs: number;
}

interface Played {
  coder: Round[];
  critic: Round[];
}

/** The one story whose first round does more than the others. */
const ALL_AT_FIRST = 'files read';
const FILES = Array.from({ length: 6 }, (_, index) => `module-${index}.txt`);
const reading = (files: readonly string[]): Replies => files.map((file) => ({ run: `cat ${file}` }));
/** What the coder reads in a round, before its edit. */
const STORIES: Record<string, Story> = {
  [ALL_AT_FIRST]: (round, mode) => (round === 1 || mode === 'fresh' ? reading(FILES) : []),
  'nothing read': () => [],
  'two files a round': (round) => reading(FILES.slice(2 * round - 2, 2 * round)),
};
/** Half the cost of one-shot, with the critic. */
const GOAL = 0.5;
/** By so much a later round of a session is cheaper than its first, at the same work. */
const CHEAPER = 0.3;

const edit = (round: number): Replies => [
  { run: `echo round ${round} >> answer.txt` },
  { say: `round ${round} done` },
];
const finding = (round: number) => ({
  severity: 'sev2',
  file: 'answer.txt',
  line: round,
  message: `line ${round} is missing`,
});
const addressed = (...ids: number[]) =>
  ids.map((id) => ({ id: `${id}`, addressed: 'yes', why: 'it is there' }));
const VERDICTS = [
  { verdict: 'REQUEST_CHANGES', findings: [finding(2)] },
  { verdict: 'REQUEST_CHANGES', findings: [finding(3)], earlier: addressed(1) },
  { verdict: 'APPROVE', findings: [], earlier: addressed(2) },
];

const summary: string[] = [];

for (const hero of HEROES)
  for (const cacheKeys of hero.caches)
    for (const [story, coderReads] of Object.entries(STORIES))
      test(`${hero.kind}, ${story}, cache ${cacheKeys}: one session against one-shot (dispatch 52)`, async () => {
        const persist = await play(hero, coderReads, cacheKeys, 'persist');
        const fresh = await play(hero, coderReads, cacheKeys, 'fresh');
        console.log(`\n### ${hero.kind} (${hero.model}), ${story}, cache ${cacheKeys}\n`);
        console.log('| mode | role | round | tokens | of them read from the cache | cost | wall time |');
        console.log('|---|---|---|---|---|---|---|');
        for (const [mode, played] of Object.entries({ persist, fresh }))
          for (const role of ['coder', 'critic'] as const)
            played[role].forEach((round, index) => {
              console.log(line(mode, role, `${index + 1}`, round));
            });

        const coder = costOf(persist.coder) / costOf(fresh.coder);
        const critic = costOf(persist.critic) / costOf(fresh.critic);
        const both = costOf(persist.coder, persist.critic) / costOf(fresh.coder, fresh.critic);
        const cells = [hero.kind, story, cacheKeys, ...[coder, critic, both].map((one) => one.toFixed(2))];
        summary.push(`| ${cells.join(' | ')} | ${both <= GOAL ? 'yes' : 'no'} |`);
        console.log('\n| agent | story | cache | coder | critic | both | both at most half |');
        console.log(`|---|---|---|---|---|---|---|\n${summary.join('\n')}`);

        const [first, ...later] = persist.coder;
        const dearest = Math.max(...later.map(({ usd }) => usd));
        const saved = 1 - dearest / first!.usd;
        console.log(`\nrounds 2 and 3 are at least ${percent(saved)} cheaper than round 1`);
        if (story !== ALL_AT_FIRST) expect(saved).toBeGreaterThanOrEqual(CHEAPER);
        expect(critic).toBeLessThan(1);
        // Where a session has nothing to read again, or one-shot finds it all in the cache, there is less to save than half.
        if (story === ALL_AT_FIRST && cacheKeys === hero.caches[0]) expect(both).toBeLessThanOrEqual(GOAL);
      });

async function play(hero: Hero, story: Story, cacheKeys: CacheKeys, policy: Mode): Promise<Played> {
  const llm = await startLlm({ rules: [] }, { cacheKeys });
  const world = makeWorld({ program: PROGRAM, env: hero.env(llm) });
  try {
    llm.play({
      rules: [
        { when: { says: 'You are the critic' }, replies: VERDICTS.map((answer) => ({ answer })) },
        {
          when: { says: 'issue' },
          replies: [1, 2, 3].flatMap((round) => [...story(round, policy), ...edit(round)]),
        },
      ],
    });
    for (const file of FILES) world.write(file, `${file} ${'lorem ipsum dolor sit amet, '.repeat(430)}\n`);
    world.settings({
      agent: { kind: hero.kind, model: hero.model },
      prices: hero.prices,
      session: { policy },
      gate: { commands: ['test -s answer.txt'] },
    });
    const issue = await world.issue({ body: 'The file `answer.txt` must contain three lines.' });
    await world.settle();
    const task = await world.task(issue);
    expect(task.state, await world.report()).toBe('merged');
    const store = await world.store();
    const usage = await store.usage({ task: task.id });
    const turns = await store.turns(task.id);
    const roundOf = (role: string, turn: number): Round => {
      const mine = (one: { role: string; turn: number }) => one.role === role && one.turn === turn;
      const wallMs = turns
        .filter(mine)
        .reduce((sum, { startedAt, endedAt }) => sum + (endedAt! - startedAt), 0);
      return { ...spent(usage.filter(mine)), wallMs };
    };
    const roundsOf = (role: string) => [1, 2, 3].map((turn) => roundOf(role, turn));
    return { coder: roundsOf('coder'), critic: roundsOf('critic') };
  } finally {
    await world.dispose();
    await llm.close();
  }
}

function spent(usage: readonly UsageDelta[]): Omit<Round, 'wallMs'> {
  return usage.reduce(
    (sum, { input, output, cacheRead, cacheWrite, reasoning, costUsd }) => ({
      tokens: sum.tokens + input + output + cacheRead + cacheWrite + reasoning,
      cacheRead: sum.cacheRead + cacheRead,
      usd: sum.usd + (costUsd ?? Number.NaN),
    }),
    { tokens: 0, cacheRead: 0, usd: 0 },
  );
}

const costOf = (...rounds: readonly Round[][]): number =>
  rounds.flat().reduce((sum, { usd }) => sum + usd, 0);
const line = (mode: string, role: string, round: string, { tokens, cacheRead, usd, wallMs }: Round): string =>
  `| ${mode} | ${role} | ${round} | ${tokens} | ${percent(cacheRead / tokens)} | $${usd.toFixed(4)} | ${(wallMs / 1000).toFixed(1)} s |`;
const percent = (ratio: number): string => `${Math.round(ratio * 100)} %`;
