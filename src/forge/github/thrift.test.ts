/** What need not be asked of GitHub is not asked, and what has to be known is asked all the same. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reportCheck } from '../../../test/support/github/check-routes.ts';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import type { GitHubForge } from './github.ts';

const MINUTE_MS = 60_000;

let s: GitHubScratch;
let forge: GitHubForge;
beforeEach(async () => {
  s = await githubScratch({ freshMs: 5000, pollMs: () => MINUTE_MS });
  forge = s.forge;
});
afterEach(() => s.dispose());

/** The API's requests during `act`, without the repository's name and queries. */
async function during(act: () => Promise<unknown>): Promise<string[]> {
  const before = s.github.requests.length;
  await act();
  return s.github.requests
    .slice(before)
    .filter(({ user, path }) => user === 'loop-bot' && !path.startsWith('git '))
    .map(({ method, path, mutation }) => {
      const where = path.replace('/repos/acme/rocket', '').replace(/\?.*/, '');
      return mutation ?? `${method} ${where.replace(/[0-9a-f]{40}/, 'SHA')}`;
    });
}

async function openPull(): Promise<{ number: number; sha: string }> {
  const sha = await s.people.commit((await forge.trunk()).sha, { 'a.txt': 'a\n' });
  await forge.push('loop/7-a', sha, null);
  const { number } = await forge.ensurePull({
    ...{ issue: 7, branch: 'loop/7-a', title: 'T', body: 'B', marker: 'm' },
  });
  return { number, sha };
}

/** How many queries it takes to look once a minute. */
async function looks(minutes: number, number: number): Promise<number> {
  const asked = await during(async () => {
    for (let minute = 0; minute < minutes; minute++) {
      s.clock.at += MINUTE_MS;
      await forge.openIssues();
      await forge.pull(number);
      await forge.feedback(number);
    }
  });
  return asked.filter((one) => one === 'POST /graphql').length;
}

it('a change of an issue is not lost when what it means could not be asked', async () => {
  const issue = await s.people.createIssue({ title: 'T', body: 'B' });
  await s.grace.post(`/issues/${issue}/labels`, { labels: ['loop:running'] });
  s.clock.at += MINUTE_MS;
  await forge.openIssues();
  s.clock.at += MINUTE_MS;
  await forge.openIssues();
  await s.grace.post(`/issues/${issue}/labels`, { labels: ['loop:abandon'] });
  s.clock.at += MINUTE_MS;
  // The question, and then whether GitHub answers any.
  s.github.faults.add({ path: /graphql/, how: { kind: 'answer', status: 502 }, times: 2 });
  await expect(forge.openIssues()).rejects.toThrow();
  s.clock.at += MINUTE_MS;
  const [seen] = await forge.openIssues();
  expect(seen?.labels).toContain('loop:abandon');
});

it('a look uses the list that something else asked for a moment ago, and asks itself where that was longer ago', async () => {
  const issue = await s.people.createIssue({ title: 'T', body: 'B' });
  await forge.openIssues();
  const asked = async (afterMs: number, act: () => Promise<unknown>): Promise<number> => {
    s.clock.at += afterMs;
    return (await during(act)).filter((one) => one === 'GET /issues').length;
  };
  const other = () => forge.issue(issue);
  expect(await asked(MINUTE_MS - 8000, other)).toBe(1);
  expect(await asked(8000, forge.openIssues)).toBe(0);
  expect(await asked(MINUTE_MS, forge.openIssues)).toBe(1);
  expect(await asked(20_000, other)).toBe(1);
  expect(await asked(20_000, other)).toBe(1);
  expect(await asked(20_000, forge.openIssues)).toBe(1);
});

