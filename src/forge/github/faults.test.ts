/** GitHub fails in every way it documents; nothing is done twice, nothing is lost, and limits are named. */
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { reportCheck } from '../../../test/support/github/check-routes.ts';
import { type Fault, LIMITS } from '../../../test/support/github/faults.ts';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import type { Candidate } from '../../core/event.ts';
import { ForgeUnavailable } from '../../errors.ts';
import type { Forge } from '../forge.ts';

let s: GitHubScratch;
beforeEach(async () => {
  s = await githubScratch();
});
afterEach(() => s.dispose());

async function openPull(forge: Forge = s.forge, content = 'a\n') {
  const sha = await s.people.commit((await forge.trunk()).sha, { 'a.txt': content });
  await forge.push('loop/7-a', sha, null);
  const request = { issue: 7, branch: 'loop/7-a', title: 'T', body: 'B', marker: 't1' };
  return { sha, request, number: (await forge.ensurePull(request)).number };
}

async function candidateFor(headSha: string): Promise<Candidate> {
  const { sha: baseSha } = await s.forge.trunk();
  const built = await s.forge.buildCandidate({
    headSha,
    baseSha,
    method: 'squash',
    message: 'Add it',
    task: 't1',
  });
  if (built.kind !== 'clean') throw new Error(built.kind);
  return built.candidate;
}

const failure = (work: Promise<unknown>): Promise<ForgeUnavailable> =>
  work.then(
    () => Promise.reject(new Error('it did not fail')),
    (problem) => problem,
  );

describe('an answer that was lost', () => {
  const review = (headSha: string) => ({
    marker: 'r1',
    headSha,
    verdict: 'REQUEST_CHANGES',
    body: 'Not yet.',
    comments: [{ file: 'a.txt', line: 1, body: 'Hm.' }],
  });
  const world = () => s.github.world;
  const pulls = () => [...world().issues.values()].filter((issue) => issue.pull);

  test.each<[string, Fault, (number: number, sha: string) => Promise<unknown>, () => unknown, unknown]>([
    [
      'a comment',
      { method: 'POST', path: /comments$/, how: { kind: 'lose' } },
      (number) => s.forge.ensureComment(number, 'm', 'Hello.'),
      () => [...world().issues.values()].find((issue) => !issue.pull)?.comments.length,
      1,
    ],
    [
      'a label',
      { method: 'POST', path: /labels$/, how: { kind: 'lose' } },
      (number) => s.forge.relabel(number, { add: ['loop:running'], remove: [] }),
      () => [...world().issues.values()].find((issue) => !issue.pull)?.labels,
      ['loop:running'],
    ],
    [
      'a review',
      { method: 'POST', path: /reviews$/, how: { kind: 'lose' } },
      async (_number, sha) => s.forge.postReview(pulls()[0]!.number, review(sha)),
      () => [pulls()[0]?.pull?.reviews.length, pulls()[0]?.pull?.threads.length],
      [1, 1],
    ],
    [
      'a status',
      { method: 'POST', path: /statuses/, how: { kind: 'lose' } },
      async (_number, sha) => s.forge.postReview(pulls()[0]!.number, review(sha)),
      () => world().statuses.map((status) => [status.context, status.state]),
      [['forge-loop/critic', 'failure']],
    ],
  ])('to %s is made good by asking again', async (_what, fault, act, look, expected) => {
    const issue = await s.people.createIssue({ title: 'T', body: 'B' });
    const { sha } = await openPull();
    s.github.faults.add(fault);
    expect(await failure(act(issue, sha))).toBeInstanceOf(ForgeUnavailable);
    await act(issue, sha);
    await act(issue, sha);
    expect(await look()).toEqual(expected);
  });

  it('to a push is made good at once', async () => {
    const sha = await s.people.commit((await s.forge.trunk()).sha, { 'a.txt': 'a\n' });
    s.github.faults.add({ method: 'POST', path: /receive-pack/, how: { kind: 'lose' } });
    expect(await s.forge.push('loop/9-z', sha, null)).toBe('pushed');
    expect(await world().git.resolve('refs/heads/loop/9-z')).toBe(sha);
  });

  it('to a pull request or a merge is made good by asking again', async () => {
    s.github.faults.add({ method: 'POST', path: /\/pulls$/, how: { kind: 'lose' } });
    const { sha: trunk } = await s.forge.trunk();
    const sha = await s.people.commit(trunk, { 'a.txt': 'a\n' });
    await s.forge.push('loop/7-a', sha, null);
    const request = { issue: 7, branch: 'loop/7-a', title: 'T', body: 'B', marker: 't1' };
    expect(await failure(s.forge.ensurePull(request))).toBeInstanceOf(ForgeUnavailable);
    const { number } = await s.forge.ensurePull(request);
    expect(pulls()).toHaveLength(1);

    const candidate = await candidateFor(sha);
    s.github.faults.add({ method: 'PUT', path: /merge$/, how: { kind: 'lose' } });
    expect(await failure(s.forge.land(number, candidate))).toBeInstanceOf(ForgeUnavailable);
    expect(await s.forge.onTrunk(candidate.sha)).toBe(true);
    const landed = (await s.forge.trunk()).sha;
    expect(await (await s.reopen()).land(number, candidate)).toEqual({ kind: 'landed', sha: landed });
  });
});

