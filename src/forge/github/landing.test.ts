/** What GitHub answers to a merge, and what follows: it landed, it waits, it is brought up to trunk, or a person is asked. */
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { reportCheck } from '../../../test/support/github/check-routes.ts';
import { outOfQueue, runMergeQueue } from '../../../test/support/github/merging.ts';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import type { Protection } from '../../../test/support/github/world.ts';
import type { Candidate } from '../../core/event.ts';
import type { Forge } from '../forge.ts';

let s: GitHubScratch;
beforeEach(async () => {
  s = await githubScratch();
});
afterEach(() => s.dispose());

const protect = (rules: Partial<Protection>): void =>
  void s.github.world.protections.set('main', {
    ...{ via: 'ruleset', requiredChecks: [], strict: false, approvals: 0, mergeQueue: false },
    ...rules,
  });

async function openPull(name = 'a', forge: Forge = s.forge) {
  const sha = await s.people.commit((await forge.trunk()).sha, { [`${name}.txt`]: `${name}\n` });
  await forge.push(`loop/7-${name}`, sha, null);
  const pull = { issue: 7, branch: `loop/7-${name}`, title: 'T', body: 'B', marker: name };
  return { sha, number: (await forge.ensurePull(pull)).number };
}

const build = async (headSha: string, forge: Forge = s.forge) =>
  forge.buildCandidate({
    ...{ headSha, baseSha: (await forge.trunk()).sha, method: 'squash', message: 'Add it', task: 't1' },
  });
async function candidateFor(headSha: string): Promise<Candidate> {
  const built = await build(headSha);
  if (built.kind !== 'clean') throw new Error(built.kind);
  return built.candidate;
}
const refuses = (status: number, message: string) =>
  s.github.faults.add({ method: 'PUT', path: /merge$/, how: { kind: 'answer', status, message } });
const merges = () => s.github.requests.filter(({ path }) => path.endsWith('/merge')).length;

describe('a branch that takes only heads with today’s trunk in them, which this account may not read', () => {
  test.each([[['ci']], [['ci', 'lint']]])('required: %s', async (requiredChecks) => {
    protect({ via: 'protection', strict: true, requiredChecks });
    const [one, two] = [await openPull('one'), await openPull('two')];
    for (const { sha } of [one, two])
      for (const name of requiredChecks) reportCheck(s.github.world, { sha, name, conclusion: 'success' });
    expect((await s.forge.land(one.number, await candidateFor(one.sha))).kind).toBe('landed');

    const candidate = await candidateFor(two.sha);
    const trunk = (await s.forge.trunk()).sha;
    expect(await s.forge.land(two.number, candidate)).toEqual({ kind: 'behind', trunk });
    expect(await build(two.sha), 'it is known from now on').toEqual({ kind: 'behind', trunk });

    const updated = await s.people.commit(trunk, { 'two.txt': 'two\n' });
    await s.forge.push('loop/7-two', updated, two.sha);
    for (const name of requiredChecks)
      reportCheck(s.github.world, { sha: updated, name, conclusion: 'success' });
    expect((await s.forge.land(two.number, await candidateFor(updated))).kind).toBe('landed');
  });

  it('is known by the words where the state is not computed yet', async () => {
    const two = await openPull('two');
    await s.people.pushCommit('main', { 'x.txt': 'x\n' });
    const candidate = await candidateFor(two.sha);
    refuses(409, 'Head branch is out of date. Review and try the merge again.');
    expect(await s.forge.land(two.number, candidate)).toMatchObject({ kind: 'behind' });
  });

  it('is no reason to update a head that has it: GitHub is late', async () => {
    const { sha, number } = await openPull();
    refuses(409, 'Head branch is out of date. Review and try the merge again.');
    expect(await s.forge.land(number, await candidateFor(sha))).toMatchObject({
      kind: 'refused',
      passing: true,
    });
  });
});

