/** What it costs to notice what people do while many pull requests wait for them. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import type { Watched } from '../forge.ts';
import type { GitHubForge } from './github.ts';

const MINUTE_MS = 60_000;
const MANY = 50;

let s: GitHubScratch;
let forge: GitHubForge;
beforeEach(async () => {
  s = await githubScratch({ freshMs: 5000, pollMs: () => MINUTE_MS });
  forge = s.forge;
});
afterEach(() => s.dispose());

async function waiting(sha: string): Promise<Watched> {
  const issue = await s.people.createIssue({ title: 'T', body: 'B' });
  const branch = `loop/${issue}-a`;
  await forge.push(branch, sha, null);
  const { number } = await forge.ensurePull({ issue, branch, title: 'T', body: 'B', marker: branch });
  return { issue, pull: number, branch };
}

async function tick(of: readonly Watched[], ms: number): Promise<(readonly unknown[] | null)[]> {
  s.clock.at += ms;
  await forge.openIssues();
  await forge.commands(s.clock.at - ms);
  await forge.trunk();
  return forge.seen!(of);
}

/** What half an hour of ticks asks of the API and of git, once nothing has happened for a while. */
async function asked(of: readonly Watched[]): Promise<{ api: number; git: number; charged: number }> {
  for (let times = 0; times < 12; times++) await tick(of, 5 * MINUTE_MS);
  const before = s.github.requests.length;
  for (let minute = 0; minute < 30; minute++) expect(await tick(of, MINUTE_MS)).not.toContain(null);
  const all = s.github.requests.slice(before).filter(({ user }) => user === 'loop-bot');
  const api = all.filter(({ path }) => !path.startsWith('git '));
  const charged = api.filter(({ status }) => status !== 304);
  return { api: api.length, git: all.length - api.length, charged: charged.length };
}

it('fifty that wait are asked about in batches, as one is, and a change of one of them is seen', async () => {
  const sha = await s.people.commit((await forge.trunk()).sha, { 'a.txt': 'a\n' });
  const all = [await waiting(sha)];
  const one = await asked(all);
  for (let number = 1; number < MANY; number++) all.push(await waiting(sha));
  const many = await asked(all);
  // Three queries have room for fifty pull requests, and the list of all that is open has a second page.
  expect(many.charged).toBeLessThanOrEqual(3 * one.charged);
  expect(many.api).toBeLessThanOrEqual(2 * one.api);
  expect(many.git).toBe(one.git);

  const before = await forge.seen!(all);
  await s.grace.post(`/issues/${all[7]!.pull}/comments`, { body: 'Hm.' });
  s.clock.at += MINUTE_MS;
  await forge.openIssues();
  const after = await forge.seen!(all);
  const changed = after.flatMap((one, at) => (one!.every((part, n) => part === before[at]![n]) ? [] : [at]));
  expect(changed).toEqual([7]);
}, 300_000);
