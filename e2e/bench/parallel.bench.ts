/** Six sessions of one agent at once: all finish, none is called stalled, and what they take is said. */
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { makeWorld } from '../../test/support/e2e/world.ts';
import { startLlm } from '../../test/support/llm/server.ts';
import { PROGRAM } from '../setup.ts';
import { HEROES, type Hero } from './heroes.ts';

const SESSIONS = 6;

for (const hero of HEROES)
  test(`${hero.kind}: six sessions at once`, async () => {
    const { turns, peakMb, peakAgents, wallMs } = await together(hero);
    console.log(
      `| ${hero.kind} | ${SESSIONS} sessions on ${availableParallelism()} cores | ${(wallMs / 1000).toFixed(1)} s | ${peakAgents} at once | ${peakMb} MB at most, the runner and all agents |`,
    );
    expect(turns).toEqual(Array.from({ length: SESSIONS }, () => 'finished'));
  });

async function together(hero: Hero) {
  const llm = await startLlm({
    rules: [
      {
        when: { says: 'You are the critic' },
        replies: [{ answer: { verdict: 'APPROVE', findings: [] }, times: 'always' }],
      },
      ...Array.from({ length: SESSIONS }, (_, index) => ({
        when: { says: `ISSUE-${index}-BODY` },
        replies: [
          { run: `sleep 3; echo whole > answer-${index}.txt` },
          { run: 'sleep 2; ls' },
          { say: 'done' },
        ],
      })),
    ],
  });
  const world = makeWorld({ program: PROGRAM, env: hero.env(llm) });
  try {
    world.settings({
      agent: { kind: hero.kind, model: hero.model, max_concurrent: SESSIONS, stall_timeout_ms: 30_000 },
      gate: { commands: ['true'] },
    });
    for (let index = 0; index < SESSIONS; index += 1)
      await world.issue({
        title: `Write file ${index}`,
        body: `The file \`answer-${index}.txt\` must contain \`whole\`. ISSUE-${index}-BODY`,
      });
    const startedAt = performance.now();
    const runner = world.run('--until-idle');
    let peakMb = 0;
    let peakAgents = 0;
    const watch = setInterval(() => {
      const { mb, agents } = familyOf(runner.pid);
      peakMb = Math.max(peakMb, mb);
      peakAgents = Math.max(peakAgents, agents);
    }, 200);
    await world.finished(runner).finally(() => clearInterval(watch));
    const wallMs = performance.now() - startedAt;
    const turns = (await world.events()).flatMap((one) =>
      one.type === 'turn_completed' && one.data.role === 'coder' ? [one.data.status] : [],
    );
    return { turns, peakMb, peakAgents, wallMs };
  } finally {
    await world.dispose();
    await llm.close();
  }
}

/** Resident memory of a process and everything below it, and how many of those are agents' programs. */
function familyOf(root: number): { mb: number; agents: number } {
  const all = readdirSync('/proc').flatMap((name) => {
    try {
      const status = readFileSync(`/proc/${name}/status`, 'utf8');
      const of = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
      const isAgent = /^Name:\s+(claude|codex)/m.test(status);
      return /^\d+$/.test(name) ? [{ pid: Number(name), parent: of('PPid'), kb: of('VmRSS'), isAgent }] : [];
    } catch {
      return [];
    }
  });
  const family = new Set([root]);
  for (let grown = true; grown; ) {
    const before = family.size;
    for (const { pid, parent } of all) if (family.has(parent)) family.add(pid);
    grown = family.size > before;
  }
  const mine = all.filter(({ pid }) => family.has(pid));
  return {
    mb: Math.round(mine.reduce((sum, { kb }) => sum + kb, 0) / 1024),
    agents: mine.filter(({ isAgent }) => isAgent).length,
  };
}