describe('a refusal', () => {
  /** With where each was seen. */
  test.each<[string, number, string, boolean]>([
    // https://github.com/cli/cli/pull/12748
    ['a base that was modified', 405, 'Base branch was modified. Review and try the merge again.', true],
    // https://docs.github.com/rest/guides/using-the-rest-api-to-interact-with-your-git-database
    ['mergeability that is not computed yet', 405, 'Pull Request is not mergeable', true],
    // https://github.com/akuity/kargo/issues/6397
    [
      'a check that is not reported yet',
      405,
      'Repository rule violations found\n\nRequired status check "ci" is expected.',
      true,
    ],
    ['a check that is in progress', 405, 'Required status check "ci" is in progress.', true],
    // https://docs.github.com/rest/pulls/pulls#merge-a-pull-request
    ['a head that GitHub sees late', 409, 'Head branch was modified. Review and try the merge again.', true],
    ['a token without the right', 403, 'Resource not accessible by personal access token', false],
    ['a request that makes no sense', 422, 'Validation Failed', false],
  ])('%s', async (_what, status, message, passing) => {
    const { sha, number } = await openPull();
    const candidate = await candidateFor(sha);
    refuses(status, message);
    const answer = await s.forge.land(number, candidate);
    expect(answer).toMatchObject({
      kind: 'refused',
      detail: expect.stringContaining(message),
      ...(passing ? { passing } : {}),
    });
    expect('passing' in answer).toBe(passing);
    expect('detail' in answer && answer.detail, 'one full stop').toMatch(/[^.]\.$/);
    expect((await s.forge.land(number, candidate)).kind).toBe('landed');
  });

  /** GitHub's words: https://github.com/github/gh-aw/issues/35726. */
  const forbids = (mutation: string) =>
    s.github.faults.add({
      path: new RegExp(`graphql mutation ${mutation}`),
      how: { kind: 'errors', errors: [{ type: 'FORBIDDEN', message: FORBIDDEN }] },
    });
  const FORBIDDEN = 'Resource not accessible by integration';

  it('to take it out of draft may pass, too', async () => {
    const forge = await s.open({ drafts: true });
    const { sha, number } = await openPull('a', forge);
    const candidate = await candidateFor(sha);
    forbids('markPullRequestReadyForReview');
    expect(await forge.land(number, candidate)).toEqual({
      kind: 'refused',
      detail: FORBIDDEN,
      passing: true,
    });
    expect((await forge.land(number, candidate)).kind).toBe('landed');
  });

  it('to resolve a conversation of ours keeps nothing from being merged', async () => {
    protect({ resolvedThreads: true });
    const warnings: string[] = [];
    const forge = await s.open({ warn: (message) => warnings.push(message) });
    const { sha, number } = await openPull();
    const comments = [{ file: 'a.txt', line: 1, body: 'Why?' }];
    const review = { marker: 'r', headSha: sha, verdict: 'REQUEST_CHANGES', body: 'No.', comments };
    await forge.postReview(number, review);
    const candidate = await candidateFor(sha);
    forbids('resolveReviewThread');
    const words = 'A conversation must be resolved before this pull request can be merged.';
    expect(await forge.land(number, candidate)).toMatchObject({
      kind: 'refused',
      detail: expect.stringContaining(words),
      passing: true,
    });
    expect(warnings).toEqual([expect.stringContaining(FORBIDDEN)]);
    expect((await forge.land(number, candidate)).kind).toBe('landed');
  });

  it('of a head that GitHub itself shows late waits, too', async () => {
    const { sha, number } = await openPull();
    await s.forge.land(number, { ...(await candidateFor(sha)), tree: 'another' });
    const next = await s.people.commit(sha, { 'b.txt': 'b\n' });
    await s.forge.push('loop/7-a', next, sha);
    s.github.faults.add({ method: 'GET', path: /pulls\/\d+$/, how: { kind: 'stale' } });
    expect(await s.forge.land(number, await candidateFor(next))).toMatchObject({
      kind: 'refused',
      passing: true,
      detail: expect.stringContaining(sha.slice(0, 10)),
    });
    expect(merges()).toBe(0);
  });
});

