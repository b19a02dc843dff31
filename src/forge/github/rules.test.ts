/** What the rules of a branch want is said before a merge is tried, and is what GitHub refuses the merge for. */
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import type { Protection } from '../../../test/support/github/world.ts';

let s: GitHubScratch;
beforeEach(async () => {
  s = await githubScratch();
});
afterEach(() => s.dispose());

const NO_RULES: Protection = {
  via: 'ruleset',
  requiredChecks: [],
  strict: false,
  approvals: 0,
  mergeQueue: false,
};

const protect = (rules: Partial<Protection>): void =>
  void s.github.world.protections.set('main', { ...NO_RULES, ...rules });

async function openPull(): Promise<{ sha: string; number: number }> {
  const sha = await s.people.commit((await s.forge.trunk()).sha, { 'a.txt': 'a\nb\n' });
  await s.forge.push('loop/7-a', sha, null);
  const { number } = await s.forge.ensurePull({
    issue: 7,
    branch: 'loop/7-a',
    title: 'T',
    body: 'B',
    marker: 't1',
  });
  return { sha, number };
}

async function landOf(number: number, headSha: string, method: 'squash' | 'merge' | 'rebase' = 'squash') {
  const { sha: baseSha } = await s.forge.trunk();
  const built = await s.forge.buildCandidate({ headSha, baseSha, method, message: 'T (#7)', task: 't1' });
  if (built.kind !== 'clean') throw new Error(built.kind);
  return s.forge.land(number, built.candidate);
}

type Act = (number: number) => Promise<unknown>;
const review =
  (who: 'ada' | 'grace' | 'mallory', event: string): Act =>
  (number) =>
    s[who].post(`/pulls/${number}/reviews`, { event, body: 'x' });
const thread: Act = (number) =>
  s.people.remark(number, { verdict: 'comment', body: 'Why?', file: 'a.txt', line: 1 });

test.each<[string, Partial<Protection>, Act[], RegExp | null]>([
  ['nothing', {}, [], null],
  ['a review nobody gave', { approvals: 1 }, [], /^main wants 1 approving review by .*, and it has none$/],
  ['a review somebody gave', { approvals: 1 }, [review('grace', 'APPROVE')], null],
  ['a review of a stranger', { approvals: 1 }, [review('mallory', 'APPROVE')], /and it has none$/],
  ['two reviews, and one was given', { approvals: 2 }, [review('grace', 'APPROVE')], /wants 2 .* it has 1$/],
  [
    'a review, while somebody else asks for changes',
    { approvals: 1 },
    [review('grace', 'APPROVE'), review('ada', 'REQUEST_CHANGES')],
    /takes nothing while ada asks for changes/,
  ],
  [
    'an owner’s review, and another was given',
    { approvals: 1, codeOwners: ['ada'] },
    [review('grace', 'APPROVE')],
    /an owner of the code it touches$/,
  ],
  ['an owner’s review', { approvals: 1, codeOwners: ['ada'] }, [review('ada', 'APPROVE')], null],
  [
    'resolved conversations',
    { resolvedThreads: true },
    [thread],
    /every conversation resolved, and one is open \(a\.txt\)$/,
  ],
])('where main wants %s', async (_what, rules, acts, wants) => {
  protect(rules);
  const { sha, number } = await openPull();
  for (const act of acts) await act(number);
  expect((await s.forge.feedback(number))?.wants).toEqual(wants ? [expect.stringMatching(wants)] : []);
  expect((await landOf(number, sha)).kind).toBe(wants ? 'refused' : 'landed');
});

it('rules that are new since they were read are read again once GitHub refused a merge', async () => {
  const { sha, number } = await openPull();
  await thread(number);
  expect((await s.forge.feedback(number))?.wants).toEqual([]);
  protect({ resolvedThreads: true });
  expect((await s.forge.feedback(number))?.wants).toEqual([]);
  expect((await landOf(number, sha)).kind).toBe('refused');
  expect((await s.forge.feedback(number))?.wants).toEqual([expect.stringMatching(/one is open/)]);
});