describe('limits', () => {
  test.each([
    ['a secondary limit', LIMITS.secondary(90), 90_000],
    ['too many requests', LIMITS.tooMany(30), 30_000],
  ])('%s stops all asking until the time it names', async (_what, how, waitMs) => {
    await s.forge.openIssues();
    s.github.faults.add({ how });
    const limited = await failure(s.forge.openIssues());
    expect(limited).toBeInstanceOf(ForgeUnavailable);
    expect(limited.retryAt).toBe(s.clock.at + waitMs);
    const asked = s.github.requests.length;
    await failure(s.forge.issue(1));
    await failure(s.forge.relabel(1, { add: ['x'], remove: [] }));
    expect(s.github.requests.length).toBe(asked);
    s.clock.at += waitMs;
    expect(await s.forge.openIssues()).toEqual([]);
  });

  it('the primary limit holds until it resets', async () => {
    s.github.limit = { remaining: 0, resetAt: s.clock.at + 600_000 };
    expect((await failure(s.forge.openIssues())).retryAt).toBe(s.clock.at + 600_000);
    s.clock.at += 600_000;
    expect(await s.forge.openIssues()).toEqual([]);
  });

  it('a budget of its own holds as well, and answers that changed nothing cost nothing', async () => {
    const forge = await s.open({ requestsPerHour: 10 });
    for (let n = 0; n < 30; n++) await forge.openIssues();
    for (let n = 0; n < 9; n++) await forge.issue(4000 + n);
    const spent = await failure(forge.issue(5000));
    expect(spent.message).toContain('requests_per_hour');
    expect(spent.retryAt).toBe(s.clock.at + 3_600_000);
  });

  it('so does one of writes, whichever way they are made; reading goes on meanwhile', async () => {
    const forge = await s.open({ writesPerHour: 3 });
    const number = await s.people.createIssue({ title: 'T', body: 'B' });
    await forge.relabel(number, { add: ['loop:ready'], remove: [] });
    await forge.relabel(number, { add: ['loop:running'], remove: ['loop:ready'] });
    await forge.ensureComment(number, 'm', 'one');
    const spent = await failure(forge.ensureComment(number, 'm', 'two'));
    expect(spent.message).toContain('3 writes an hour');
    expect(spent.retryAt).toBe(s.clock.at + 3_600_000);
    expect(await forge.openIssues()).toMatchObject([{ number, labels: ['loop:running'] }]);
    s.clock.at += 3_600_000;
    await forge.ensureComment(number, 'm', 'two');
    expect(s.github.world.issues.get(number)!.comments).toMatchObject([
      { body: expect.stringContaining('two') },
    ]);
  });

  it('an outage is passed on as one, and a read is tried once more', async () => {
    s.github.faults.add({ how: { kind: 'answer', status: 502 }, times: 1 });
    expect(await s.forge.openIssues()).toEqual([]);
    s.github.faults.add({ how: { kind: 'answer', status: 503 }, times: 2 });
    expect(await failure(s.forge.openIssues())).toBeInstanceOf(ForgeUnavailable);
  });

  it('the page of a server that is down is not repeated, nor a stack', async () => {
    const page = '<!DOCTYPE html>\n<html><title>Unicorn!</title><p>We had issues.</p></html>';
    for (const given of [page, 'upstream connect error\n    at respond (server.js:1:1)']) {
      s.github.faults.add({ how: { kind: 'answer', status: 502, page: given }, times: 2 });
      const { message } = await failure(s.forge.openIssues());
      expect(message).toMatch(/^GitHub did not answer GET \S+ \(502\)(: upstream connect error)?\.$/);
    }
  });

  it('a connection that can’t be made is told in one line', async () => {
    const nowhere = await s.open({
      address: { ...s.address, apiUrl: s.github.apiUrl.replace('http:', 'https:') },
    });
    const { message } = await failure(nowhere.openIssues());
    expect(message).toMatch(/^GitHub did not answer GET \S+: [^\n]*[^:.\n]\.$/);
  });

  it('a refusal names what was asked for', async () => {
    const issue = await s.people.createIssue({ title: 'T', body: 'B' });
    s.github.faults.add({ method: 'POST', path: /comments$/, how: { kind: 'answer', status: 403 } });
    const { message } = await failure(s.forge.ensureComment(issue, 'm', 'At work.'));
    expect(message).toContain(`GitHub refused POST /repos/acme/rocket/issues/${issue}/comments (403): `);
  });

  it('a token that was renewed meanwhile is fetched again; one that expired is named', async () => {
    let token = 'expired';
    const forge = await s.open({ token: async () => token });
    const expired = await failure(forge.openIssues());
    expect([expired.name, expired.message]).toEqual([
      'ForgeUnavailable',
      'GitHub does not accept the token (401).',
    ]);
    token = s.bot.token;
    expect(await forge.openIssues()).toEqual([]);
  });
});