describe('labels', () => {
  const swap = (issue: number) =>
    during(() => forge.relabel(issue, { add: ['loop:running'], remove: ['loop:ready'] }));

  it('are swapped in one request, and what somebody added meanwhile stays', async () => {
    const issue = await s.people.createIssue({ title: 'T', body: 'B' });
    await s.people.makeReady(issue);
    await forge.issue(issue);
    await s.grace.post(`/issues/${issue}/labels`, { labels: ['theirs'] });
    expect(await swap(issue)).toEqual(['addLabelsToLabelable + removeLabelsFromLabelable']);
    expect(s.github.world.issues.get(issue)!.labels.sort()).toEqual(['loop:running', 'theirs']);
    expect((await forge.issue(issue))?.labels.sort()).toEqual(['loop:running', 'theirs']);
  });

  it('are swapped in one request also where one is written in other letters', async () => {
    const issue = await s.people.createIssue({ title: 'T', body: 'B' });
    await s.people.makeReady(issue);
    const { labels } = s.github.world;
    labels.set('loop:running', { ...labels.get('loop:running')!, name: 'Loop:Running' });
    expect((await swap(issue)).at(-1)).toBe('addLabelsToLabelable + removeLabelsFromLabelable');
    expect((await forge.issue(issue))?.labels).toEqual(['Loop:Running']);
  });

  it.each(['does not exist yet', 'was made anew', 'can’t be set that way'])(
    'are set one by one where one %s',
    async (how) => {
      const issue = await s.people.createIssue({ title: 'T', body: 'B' });
      await s.people.makeReady(issue);
      const { labels } = s.github.world;
      if (how === 'does not exist yet') labels.delete('loop:running');
      if (how === 'can’t be set that way')
        s.github.faults.add({
          path: /addLabels/,
          how: { kind: 'errors', errors: [{ type: 'FORBIDDEN', message: 'no' }] },
        });
      if (how === 'was made anew') {
        const other = await s.people.createIssue({ title: 'U', body: 'B' });
        await s.people.makeReady(other);
        await swap(other);
        labels.set('loop:running', { ...labels.get('loop:running')!, id: 4711 });
      }
      expect(await swap(issue)).toContain(`POST /issues/${issue}/labels`);
      expect(s.github.world.issues.get(issue)!.labels).toEqual(['loop:running']);
    },
  );
});

describe('the history of an issue in hand', () => {
  it('is not read again for what is said on it, and is for another text, another label, and before a merge', async () => {
    const issue = await s.people.createIssue({ title: 'T', body: 'agreed' });
    await s.people.makeReady(issue);
    await forge.issue(issue);
    await forge.relabel(issue, { add: ['loop:running'], remove: ['loop:ready'] });
    const histories = (act: () => Promise<unknown>) =>
      during(async () => {
        s.clock.at += MINUTE_MS;
        await act();
        s.clock.at += MINUTE_MS;
        await forge.issue(issue);
      }).then((asked) => asked.filter((one) => one === 'POST /graphql').length);
    expect(await histories(async () => {})).toBe(1);
    expect(await histories(() => s.people.comment(issue, 'How is it going?'))).toBe(0);
    expect(await histories(() => s.people.editBody(issue, 'more'))).toBe(1);
    expect((await forge.issue(issue))?.readyHash).toBe('edited since it was made ready');
    expect(await histories(() => s.people.makeReady(issue))).toBe(1);
    await s.ada.delete(`/issues/${issue}/labels/loop:ready`);
    expect(await histories(async () => {})).toBe(1);
    expect(await histories(async () => {})).toBe(0);
    expect(await histories(async () => forge.doubt?.())).toBe(1);
  });
});

describe('comments', () => {
  const heard = async (ms = MINUTE_MS): Promise<{ asked: number; said: string[] }> => {
    s.clock.at += ms;
    forge.forget?.();
    let said: string[] = [];
    const asked = await during(async () => {
      said = (await forge.commands(0)).remarks.map(({ body }) => body);
    });
    return { asked: asked.filter((one) => one === 'GET /issues/comments').length, said };
  };

  it('are looked for when something was said, once more where they may be late, and not again', async () => {
    const issue = await s.people.createIssue({ title: 'T', body: 'B' });
    for (let n = 0; n < 3; n++) await heard();
    await s.people.comment(issue, '/loop pause');
    for (const asked of [1, 0]) expect((await heard()).asked).toBe(asked);
    await s.people.comment(issue, 'And?');
    for (const asked of [1, 0, 1, 0]) expect((await heard(4000)).asked).toBe(asked);
    await forge.addComment(issue, 'the operator', '/loop resume');
    expect((await heard()).said).toEqual(['/loop pause', '/loop resume']);
  });
});

