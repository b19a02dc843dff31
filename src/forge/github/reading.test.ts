/** However much there is to read, and whatever is wrong with a part of it, the rest is read. */
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { reportCheck } from '../../../test/support/github/check-routes.ts';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import type { Review } from '../../../test/support/github/world.ts';
import { ForgeUnavailable } from '../../errors.ts';
import type { Forge } from '../forge.ts';

let s: GitHubScratch;
let warnings: string[];
beforeEach(async () => {
  warnings = [];
  s = await githubScratch({ warn: (message) => warnings.push(message) });
});
afterEach(() => s.dispose());

const world = () => s.github.world;
const pullRow = (number: number) => world().issues.get(number)!.pull!;

async function openPull(
  forge: Forge = s.forge,
  branch = 'loop/7-a',
): Promise<{ sha: string; number: number }> {
  const sha = await s.people.commit((await forge.trunk()).sha, { 'a.txt': 'a\n' });
  await forge.push(branch, sha, null);
  const request = { issue: 7, branch, title: 'T', body: 'B', marker: branch };
  return { sha, number: (await forge.ensurePull(request)).number };
}

const failure = (work: Promise<unknown>): Promise<ForgeUnavailable> =>
  work.then(
    () => Promise.reject(new Error('it did not fail')),
    (problem) => problem,
  );

describe('pages', () => {
  it('the 101st issue is seen although the first hundred did not change', async () => {
    for (let n = 1; n <= 100; n++) await s.ada.post('/issues', { title: `${n}`, body: 'B' });
    expect(await s.forge.openIssues()).toHaveLength(100);
    await s.ada.post('/issues', { title: 'the 101st', body: 'B' });
    expect((await s.forge.openIssues()).at(-1)?.title).toBe('the 101st');
    expect(await s.forge.openIssues()).toHaveLength(101);
  });

  it('a required check is seen behind a hundred others', async () => {
    const { sha, number } = await openPull();
    for (let n = 1; n <= 205; n++) reportCheck(world(), { sha, name: `check ${n}` });
    reportCheck(world(), { sha, name: 'last', conclusion: 'failure', app: 'ci' });
    const { checks } = (await s.forge.feedback(number))!;
    expect([checks.length, checks.at(-1)]).toMatchObject([206, { name: 'last', state: 'red' }]);
  });

  it('a rule is seen behind thirty others', async () => {
    const none = { strict: false, approvals: 0, mergeQueue: false, linear: true };
    world().protections.set('main', { via: 'ruleset', requiredChecks: ['build'], ...none });
    world().moreRules = Array.from({ length: 35 }, () => ({ type: 'deletion' }));
    const { number } = await openPull();
    expect((await s.forge.feedback(number))?.checks.map(({ name }) => name)).toEqual(['build']);
  });

  it('whoever made an issue ready is found behind a hundred other labels', async () => {
    const number = await s.people.createIssue({ title: 'T', body: 'B' });
    await s.people.makeReady(number);
    const { timeline } = world().issues.get(number)!;
    const at = s.clock.at + 1000;
    for (let n = 0; n < 250; n++)
      timeline.push({ id: world().nextId(), event: 'labeled', actor: 'mallory', at, label: 'noise' });
    expect(await s.forge.issue(number)).toMatchObject({ readyAt: expect.any(Number) });
    expect(await s.forge.issue(number)).not.toHaveProperty('readyProblem');
  });

  it('reviews, comments, conversations and what is said in them count however many there are', async () => {
    const { sha, number } = await openPull();
    const review = (user: string, state: Review['state']): Review => ({
      id: world().nextId(),
      user,
      state,
      body: 'x',
      commit: sha,
      at: s.clock.at,
    });
    const words = (user: string) => ({
      id: world().nextId(),
      user,
      body: 'x',
      at: s.clock.at,
      editedAt: null,
    });
    const pull = pullRow(number);
    pull.reviews.push(review('grace', 'CHANGES_REQUESTED'));
    for (let n = 0; n < 250; n++) pull.reviews.push(review('ada', 'COMMENTED'));
    for (let n = 0; n < 250; n++) world().issues.get(number)!.comments.push(words('ada'));
    for (let n = 0; n < 130; n++)
      pull.threads.push({
        id: world().nextId(),
        path: 'a.txt',
        line: 1,
        side: 'RIGHT',
        commit: sha,
        resolved: false,
        review: 1,
        comments: Array.from({ length: n === 0 ? 150 : 1 }, () => words('ada')),
      });
    const { remarks } = (await s.forge.feedback(number))!;
    const count = (kind: string) => remarks.filter(({ id }) => id.startsWith(kind)).length;
    expect([count('r'), count('c'), count('t')]).toEqual([251, 250, 279]);
    expect(remarks.filter(({ verdict }) => verdict === 'request_changes')).toHaveLength(1);
  });

  it('a hundred and twenty open pull requests are read in queries that GitHub takes', async () => {
    const forge = await s.open({ freshMs: 5000 });
    const { sha, number } = await openPull(forge);
    const [pull, issue] = [pullRow(number), world().issues.get(number)!];
    for (let n = number + 1; n < number + 120; n++)
      world().issues.set(n, { ...issue, number: n, pull: { ...pull } });
    for (let n = number; n < number + 120; n++) expect((await forge.pull(n))?.state).toBe('open');
    s.clock.at += 10_000;
    s.github.requests.length = 0;
    for (let n = number; n < number + 120; n++) expect((await forge.pull(n))?.headSha).toBe(sha);
    expect(s.github.requests.filter(({ path }) => path === '/graphql')).toHaveLength(6);
    // Nobody asks about the others any more.
    s.clock.at += 660_000;
    s.github.requests.length = 0;
    await forge.pull(number);
    expect(s.github.requests.filter(({ path }) => path === '/graphql')).toHaveLength(1);
  });
});

