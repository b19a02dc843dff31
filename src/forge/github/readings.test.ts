/** What agents read of GitHub: how much is asked for it, of whom it is, and that it is of this repository alone. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import { ForgeUnavailable } from '../../errors.ts';

const HOUR_MS = 3_600_000;

let s: GitHubScratch;
beforeEach(async () => {
  s = await githubScratch();
});
afterEach(() => s.dispose());

async function requestsOf(act: () => Promise<unknown>): Promise<string[]> {
  const before = s.github.requests.length;
  await act();
  return s.github.requests.slice(before).map(({ method, path }) => `${method} ${path}`);
}

async function openPull(): Promise<number> {
  const sha = await s.people.commit((await s.forge.trunk()).sha, { 'a.txt': 'a\n' });
  await s.forge.push('loop/7-a', sha, null);
  const pull = { issue: 7, branch: 'loop/7-a', title: 'Teal buttons', body: 'B', marker: 'm' };
  return (await s.forge.ensurePull(pull)).number;
}

it('each is one request; a search is told the repository’s name besides, once in a while', async () => {
  const pull = await openPull();
  const issue = await s.people.createIssue({ title: 'Teal', body: 'B' });
  const once = ['POST /graphql'];
  expect(await requestsOf(() => s.forge.readIssue(issue))).toEqual(once);
  expect(await requestsOf(() => s.forge.readPull(pull))).toEqual(once);
  await s.forge.search('teal');
  expect(await requestsOf(() => s.forge.search('teal'))).toEqual(once);
  expect(await requestsOf(async () => s.forge.requestsLeft?.())).toEqual([]);
});

it('tells what each author is to the repository', async () => {
  const issue = Number((await s.mallory.post('/issues', { title: 'T', body: 'B' })).number);
  await s.grace.post(`/issues/${issue}/comments`, { body: 'Yes.' });
  expect(await s.forge.readIssue(issue)).toMatchObject({
    author: 'mallory',
    association: 'none',
    comments: { shown: [{ author: 'grace', association: 'collaborator', text: 'Yes.' }] },
  });
});

it('a pull request is no issue, and an issue no pull request', async () => {
  const pull = await openPull();
  const issue = await s.people.createIssue({ title: 'T', body: 'B' });
  expect(await s.forge.readIssue(pull)).toBeNull();
  expect(await s.forge.readPull(issue)).toBeNull();
});

it('nothing of another repository is shown, whatever the answer holds', async () => {
  const issue = await s.people.createIssue({ title: 'Teal', body: 'B' });
  const pull = await openPull();
  const moved = (key: string, value: unknown) =>
    key === 'found' && value !== null ? { ...(value as object), repository: { id: 'R_other' } } : value;
  for (const ask of [() => s.forge.readIssue(issue), () => s.forge.readPull(pull)]) {
    s.github.faults.add({ path: /^\/graphql/, how: { kind: 'garble', change: moved } });
    expect(await ask()).toBeNull();
    expect(await ask()).not.toBeNull();
  }
  const elsewhere = (key: string, value: unknown) => (key === 'nameWithOwner' ? 'acme/secret' : value);
  s.github.faults.add({ path: /^\/graphql/, how: { kind: 'garble', change: elsewhere } });
  expect(await s.forge.search('teal')).toEqual({ shown: [], total: 0 });
  expect((await s.forge.search('teal')).total).toBe(2);
});

it('a search goes by the name that the repository has today', async () => {
  const number = await s.people.createIssue({ title: 'Teal', body: 'B' });
  s.github.world.formerNames.push('acme/rocket');
  s.github.world.name = 'shuttle';
  expect((await s.forge.search('teal')).shown).toMatchObject([{ number }]);
});

it('checks that this token may not read are not shown, and counted', async () => {
  const pull = await openPull();
  await s.people.reportCheck(pull, { name: 'build', state: 'green' });
  s.github.world.tokens.get(s.bot.token)!.lacks = ['checks=read'];
  expect((await s.forge.readPull(pull))?.checks).toEqual({ shown: [], total: 1 });
});

it('a forge that is down says so, and is asked once', async () => {
  s.github.faults.add({ path: /^\/graphql/, how: { kind: 'answer', status: 502 }, times: 2 });
  const asked = await requestsOf(() => expect(s.forge.readIssue(1)).rejects.toBeInstanceOf(ForgeUnavailable));
  expect(asked).toHaveLength(1);
});

describe('what is left', () => {
  it('is told by GitHub with every answer, until it resets', async () => {
    s.github.limit = { remaining: 901, resetAt: s.clock.at + 60_000 };
    await s.forge.openIssues();
    const left = { left: 900, of: 5000, until: s.clock.at + 60_000 };
    expect(s.forge.requestsLeft?.()).toEqual(left);
    s.clock.at += 60_000;
    expect(s.forge.requestsLeft?.()).not.toEqual(left);
  });

  it('is what the loop’s own budget leaves, where that is less', async () => {
    const forge = await s.open({ requestsPerHour: 10 });
    for (let n = 0; n < 9; n++) await forge.readIssue(4000 + n);
    expect(forge.requestsLeft?.()).toEqual({ left: 1, of: 10, until: s.clock.at + HOUR_MS });
    s.clock.at += HOUR_MS;
    expect(forge.requestsLeft?.()).toMatchObject({ left: 10 });
  });

  it('is nothing while GitHub asks to wait', async () => {
    s.github.faults.add({ how: { kind: 'answer', status: 429, headers: { 'retry-after': '30' } } });
    await expect(s.forge.openIssues()).rejects.toBeInstanceOf(ForgeUnavailable);
    expect(s.forge.requestsLeft?.()).toMatchObject({ left: 0, until: s.clock.at + 30_000 });
  });
});