describe('a pull request to which nothing happens', () => {
  it('is asked about less and less often while CI is awaited, and at once when a person did something', async () => {
    const { number, sha } = await openPull();
    expect(await looks(10, number)).toBeGreaterThanOrEqual(9);
    expect(await looks(50, number)).toBeLessThanOrEqual(20);
    await s.grace.post(`/pulls/${number}/reviews`, { event: 'APPROVE', commit_id: sha });
    expect(await looks(1, number)).toBe(1);
    expect((await forge.pull(number))?.approvals).toEqual([{ by: 'grace', headSha: sha }]);
    reportCheck(s.github.world, { sha, name: 'ci', conclusion: 'success' });
    await looks(2, number);
    expect((await forge.feedback(number))?.checks).toMatchObject([{ name: 'ci', state: 'green' }]);
  });

  it('is asked about anew for a merge, and when GitHub reports that something happened', async () => {
    const { number, sha } = await openPull();
    await looks(60, number);
    reportCheck(s.github.world, { sha, name: 'ci', conclusion: 'failure' });
    forge.forget?.();
    expect((await forge.feedback(number))?.checks).toMatchObject([{ name: 'ci', state: 'red' }]);
  });
});

describe('what a merge rests on', () => {
  it('is read anew for it, the rules of the branch too, which a report of something else leaves as they were', async () => {
    const { number } = await openPull();
    const awaited = async () => (await forge.feedback(number))?.checks.map(({ name }) => name);
    expect(await awaited()).toEqual([]);
    s.github.world.protections.set('main', {
      ...{ via: 'ruleset', requiredChecks: ['ci'], strict: false, approvals: 0, mergeQueue: false },
    });
    forge.forget?.();
    expect(await awaited()).toEqual([]);
    forge.doubt?.();
    expect(await awaited()).toEqual(['ci']);
  });

  it('is forgotten some time after the merge', async () => {
    const { number, sha } = await openPull();
    await forge.pull(number);
    const { sha: trunk } = await forge.trunk();
    const built = await forge.buildCandidate({
      ...{ headSha: sha, baseSha: trunk, method: 'squash', message: 'm', task: 't' },
    });
    if (built.kind !== 'clean') throw new Error(built.kind);
    await forge.land(number, built.candidate);
    const queries = async () => (await during(() => forge.pull(number))).length;
    expect(await queries()).toBe(0);
    s.clock.at += 11 * MINUTE_MS;
    await forge.pull(number + 1);
    expect(await queries()).toBe(1);
  });
});

describe('a query that is late', () => {
  /** Queries answer as of now, until what this returns is called. */
  const delay = (): (() => void) => {
    const { world } = s.github;
    const { issues, statuses, checks } = world;
    const then = { ...world, ...structuredClone({ issues, statuses, checks }) };
    world.copies = { keep() {}, seen: (reader) => (reader === 'query' ? then : world) };
    return () => {
      world.copies = null;
    };
  };

  it('does not make a new pull request one that is not there: its review is posted later', async () => {
    const catchUp = delay();
    const { number, sha } = await openPull();
    const review = { marker: 'r', headSha: sha, verdict: 'APPROVE', body: 'Fine.', comments: [] };
    const late = `GitHub's queries do not show pull request #${number} yet.`;
    await expect(forge.postReview(number, review)).rejects.toThrow(late);
    catchUp();
    await forge.postReview(number, review);
    expect(s.github.world.issues.get(number)!.pull!.reviews).toHaveLength(1);
  });

  it('does not say of a new pull request that nobody wants anything of it', async () => {
    const catchUp = delay();
    const { number, sha } = await openPull();
    const late = `GitHub's queries do not show pull request #${number} yet.`;
    await expect(forge.pull(number)).rejects.toThrow(late);
    await expect(forge.feedback(number)).rejects.toThrow(late);
    expect(await forge.feedback(99)).toBeNull();
    reportCheck(s.github.world, { sha, name: 'ci', conclusion: 'success' });
    catchUp();
    expect(await forge.feedback(number)).toMatchObject({ checks: [{ name: 'ci', state: 'green' }] });
  });

  it('is asked again after what a delivery reported, however long nothing happened before', async () => {
    const { number, sha } = await openPull();
    await looks(60, number);
    const catchUp = delay();
    reportCheck(s.github.world, { sha, name: 'ci', conclusion: 'failure' });
    forge.forget?.();
    expect((await forge.feedback(number))?.checks).toEqual([]);
    catchUp();
    await looks(1, number);
    expect((await forge.feedback(number))?.checks).toMatchObject([{ name: 'ci', state: 'red' }]);
  });
});