describe('a part that can’t be read', () => {
  /** From now on, in every answer. */
  const garble = (path: RegExp, change: (key: string, value: unknown) => unknown) =>
    s.github.faults.add({ path, times: Number.POSITIVE_INFINITY, how: { kind: 'garble', change } });

  it('is one comment of many: it is left out, and logged once', async () => {
    const { number } = await openPull();
    for (const text of ['One.', 'Two.', 'Three.'])
      await s.ada.post(`/issues/${number}/comments`, { body: text });
    garble(/graphql/, (key, value) => (key === 'body' && value === 'Two.' ? null : value));
    for (const look of [1, 2]) {
      const { remarks } = (await s.forge.feedback(number))!;
      expect([look, remarks.map(({ body }) => body)]).toEqual([look, ['One.', 'Three.']]);
    }
    expect(warnings).toEqual([expect.stringContaining('left out: body:')]);
  });

  it('is one pull request of several: the others are read, it is an error by itself', async () => {
    const forge = await s.open({ freshMs: 5000 });
    const [one, other] = [await openPull(forge), await openPull(forge, 'loop/8-b')];
    for (const { number } of [one, other]) await forge.pull(number);
    const broken = { isInMergeQueue: null };
    garble(/graphql/, (key, value) =>
      key === `p${other.number}` ? Object.assign(value as object, broken) : value,
    );
    s.clock.at += 10_000;
    expect((await forge.pull(one.number))?.state).toBe('open');
    expect(await failure(forge.pull(other.number))).toBeInstanceOf(ForgeUnavailable);
  });

  it('is one issue of a list: the others are listed, it is an error by its number', async () => {
    const [first, second] = [
      await s.people.createIssue({ title: 'One', body: 'B' }),
      await s.people.createIssue({ title: 'Two', body: 'B' }),
    ];
    garble(/issues/, (key, value) => (key === 'title' && value === 'One' ? null : value));
    expect((await s.forge.openIssues()).map(({ number }) => number)).toEqual([second]);
    expect(warnings).toEqual([expect.stringMatching(/GET .*issues has a row .*left out: title/)]);
    expect((await failure(s.forge.issue(first))).message).toContain("can't be read: title");
  });

  it('is the repository: nothing is said of pull requests then, least of all that they are gone', async () => {
    const { number } = await openPull();
    world().name = 'starship';
    expect((await failure(s.forge.pull(number))).message).toContain('no repository acme/rocket');
  });
});

