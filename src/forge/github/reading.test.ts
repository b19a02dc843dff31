/** However much there is to read, and whatever is wrong with a part of it, the rest is read. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { reportCheck } from '../../../test/support/github/check-routes.ts';
import { says } from '../../../test/support/github/error-texts.ts';
import { LIMITS } from '../../../test/support/github/faults.ts';
import { createLag } from '../../../test/support/github/lag.ts';
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
    const readyAt = s.clock.at;
    s.clock.at += 1000;
    const noise = { event: 'labeled', actor: 'mallory', at: s.clock.at, label: 'noise' };
    for (let n = 0; n < 250; n++) timeline.push({ id: world().nextId(), ...noise });
    expect(await s.forge.issue(number)).toMatchObject({ readyAt });
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

describe('a query that is too much for GitHub', () => {
  const queries = (): number => s.github.requests.filter(({ path }) => path === '/graphql').length;
  const manyPulls = async (forge: Forge): Promise<number[]> => {
    const { number } = await openPull(forge);
    const [pull, issue] = [pullRow(number), world().issues.get(number)!];
    const numbers = Array.from({ length: 20 }, (_, n) => number + n);
    for (const n of numbers.slice(1)) world().issues.set(n, { ...issue, number: n, pull: { ...pull } });
    for (const n of numbers) await forge.pull(n);
    s.clock.at += 10_000;
    return numbers;
  };
  const readyIssues = async (count: number): Promise<number[]> => {
    const numbers = [];
    for (let n = 0; n < count; n++) {
      numbers.push(await s.people.createIssue({ title: `${n}`, body: 'B' }));
      await s.people.makeReady(numbers.at(-1)!);
    }
    return numbers;
  };

  test.each(['partly', 'late', 'wrong'] as const)(
    'is asked in halves, where GitHub ends it %s',
    async (ends) => {
      const forge = await s.open({ freshMs: 5000 });
      const numbers = await manyPulls(forge);
      world().heaviest = { most: 10, ends };
      s.github.requests.length = 0;
      for (const n of numbers) expect((await forge.pull(n))?.state).toBe('open');
      // The whole, whether GitHub answers at all where it did not say, and two halves.
      expect(queries()).toBe(ends === 'partly' ? 3 : 4);
    },
  );

  test.each(['partly', 'late'] as const)(
    'costs the others nothing where one is too much by itself, %s, and is asked alone from then on',
    async (ends) => {
      const forge = await s.open({ freshMs: 5000 });
      const numbers = await manyPulls(forge);
      const heavy = numbers[7]!;
      world().heaviest = { most: 30, weights: { [heavy]: 31 }, ends };
      for (const n of numbers.filter((one) => one !== heavy))
        expect((await forge.pull(n))?.state).toBe('open');
      const problem = await failure(forge.pull(heavy));
      expect(problem).toBeInstanceOf(ForgeUnavailable);
      expect(problem.message).toContain(`pull request #${heavy} can't be read`);
      s.clock.at += 10_000;
      s.github.requests.length = 0;
      await failure(forge.pull(heavy));
      expect(queries()).toBeLessThan(5);
      world().heaviest = null;
      expect((await forge.pull(heavy))?.state).toBe('open');
    },
  );

  it('is no reason to ask for each alone where GitHub answers nothing', async () => {
    const forge = await s.open({ freshMs: 5000 });
    const [first] = await manyPulls(forge);
    s.github.faults.add({ path: /graphql/, how: { kind: 'answer', status: 502 }, times: 1000 });
    s.github.requests.length = 0;
    expect((await failure(forge.pull(first!))).message).toMatch(/did not answer .*502/);
    expect(queries()).toBeLessThan(3);
  });

  test.each(['partly', 'late'] as const)('is asked in halves for histories, too: %s', async (ends) => {
    const [one, two, three] = await readyIssues(3);
    world().heaviest = { most: 2, ends };
    expect((await s.forge.openIssues()).map(({ number }) => number)).toEqual([one, two, three]);
    for (const issue of await s.forge.openIssues()) expect(issue.readyHash).toBe(issue.textHash);
  });

  test.each(['partly', 'late'] as const)(
    'leaves one issue unproved, the others are read: %s',
    async (ends) => {
      const [one, two] = await readyIssues(2);
      world().heaviest = { most: 2, weights: { [two!]: 3 }, ends };
      expect(await s.forge.openIssues()).toMatchObject([
        { number: one, readyHash: expect.any(String) },
        { number: two, readyHash: null, unproved: { why: expect.stringContaining('too much') } },
      ]);
      world().heaviest = null;
      s.clock.at += 60_000;
      const [, again] = await s.forge.openIssues();
      expect(again?.readyHash).toBe(again?.textHash);
    },
  );
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

  it('is the rest of one pull request of several: the others are read, it is an error by itself', async () => {
    const forge = await s.open({ freshMs: 5000 });
    const [one, other] = [await openPull(forge), await openPull(forge, 'loop/8-b')];
    for (const { number } of [one, other]) await forge.pull(number);
    const words = { user: 'ada', body: 'x', at: s.clock.at, editedAt: null };
    for (let n = 0; n < 101; n++)
      world()
        .issues.get(other.number)!
        .comments.push({ id: world().nextId(), ...words });
    // Only what follows the first page has no alias.
    garble(/graphql/, (key, value) => (key === 'pullRequest' ? null : value));
    s.clock.at += 10_000;
    expect((await forge.pull(one.number))?.state).toBe('open');
    const problem = await failure(forge.pull(other.number));
    expect(problem).toBeInstanceOf(ForgeUnavailable);
    expect(problem.message).toContain(`pull request #${other.number} can't be read`);
    expect(warnings).toEqual([problem.message]);
  });

  it('is the rest of the checks of a pull request: it is an error by itself', async () => {
    const { sha, number } = await openPull();
    for (let n = 0; n < 101; n++) reportCheck(world(), { sha, name: `check ${n}` });
    garble(/graphql/, (key, value) => (key === 'pullRequest' ? null : value));
    const { message } = await failure(s.forge.pull(number));
    expect(message).toContain(`pull request #${number} can't be read`);
  });

  it('is the rest of the labels of one issue of several: that one waits, the others are read', async () => {
    const [one, other] = [
      await s.people.createIssue({ title: 'One', body: 'B' }),
      await s.people.createIssue({ title: 'Other', body: 'B' }),
    ];
    for (const number of [one, other]) await s.people.makeReady(number);
    const noise = { event: 'labeled', actor: 'mallory', at: s.clock.at, label: 'noise' };
    const { timeline } = world().issues.get(other)!;
    for (let n = 0; n < 101; n++) timeline.push({ id: world().nextId(), ...noise });
    garble(/graphql/, (key, value) => (key === 'issue' ? null : value));
    const [read, waits] = await s.forge.openIssues();
    expect(read).toMatchObject({ number: one, readyHash: read!.textHash });
    expect(waits).toMatchObject({ number: other, readyHash: null, unproved: { until: expect.any(Number) } });
    expect(warnings).toEqual([expect.stringContaining(`history of issue #${other} can't be read`)]);
  });

  it('is one issue of a list: it is left out and logged, the others are listed, it is an error by its number (symphony 9)', async () => {
    const [first, second] = [
      await s.people.createIssue({ title: 'One', body: 'B' }),
      await s.people.createIssue({ title: 'Two', body: 'B' }),
    ];
    garble(/issues/, (key, value) => (key === 'title' && value === 'One' ? null : value));
    expect((await s.forge.openIssues()).map(({ number }) => number)).toEqual([second]);
    expect(warnings).toEqual([expect.stringMatching(/GET .*issues has a row .*left out: title/)]);
    expect((await failure(s.forge.issue(first))).message).toContain("can't be read: title");
  });

  it('is one pull request: commands are heard everywhere else, and there once it can be read', async () => {
    const forge = await s.open({ freshMs: 5000 });
    const [one, other] = [await openPull(forge), await openPull(forge, 'loop/8-b')];
    s.clock.at += 10_000;
    for (const { number } of [one, other])
      await s.grace.post(`/pulls/${number}/reviews`, { event: 'COMMENT', body: `/loop hold ${number}` });
    garble(/graphql/, (key, value) =>
      key === `p${other.number}` ? { ...(value as object), reviews: null } : value,
    );
    const heard = async () => {
      const { remarks, seen } = await forge.commands(since);
      since = seen;
      return remarks.map(({ body }) => body);
    };
    let since = s.clock.at - 60_000;
    expect(await heard()).toEqual([`/loop hold ${one.number}`]);
    const left = [{ what: expect.stringMatching(`#${other.number}.*reviews`), fix: expect.any(String) }];
    expect(await forge.unreadable?.()).toEqual(left);
    // `why` runs in a process that never listens.
    const asked = await s.open();
    await asked.openIssues();
    expect(await asked.unreadable?.()).toEqual(left);
    // It is said later elsewhere, and no change tells that this can be read again.
    s.clock.at += 10_000;
    await s.grace.post(`/pulls/${one.number}/reviews`, { event: 'COMMENT', body: '/loop resume' });
    expect(await heard()).toContain('/loop resume');
    s.github.faults.clear();
    s.clock.at += 60_000;
    expect(await heard()).toContain(`/loop hold ${other.number}`);
    expect(await forge.unreadable?.()).toEqual([]);
  });

  it('is a pull request of the account that is not the loop’s: it is read once, for what it is', async () => {
    const forge = await s.open({ freshMs: 5000 });
    await openPull(forge);
    const { sha } = await forge.trunk();
    const tip = await s.people.commit(sha, { 'b.txt': 'b\n' });
    await s.ada.git(s.root, 'push', '-q', 'origin', `${tip}:refs/heads/mine`);
    const mine = await s.bot.post('/pulls', { title: 'Mine', head: 'mine', base: 'main', body: 'B' });
    s.clock.at += 10_000;
    await forge.commands(0);
    s.clock.at += 10_000;
    garble(/graphql/, (key, value) => (key === `p${mine.number}` ? { nope: 1 } : value));
    await s.grace.post(`/issues/${mine.number}/comments`, { body: '/loop hold' });
    s.clock.at += 10_000;
    expect((await forge.commands(0)).remarks.map(({ body }) => body)).toEqual(['/loop hold']);
    expect(await forge.unreadable?.()).toEqual([]);
  });

  describe('is one of several issues', () => {
    const answer = (status: number, message: string) => ({ kind: 'answer', status, message }) as const;
    const malformed = {
      kind: 'garble',
      change: (key: string, value: unknown) => (key === '' ? { nope: 1 } : value),
    } as const;

    test.each([
      [
        'what blocks it is gone',
        /blocked_by/,
        answer(410, 'This issue was deleted'),
        /This issue was deleted/,
      ],
      ['what blocks it is no list', /blocked_by/, malformed, /it is no list/],
      ['GitHub fails at what blocks it', /blocked_by/, answer(500, 'Server Error'), /did not answer/],
      ['its sub-issues are refused', /sub_issues/, answer(403, 'No way'), /No way/],
      ['its parent is malformed', /issues\/1$/, malformed, /can't be read/],
      ['the role of who labelled it is refused', /grace\/permission/, answer(403, 'Not yours'), /Not yours/],
    ])('where %s: that one waits and says why, the others go on', async (_what, path, how, why) => {
      const parent = await s.people.createIssue({ title: 'Parent', body: 'B' });
      const other = await s.people.createIssue({ title: 'Other', body: 'B' });
      const one = await s.people.createIssue({ title: 'One', body: 'B', blockedBy: [parent] });
      const part = await s.people.createIssue({ title: 'Part', body: 'B' });
      const id = async (number: number) => (await s.ada.get(`/issues/${number}`)).id;
      await s.ada.post(`/issues/${parent}/sub_issues`, { sub_issue_id: await id(one) });
      await s.ada.post(`/issues/${one}/sub_issues`, { sub_issue_id: await id(part) });
      await s.people.makeReady(other);
      await s.grace.post(`/issues/${one}/labels`, { labels: [s.readyLabel] });
      s.clock.at += 10_000;
      s.github.faults.add({ method: 'GET', path, times: 1000, how });
      const issue = async (number: number) =>
        (await s.forge.openIssues()).find((listed) => listed.number === number)!;
      for (const _look of [1, 2]) {
        expect((await issue(one)).unproved?.why).toMatch(why);
        const { readyHash, textHash, unproved } = await issue(other);
        expect([unproved, readyHash]).toEqual([undefined, textHash]);
      }
      s.github.faults.clear();
      s.clock.at += 60_000;
      const { readyHash, textHash, blockedBy, related, unproved } = await issue(one);
      expect([unproved, readyHash, blockedBy]).toEqual([undefined, textHash, [parent]]);
      expect(related?.parent?.number).toBe(parent);
    });

    test.each([
      ['a limit', LIMITS.secondary(90)],
      ['no answer', { kind: 'lose' } as const],
    ])('not where it is %s: GitHub is waited for', async (_what, how) => {
      const blocker = await s.people.createIssue({ title: 'Blocker', body: 'B' });
      await s.people.makeReady(await s.people.createIssue({ title: 'T', body: 'B', blockedBy: [blocker] }));
      s.github.faults.add({ path: /blocked_by/, times: 1000, how });
      expect(await failure(s.forge.openIssues())).toBeInstanceOf(ForgeUnavailable);
    });
  });

  it('is the repository: nothing is said of pull requests then, least of all that they are gone', async () => {
    const { number } = await openPull();
    world().name = 'starship';
    expect((await failure(s.forge.pull(number))).message).toContain('no repository acme/rocket');
  });
});

it.each([
  ['deleted', null],
  ['moved to another repository', 'acme/other#3'],
  ['moved to another repository, where it has the same number', 'acme/other#1'],
])('an issue that was %s is gone, and nothing is said there', async (_, to) => {
  const number = await s.people.createIssue({ title: 'T', body: 'B' });
  await s.people.makeReady(number);
  await s.forge.relabel(number, { add: ['loop:running'], remove: [s.readyLabel] });
  world().issues.delete(number);
  world().gone.set(number, { to });
  if (to !== null) world().elsewhere.set(to, { state: 'open' });
  s.clock.at += 10_000;
  expect(await s.forge.issue(number)).toBeNull();
  const asked = s.github.requests.length;
  await s.forge.ensureComment(number, 'm', 'Merged.');
  await s.forge.relabel(number, { add: ['loop:merged'], remove: ['loop:running'] });
  await s.forge.closeIssue(number);
  expect(s.github.requests.slice(asked).filter(({ method }) => method !== 'GET')).toEqual([]);
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
    const forge = await s.open();
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

it('the checks of a head that queries do not show yet are pending, and those of the head before do not count', async () => {
  const none = { strict: false, approvals: 0, mergeQueue: false };
  world().protections.set('main', { via: 'ruleset', requiredChecks: ['ci'], ...none });
  const { sha, number } = await openPull();
  reportCheck(world(), { sha, name: 'ci' });
  world().copies = createLag(world(), { seed: 1, ms: 9000 });
  const next = await s.people.commit(sha, { 'b.txt': 'b\n' });
  await s.forge.push('loop/7-a', next, sha);
  const at = async (head: string) =>
    (await s.forge.feedback(number))!.checks
      .filter(({ headSha }) => headSha === head)
      .map(({ name, state, required }) => [name, state, required]);
  expect(await at(sha)).toEqual([['ci', 'green', true]]);
  expect(await at(next)).toEqual([['ci', 'pending', true]]);
  reportCheck(world(), { sha: next, name: 'ci' });
  s.clock.at += 9000;
  expect([await at(sha), await at(next)]).toEqual([[], [['ci', 'green', true]]]);
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
  // What GitHub documents, what it was seen to send, and the code that comes with it: see error-texts.ts.
  test.each([
    [{ type: 'RATE_LIMITED' }, false],
    [{ type: 'RATE_LIMITED' }, true],
    [{ type: 'RATE_LIMIT' }, false],
    [{ type: 'RATE_LIMIT' }, true],
    [{ code: 'graphql_rate_limit' }, false],
  ])('GraphQL names one with status 200: %j, paced: %s', async (named, paced) => {
    const forge = await s.open({ paced });
    const { number } = await openPull(forge);
    const reset = Math.floor(s.clock.at / 1000) + 900;
    s.github.faults.add({
      path: /^\/graphql/,
      how: {
        kind: 'answer',
        status: 200,
        body: { errors: [{ ...named, message: says('graphqlLimit', { id: 1 }) }] },
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

  it('a write counts from when it is sent, however long it waited for its turn', async () => {
    const forge = await s.open({ paced: true, writesPerHour: 2 });
    const number = await s.people.createIssue({ title: 'T', body: 'B' });
    await forge.openIssues();
    const label = (name: string) => forge.relabel(number, { add: [name], remove: [] });
    const begun = s.clock.at;
    const { fetch } = globalThis;
    const sending = vi.spyOn(globalThis, 'fetch').mockImplementation((url, init) => {
      const isWrite = String(url).endsWith('/labels') && init?.method === 'POST';
      if (isWrite && s.clock.at === begun) s.clock.at += 1_800_000;
      return fetch(url, init);
    });
    onTestFinished(() => void sending.mockRestore());
    await Promise.all(['a', 'b'].map(label));
    s.clock.at = begun + 3_660_000;
    await label('c');
    expect(await failure(label('d'))).toMatchObject({ retryAt: begun + 1_800_000 + 3_600_000 });
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