describe('reviews', () => {
  const review = (
    headSha: string,
    comments: { file: string | null; line: number | null; body: string }[],
  ) => ({
    marker: 'r1',
    headSha,
    verdict: 'APPROVE',
    body: 'Good.',
    comments,
  });
  const remarks = [
    { file: 'a.txt', line: 1, body: 'In the diff.' },
    { file: 'a.txt', line: 99, body: 'Past its end.' },
    { file: 'README.md', line: 1, body: 'Not touched.' },
    { file: null, line: null, body: 'In general.' },
  ];

  it('puts remarks on shown lines, the others in the text, and loses none', async () => {
    const { sha, number } = await openPull();
    await s.forge.postReview(number, review(sha, remarks));
    const { reviews, threads } = s.github.world.issues.get(number)!.pull!;
    expect(threads.map((thread) => [thread.path, thread.line, thread.comments[0]?.body])).toEqual([
      ['a.txt', 1, 'In the diff.'],
    ]);
    for (const { body } of remarks.slice(1)) expect(reviews[0]?.body).toContain(body);
    expect(reviews[0]?.state).toBe('COMMENTED');
    expect(s.github.world.statuses).toMatchObject([
      {
        sha,
        context: 'forge-loop/critic',
        state: 'success',
        description: expect.stringContaining('APPROVE'),
      },
    ]);
  });

  it('says everything in the text when GitHub refuses the remarks', async () => {
    const { sha, number } = await openPull();
    const refusal = { kind: 'answer', status: 422, message: 'Unprocessable Entity' } as const;
    s.github.faults.add({ method: 'POST', path: /reviews$/, how: refusal });
    await s.forge.postReview(number, review(sha, remarks));
    const said = await s.people.conversation(number);
    for (const { body } of remarks) expect(said.split(body)).toHaveLength(2);
  });

  it('is still said when the head was pushed over', async () => {
    const { sha, number } = await openPull();
    const other = await s.people.commit((await s.forge.trunk()).sha, { 'b.txt': 'b\n' });
    await s.forge.push('loop/7-a', other, sha);
    await s.forge.postReview(number, review(sha, remarks));
    await s.forge.postReview(number, review(sha, remarks));
    expect((await s.people.conversation(number)).split('In the diff.')).toHaveLength(2);
  });

  it('takes a draft out of draft when it approves', async () => {
    const forge = await s.open({ drafts: true });
    const { sha, number } = await openPull(forge);
    const { pull } = s.github.world.issues.get(number)!;
    expect(pull?.draft).toBe(true);
    await forge.postReview(number, { ...review(sha, []), verdict: 'REQUEST_CHANGES', marker: 'r0' });
    expect(pull?.draft).toBe(true);
    await forge.postReview(number, review(sha, []));
    expect(pull?.draft).toBe(false);
  });

  it('leaves a draft to the merge where GitHub refuses to take it out of draft', async () => {
    const warnings: string[] = [];
    const forge = await s.open({ drafts: true, warn: (message) => warnings.push(message) });
    const { sha, number } = await openPull(forge);
    const errors = [{ type: 'FORBIDDEN', message: 'Resource not accessible by integration' }];
    s.github.faults.add({ path: /mutation markPullRequest/, how: { kind: 'errors', errors } });
    await forge.postReview(number, review(sha, []));
    expect(s.github.world.issues.get(number)?.pull).toMatchObject({ draft: true, reviews: [{}] });
    expect(warnings).toEqual([expect.stringMatching(/can't be taken out of draft: Resource not accessible/)]);
  });

  it('opens no draft where there are none', async () => {
    s.github.world.draftsAllowed = false;
    const { number } = await openPull(await s.open({ drafts: true }));
    expect(s.github.world.issues.get(number)?.pull?.draft).toBe(false);
  });
});

describe('merging', () => {
  it('says so when trunk moved in the last moment and another tree landed than was tested', async () => {
    const { sha, number } = await openPull();
    const candidate = await candidateFor(sha);
    const act = () => s.people.pushCommit('main', { 'x.txt': 'x\n' });
    s.github.faults.add({ method: 'PUT', path: /merge$/, how: { kind: 'meanwhile', act } });
    const landed = await s.forge.land(number, candidate);
    const tree = s.github.world.git.resolve(`${(landed as { sha: string }).sha}^{tree}`);
    expect(landed).toMatchObject({ kind: 'landed', untested: { tree: await tree } });
  });

  it('looks again when the head moved in the last moment', async () => {
    const { sha, number } = await openPull();
    const candidate = await candidateFor(sha);
    const act = () => s.people.pushCommit('loop/7-a', { 'x.txt': 'x\n' });
    s.github.faults.add({ method: 'PUT', path: /merge$/, how: { kind: 'meanwhile', act } });
    expect(await s.forge.land(number, candidate)).toEqual({ kind: 'trunk_moved' });
    expect((await s.forge.trunk()).sha).toBe(candidate.trunk);
  });

  it('passes on what the rules of the branch ask for', async () => {
    const rules = {
      via: 'ruleset',
      requiredChecks: ['ci'],
      strict: false,
      approvals: 1,
      mergeQueue: false,
    } as const;
    s.github.world.protections.set('main', { ...rules, requiredChecks: [...rules.requiredChecks] });
    const { sha, number } = await openPull();
    const pending = { name: 'ci', state: 'pending', required: true, headSha: sha };
    expect((await s.forge.feedback(number))?.checks).toMatchObject([pending]);
    reportCheck(s.github.world, { sha, name: 'ci', conclusion: 'success' });
    expect((await s.forge.feedback(number))?.checks).toMatchObject([{ ...pending, state: 'green' }]);
    const refused = await s.forge.land(number, await candidateFor(sha));
    expect(refused).toMatchObject({ kind: 'refused', detail: expect.stringContaining('approving review') });
  });
});

describe('facts of one look', () => {
  it('never show an issue closed by a merge beside a pull request that is still open', async () => {
    const forge = await s.open({ freshMs: 5000 });
    const number = await s.people.createIssue({ title: 'T', body: 'B' });
    await s.people.makeReady(number);
    const sha = await s.people.commit((await forge.trunk()).sha, { 'a.txt': 'a\n' });
    await forge.push('loop/1-a', sha, null);
    const request = { issue: number, branch: 'loop/1-a', title: 'T', body: `Fixes #${number}`, marker: 't1' };
    const { number: pull } = await forge.ensurePull(request);
    s.clock.at += 10_000;
    expect((await forge.issue(number))?.state).toBe('open');
    s.clock.at += 4000;
    expect((await forge.pull(pull))?.state).toBe('open');
    await s.ada.put(`/pulls/${pull}/merge`, {});
    s.clock.at += 2000;
    expect([(await forge.issue(number))?.state, (await forge.pull(pull))?.state]).toEqual([
      'closed',
      'merged',
    ]);
  });

  it('know at once what landed, also when the answer was lost', async () => {
    const forge = await s.open({ freshMs: 5000 });
    const { sha, number } = await openPull(forge);
    const candidate = await candidateFor(sha);
    await forge.trunk();
    s.github.faults.add({ method: 'PUT', path: /merge$/, how: { kind: 'lose' } });
    await failure(forge.land(number, candidate));
    expect(await forge.onTrunk(candidate.sha)).toBe(true);
    expect((await forge.pull(number))?.state).toBe('merged');
  });
});

describe('told of a change in the middle of asking', () => {
  /** What is asked, the request it takes, and what changes once that was answered. */
  const QUESTIONS: [
    what: string,
    request: Pick<Fault, 'method' | 'path'>,
    ask: (forge: Forge, pull: number) => Promise<unknown>,
    change: (pull: number) => Promise<unknown>,
  ][] = [
    [
      'issues',
      { method: 'GET', path: /\/issues\?/ },
      async (forge) => (await forge.openIssues()).length,
      () => s.ada.post('/issues', { title: 'T', body: 'B' }),
    ],
    [
      'a pull request',
      { method: 'POST', path: /graphql/ },
      async (forge, pull) => (await forge.pull(pull))?.state,
      (pull) => s.people.closePull(pull),
    ],
    [
      'a branch',
      { method: 'POST', path: /upload-pack/ },
      async (forge) => (await forge.branchHead('loop/7-a'))?.sha,
      () => s.people.pushCommit('loop/7-a', { 'b.txt': 'b\n' }),
    ],
  ];
  test.each(QUESTIONS)('%s: the answer is not believed the next time', async (_, request, ask, change) => {
    const forge = await s.open({ freshMs: 5000 });
    const { number } = await openPull(forge);
    s.clock.at += 10_000;
    const act = async () => forge.forget!();
    s.github.faults.add({ ...request, how: { kind: 'meanwhile', act } });
    const before = await ask(forge, number);
    expect(s.github.faults.pending()).toBe(0);
    await change(number);
    expect(await ask(forge, number)).not.toEqual(before);
  });
});

describe('asking little', () => {
  it('an idle hour with fifty open issues stays under a hundred requests', async () => {
    const forge = await s.open({ freshMs: 5000 });
    for (let n = 0; n < 50; n++) await s.ada.post('/issues', { title: `T${n}`, body: 'B' });
    s.github.requests.length = 0;
    let seen = 0;
    for (let minute = 0; minute < 60; minute++) {
      s.clock.at += 60_000;
      await forge.openIssues();
      ({ seen } = await forge.commands(seen));
    }
    expect(s.github.requests.length).toBeLessThan(100);
    expect(s.github.requests.filter((one) => one.status !== 304).length).toBeLessThan(10);
  });

  it('one look at a task asks once, however many facts it takes', async () => {
    const forge = await s.open({ freshMs: 5000 });
    const number = await s.people.createIssue({ title: 'T', body: 'B' });
    await s.people.makeReady(number);
    const { number: pull } = await openPull(forge);
    s.clock.at += 60_000;
    s.github.requests.length = 0;
    for (let n = 0; n < 20; n++) {
      await forge.issue(number);
      await forge.pull(pull);
      await forge.branchHead('loop/7-a');
      await forge.feedback(pull);
    }
    const api = s.github.requests.filter((one) => !one.path.startsWith('git '));
    expect(api.map((one) => `${one.method} ${one.path.split('?')[0]}`)).toEqual([
      'GET /repos/acme/rocket/issues',
      'POST /graphql',
      'GET /repos/acme/rocket/collaborators/ada/permission',
      'POST /graphql',
      'GET /user',
      'GET /repos/acme/rocket/rules/branches/main',
      'GET /repos/acme/rocket/branches/main',
    ]);
  });
});