it('reads ids that are greater than GraphQL’s own numbers', async () => {
  const { number } = await openPull();
  await s.ada.post(`/issues/${number}/comments`, { body: 'Hm.' });
  world().issues.get(number)!.comments[0]!.id = 3_000_000_001;
  expect((await s.forge.feedback(number))?.remarks).toMatchObject([{ id: 'c3000000001' }]);
});

describe('an app’s account, which REST calls name[bot] and GraphQL name', () => {
  it('knows its own words and pull requests, and does not take a person of that name for itself', async () => {
    const { robot, robots } = { robot: 'forge-app[bot]', robots: 'forge-app' };
    s.bot.login = robot;
    for (const token of world().tokens.values()) if (token.login === 'loop-bot') token.login = robot;
    world().users.set(robot, { login: robot, id: 1, type: 'Bot' });
    world().permissions.set(robot, 'write');
    world().users.set(robots, { login: robots, id: 2, type: 'User' });
    const forge = await s.open({ login: async () => robot });
    const { sha, number } = await openPull(forge);
    await forge.approvePull(number, 'ada');
    expect((await forge.pull(number))?.approvals).toEqual([{ by: robot, headSha: sha }]);
    const [own] = world().issues.get(number)!.comments;
    world()
      .issues.get(number)!
      .comments.push({ ...own!, id: world().nextId(), user: robots });
    expect((await forge.pull(number))?.approvals).toHaveLength(1);
    expect((await forge.feedback(number))?.remarks.map(({ author }) => author)).toEqual([robots]);
  });
});

describe('the log of a red job', () => {
  const red = (sha: string) =>
    reportCheck(world(), { sha, name: 'build', conclusion: 'failure', log: 'it broke' });
  const lose = (times: number) =>
    s.github.faults.add({ path: /\/logs$/, how: { kind: 'answer', status: 404 }, times });
  const look = async (number: number) =>
    (await s.forge.feedback(number))!.checks.map(({ state, logTail }) => [state, logTail])[0];

  test.each([
    [
      1,
      [
        ['pending', null],
        ['red', 'it broke'],
        ['red', 'it broke'],
      ],
    ],
    [
      9,
      [
        ['pending', null],
        ['pending', null],
        ['red', null],
        ['red', null],
      ],
    ],
  ])('that is not there for %i looks is waited for a little', async (times, expected) => {
    const { sha, number } = await openPull();
    red(sha);
    lose(times);
    const seen = [];
    for (const _ of expected) seen.push(await look(number));
    expect(seen).toEqual(expected);
  });
});

describe('limits', () => {
  test.each([true, false])('GraphQL names one with status 200, paced: %s', async (paced) => {
    const forge = await s.open({ paced });
    const { number } = await openPull(forge);
    const reset = Math.floor(s.clock.at / 1000) + 900;
    // docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api#exceeding-the-rate-limit
    s.github.faults.add({
      path: /^\/graphql/,
      how: {
        kind: 'answer',
        status: 200,
        body: {
          errors: [{ type: 'RATE_LIMITED', message: 'API rate limit already exceeded for user ID 1.' }],
        },
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(reset) },
      },
    });
    expect((await failure(forge.pull(number))).retryAt).toBe(reset * 1000);
    const asked = s.github.requests.length;
    await failure(forge.pull(number));
    expect(s.github.requests.length).toBe(asked);
    s.clock.at += 900_000;
    expect((await forge.pull(number))?.state).toBe('open');
  });

  it('waiting for our own turn to write is not GitHub’s silence, which is still noticed', async () => {
    const forge = await s.open({ paced: true, patienceMs: 1500 });
    const number = await s.people.createIssue({ title: 'T', body: 'B' });
    const labels = ['a', 'b', 'c', 'd'];
    await forge.openIssues();
    await Promise.all(labels.map((label) => forge.relabel(number, { add: [label], remove: [] })));
    expect(world().issues.get(number)?.labels.toSorted()).toEqual(labels);
    s.github.faults.add({ method: 'POST', path: /labels$/, how: { kind: 'hang' } });
    expect(await failure(forge.relabel(number, { add: ['e'], remove: [] }))).toBeInstanceOf(ForgeUnavailable);
  }, 30_000);
});