describe('what was just made', () => {
  it('is not looked for first: a pull request of a new branch, a status of a new commit or review', async () => {
    const sha = await s.people.commit((await forge.trunk()).sha, { 'a.txt': 'a\n' });
    await forge.push('loop/7-a', sha, null);
    expect(await during(() => forge.showVerified!(sha))).toEqual(['POST /statuses/SHA']);
    const wanted = { issue: 7, branch: 'loop/7-a', title: 'T', body: 'B', marker: 'm' };
    expect(await during(() => forge.ensurePull(wanted))).toEqual(['POST /pulls']);
    const review = { marker: 'r', headSha: sha, verdict: 'APPROVE', body: 'Fine.', comments: [] };
    const asked = await during(() => forge.postReview(1, review));
    expect(asked.filter((one) => one !== 'GET /user')).toEqual([
      ...['POST /graphql', 'POST /pulls/1/reviews', 'POST /statuses/SHA'],
    ]);
  });

  describe('a comment on an issue that is taken up', () => {
    const say = (each: GitHubForge, issue: number) =>
      during(() => each.ensureComment(issue, 'status', 'At work')).then((asked) =>
        asked.filter((one) => one.endsWith('/comments')),
      );
    const [LOOK, SAY] = ['GET /issues/1/comments', 'POST /issues/1/comments'];
    const takeUp = async (): Promise<number> => {
      const issue = await s.people.createIssue({ title: 'T', body: 'B' });
      await s.people.makeReady(issue);
      await forge.relabel(issue, { add: ['loop:running'], remove: ['loop:ready'] });
      return issue;
    };

    it('is not looked for where nobody has said anything yet', async () => {
      const issue = await takeUp();
      s.clock.at += MINUTE_MS;
      expect(await say(forge, issue)).toEqual([SAY]);
    });

    it('is looked for where somebody has, and where the list is older than that', async () => {
      const issue = await takeUp();
      const other = await s.reopen();
      await say(other, issue);
      expect(await say(forge, issue)).toEqual([LOOK]);
      s.clock.at += MINUTE_MS;
      await s.people.comment(issue, 'Any news?');
      expect(await say(await s.reopen(), issue)).toEqual([LOOK]);
      expect(s.github.world.issues.get(issue)!.comments).toHaveLength(2);
    });

    it('is looked for in another process, and after a lost answer', async () => {
      const issue = await takeUp();
      const other = await s.reopen();
      await other.openIssues();
      s.clock.at += MINUTE_MS;
      await forge.openIssues();
      s.github.faults.add({ method: 'POST', path: /\/comments$/, how: { kind: 'lose' } });
      await expect(say(forge, issue)).rejects.toThrow();
      expect(await say(forge, issue)).toEqual([LOOK]);
      expect(await say(other, issue)).toEqual([LOOK]);
      expect(s.github.world.issues.get(issue)!.comments).toHaveLength(1);
    });
  });

  it('is looked for after a lost answer, also where a person closed it meanwhile', async () => {
    const sha = await s.people.commit((await forge.trunk()).sha, { 'a.txt': 'a\n' });
    await forge.push('loop/7-a', sha, null);
    const wanted = { issue: 7, branch: 'loop/7-a', title: 'T', body: 'B', marker: 'm' };
    s.github.faults.add({ method: 'POST', path: /\/pulls$/, how: { kind: 'lose' } });
    await expect(forge.ensurePull(wanted)).rejects.toThrow();
    await s.ada.patch('/pulls/1', { state: 'closed' });
    expect(await forge.ensurePull(wanted)).toMatchObject({ number: 1, state: 'closed' });
  });

  it('is looked for when it may have been made before: in another process, or by an answer that was lost', async () => {
    const { number, sha } = await openPull();
    await forge.showVerified!(sha);
    const review = { marker: 'r', headSha: sha, verdict: 'APPROVE', body: 'Fine.', comments: [] };
    for (const path of [/\/reviews$/, /\/statuses\//]) {
      s.github.faults.add({ method: 'POST', path, how: { kind: 'lose' } });
      await expect(forge.postReview(number, review)).rejects.toThrow();
    }
    const other = await s.reopen();
    for (const each of [forge, other]) {
      await each.push('loop/7-a', sha, sha);
      await each.showVerified!(sha);
      await each.ensurePull({ issue: 7, branch: 'loop/7-a', title: 'T', body: 'B', marker: 'm' });
      await each.postReview(number, review);
    }
    const { issues, statuses } = s.github.world;
    expect([...issues.values()].map((one) => one.pull?.reviews.length)).toEqual([1]);
    expect(statuses.map(({ context }) => context)).toEqual(['forge-loop/gate', 'forge-loop/critic']);
  });
});