describe('a merge queue', () => {
  it('goes through GitHub’s own queue where the branch has one', async () => {
    const rules = { requiredChecks: [], strict: false, approvals: 0, mergeQueue: true };
    s.github.world.protections.set('main', { via: 'ruleset', ...rules });
    const { sha, number } = await openPull();
    const candidate = await candidateFor(sha);
    const queued = { kind: 'merge_queued', detail: expect.stringContaining('merge queue') };
    expect(await s.forge.land(number, candidate)).toEqual(queued);
    expect(await s.forge.land(number, candidate)).toEqual(queued);
    expect(await s.forge.pull(number)).toMatchObject({ state: 'open', inMergeQueue: true });
    for (const again of [1, 2]) {
      await s.forge.leaveQueue!(number);
      expect(await s.forge.pull(number), `left ${again}×`).toMatchObject({
        state: 'open',
        inMergeQueue: false,
      });
    }
    expect(await s.forge.land(number, candidate)).toEqual(queued);
    await runMergeQueue(s.github.world);
    expect(await s.forge.land(number, candidate)).toMatchObject({ kind: 'landed' });
    expect(await s.forge.pull(number)).toMatchObject({ state: 'merged', mergedTree: candidate.tree });
  });

  test.each<Protection['via']>(['ruleset', 'protection'])(
    'is not jumped by an account that may pass by it (%s)',
    async (via) => {
      protect({ via, mergeQueue: true });
      s.github.world.bypasses.add('loop-bot');
      const { sha, number } = await openPull();
      expect(await s.forge.land(number, await candidateFor(sha))).toMatchObject({ kind: 'merge_queued' });
      expect(merges()).toBe(0);
      expect(await s.forge.pull(number)).toMatchObject({
        state: 'open',
        inMergeQueue: true,
        queueLeft: null,
      });
    },
  );

  it('that refuses it for now is tried again, with its words', async () => {
    protect({ mergeQueue: true });
    const { sha, number } = await openPull();
    const candidate = await candidateFor(sha);
    const message = 'Pull request Required workflow is not satisfied';
    s.github.faults.add({
      path: /graphql mutation/,
      how: { kind: 'errors', errors: [{ type: 'UNPROCESSABLE', message }] },
    });
    expect(await s.forge.land(number, candidate)).toEqual({
      kind: 'refused',
      detail: message,
      passing: true,
    });
    expect(await s.forge.land(number, candidate)).toMatchObject({ kind: 'merge_queued' });
  });

  it('is asked once, however often it is landed', async () => {
    protect({ mergeQueue: true });
    const { sha, number } = await openPull();
    const candidate = await candidateFor(sha);
    for (let n = 0; n < 3; n += 1)
      expect(await s.forge.land(number, candidate)).toMatchObject({ kind: 'merge_queued' });
    const { timeline } = s.github.world.issues.get(number)!;
    expect(timeline.filter(({ event }) => event === 'added_to_merge_queue')).toHaveLength(1);
  });

  it('says why it gave a pull request back', async () => {
    protect({ mergeQueue: true });
    const { sha, number } = await openPull();
    await s.forge.land(number, await candidateFor(sha));
    const issue = s.github.world.issues.get(number)!;
    outOfQueue(s.github.world, issue, issue.pull!, 'github-merge-queue[bot]', 'failed checks');
    expect(await s.forge.pull(number)).toMatchObject({
      inMergeQueue: false,
      queueLeft: { at: s.clock.at, why: 'failed checks' },
    });
  });

  it('that is done with it and has not merged it yet gave nothing back', async () => {
    protect({ mergeQueue: true });
    const { sha, number } = await openPull();
    await s.forge.land(number, await candidateFor(sha));
    const issue = s.github.world.issues.get(number)!;
    outOfQueue(s.github.world, issue, issue.pull!, 'github-merge-queue[bot]', 'merged');
    expect(await s.forge.pull(number)).toMatchObject({ state: 'open', inMergeQueue: false, queueLeft: null });
  });
});