describe('classic protection', () => {
  it('is read by who may; to others GitHub’s own judgement of the reviews tells', async () => {
    protect({ via: 'protection', approvals: 2 });
    const { number } = await openPull();
    expect((await s.forge.feedback(number))?.wants).toEqual(['main wants an approving review by a person']);
    s.github.world.permissions.set('loop-bot', 'admin');
    const forge = await s.reopen();
    expect((await forge.feedback(number))?.wants).toEqual([
      expect.stringContaining('main wants 2 approving'),
    ]);
  });

  it('that may not be read is asked for once', async () => {
    protect({ via: 'protection', approvals: 1 });
    const { number } = await openPull();
    for (let round = 0; round < 3; round++) {
      s.clock.at += 600_000;
      await s.forge.feedback(number);
    }
    expect(s.github.requests.filter(({ path }) => path.endsWith('/protection'))).toHaveLength(1);
  });
});

it('does not believe an approval of an older head where the last push has to be approved', async () => {
  protect({ approvals: 1, lastPushApproval: true });
  const { sha, number } = await openPull();
  await review('grace', 'APPROVE')(number);
  expect((await s.forge.feedback(number))?.wants).toEqual([]);
  const next = await s.people.commit(sha, { 'b.txt': 'b\n' });
  await s.forge.push('loop/7-a', next, sha);
  expect((await s.forge.feedback(number))?.wants).toEqual([expect.stringContaining('since the last push')]);
  expect(await landOf(number, next)).toMatchObject({ kind: 'refused' });
});

it('resolves its own conversations where all have to be resolved', async () => {
  protect({ resolvedThreads: true });
  const { sha, number } = await openPull();
  const comments = [{ file: 'a.txt', line: 1, body: 'Name it.' }];
  await s.forge.postReview(number, {
    marker: 'r1',
    headSha: sha,
    verdict: 'APPROVE',
    body: 'Fine.',
    comments,
  });
  expect(s.github.world.issues.get(number)?.pull?.threads).toHaveLength(1);
  expect((await s.forge.feedback(number))?.wants).toEqual([]);
  expect((await landOf(number, sha)).kind).toBe('landed');
});

it('asks for the head to be brought up to trunk where only such heads are taken', async () => {
  protect({ strict: true, requiredChecks: ['ci'] });
  const { sha: baseSha } = await s.forge.trunk();
  const { sha } = await openPull();
  await s.people.pushCommit('main', { 'other.txt': 'x\n' });
  const input = { baseSha, method: 'squash', message: 'T', task: 't1' } as const;
  const { sha: trunk } = await (await s.reopen()).trunk();
  expect(await s.forge.buildCandidate({ ...input, headSha: sha })).toEqual({ kind: 'behind', trunk });
  const [behind, ahead] = [trunk, await s.people.commit(trunk, { 'a.txt': 'a\nb\n' })];
  expect(behind).not.toBe(baseSha);
  expect(await s.forge.buildCandidate({ ...input, headSha: ahead })).toMatchObject({ kind: 'clean' });
});

describe('a way of merging that the rules exclude', () => {
  test.each<[string, 'squash' | 'merge' | 'rebase', Partial<Protection>, RegExp]>([
    ['linear history', 'merge', { linear: true }, /wants a linear history.*\(merge\.method: merge\)/],
    ['signed commits', 'rebase', { signed: true }, /wants signed commits/],
    ['other methods', 'squash', { methods: ['rebase'] }, /does not take merges by squash/],
  ])('%s', async (_what, method, rules, says) => {
    protect(rules);
    const forge = await s.open({ method: () => method });
    const { sha, number } = await openPull();
    expect((await forge.feedback(number))?.wants).toEqual([expect.stringMatching(says)]);
    expect(await forge.check()).toMatchObject([
      { what: expect.stringMatching(says), fix: expect.stringMatching(/merge\.method to/) },
    ]);
    expect(await landOf(number, sha, method)).toMatchObject({ kind: 'refused' });
  });

  it('is known from the repository’s settings, too', async () => {
    const { number } = await openPull();
    s.github.world.mergeMethods = { squash: false, merge: true, rebase: false };
    expect((await s.forge.feedback(number))?.wants).toEqual([
      'main does not take merges by squash (merge.method: squash)',
    ]);
    expect(await s.forge.check()).toMatchObject([
      {
        what: expect.stringContaining('main does not take merges by squash'),
        fix: expect.stringMatching(/merge\.method to merge/),
      },
    ]);
  });
});

it('tells at start-up that every merge waits for a person', async () => {
  protect({ approvals: 1 });
  expect(await s.forge.check()).toMatchObject([
    { what: 'main wants an approving review: every merge waits for that.' },
  ]);
});
