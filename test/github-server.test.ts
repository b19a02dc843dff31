/** The GitHub we test against behaves as GitHub's documentation says, computed from git. */
import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { reportCheck } from './support/github/check-routes.ts';
import { type Person, person } from './support/github/client.ts';
import { LIMITS } from './support/github/faults.ts';
import { createLag } from './support/github/lag.ts';
import { runMergeQueue } from './support/github/merging.ts';
import { type GitHub, startGitHub } from './support/github/server.ts';

let github: GitHub;
let ada: Person;
let grace: Person;
let mallory: Person;
let dir: string;
let now: number;

beforeEach(async () => {
  now = Date.parse('2030-01-01T00:00:00Z');
  github = await startGitHub({ now: () => now });
  ada = person(github, 'ada', 'admin');
  grace = person(github, 'grace', 'write');
  mallory = person(github, 'mallory', 'none');
  dir = mkdtempSync(join(tmpdir(), 'github test-'));
  execFileSync('git', ['init', '-q', '-b', 'main', dir]);
  await ada.git(dir, 'remote', 'add', 'origin', github.gitUrl);
  await commit('Start', { 'README.md': 'hello\n', 'long.txt': lines(1, 60) });
  await ada.git(dir, 'push', '-q', 'origin', 'main');
});

afterEach(async () => {
  await github.close();
  rmSync(dir, { recursive: true, force: true });
});

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}\n`).join('');

async function commit(message: string, files: Record<string, string>): Promise<string> {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content);
  await ada.git(dir, 'add', '-A');
  await ada.git(dir, 'commit', '-q', '-m', message);
  return ada.git(dir, 'rev-parse', 'HEAD');
}

/** A branch with one commit, pushed, and its pull request. */
async function openPull(branch: string, files: Record<string, string>, who = ada, body = 'Please.') {
  await ada.git(dir, 'checkout', '-q', '-B', branch, 'origin/main');
  const sha = await commit(`Work on ${branch}`, files);
  await ada.git(dir, 'push', '-q', '-f', 'origin', branch);
  const pull = await who.post('/pulls', { title: `Pull ${branch}`, head: branch, base: 'main', body });
  return { sha, number: pull.number as number, mergeable: pull.mergeable as boolean | null };
}

async function pushToMain(files: Record<string, string>): Promise<string> {
  await ada.git(dir, 'fetch', '-q', 'origin');
  await ada.git(dir, 'checkout', '-q', '-B', 'main', 'origin/main');
  const sha = await commit('On main', files);
  await ada.git(dir, 'push', '-q', 'origin', 'main');
  return sha;
}

describe('git over HTTP', () => {
  it('lets people with write access push and others only read', async () => {
    const refused = mallory.git(dir, 'push', '-q', 'origin', 'main:refs/heads/mine');
    await expect(refused).rejects.toThrow(/403/);
    expect(await mallory.git(dir, 'ls-remote', 'origin', 'refs/heads/main')).toMatch(/^[0-9a-f]{40}/);
    await grace.git(dir, 'push', '-q', 'origin', 'main:refs/heads/hers');
    expect(await ada.git(dir, 'ls-remote', 'origin', 'refs/heads/hers')).not.toBe('');
  });

  it('asks for a password where the token is unknown, and hides a private repository', async () => {
    const nobody = { ...mallory, token: 'x' };
    github.world.tokens.delete(mallory.token);
    await expect(nobody.git(dir, 'push', '-q', 'origin', 'main:refs/heads/mine')).rejects.toThrow(
      /Authentication failed|could not read/,
    );
    github.world.tokens.set(mallory.token, { login: 'mallory', lacks: [] });
    github.world.isPrivate = true;
    expect((await mallory.request('GET', '')).status).toBe(404);
    await expect(mallory.git(dir, 'ls-remote', 'origin')).rejects.toThrow(/403|404/);
  });

  it('refuses a direct push to a protected branch', async () => {
    writeFileSync(join(github.world.git.gitDir, 'protected-refs'), 'refs/heads/main\n');
    await commit('More', { 'README.md': 'more\n' });
    await expect(ada.git(dir, 'push', '-q', 'origin', 'main')).rejects.toThrow(/GH006/);
  });
});

describe('issues', () => {
  it('keeps who labelled what and when, once for each label', async () => {
    const { number } = await mallory.post('/issues', { title: 'T', body: 'B', labels: ['sneaky'] });
    expect((await ada.get(`/issues/${number}`)).labels).toEqual([]);
    expect((await mallory.request('POST', `/issues/${number}/labels`, { labels: ['x'] })).status).toBe(403);
    await grace.post(`/issues/${number}/labels`, { labels: ['loop:ready'] });
    await ada.post(`/issues/${number}/labels`, { labels: ['LOOP:READY', 'bug'] });
    const timeline = await ada.get(`/issues/${number}/timeline`);
    expect(timeline).toMatchObject([
      { event: 'labeled', actor: { login: 'grace' }, label: { name: 'loop:ready' } },
      { event: 'labeled', actor: { login: 'ada' }, label: { name: 'bug' } },
    ]);
    expect((await ada.request('DELETE', `/issues/${number}/labels/none`)).status).toBe(404);
    expect((await ada.delete(`/issues/${number}/labels/loop:ready`)).map((one: Named) => one.name)).toEqual([
      'bug',
    ]);
  });

  it('says when a body was edited last, and by timeline when it was labelled', async () => {
    const { number } = await ada.post('/issues', { title: 'T', body: 'agreed' });
    await ada.post(`/issues/${number}/labels`, { labels: ['loop:ready'] });
    now += 60_000;
    await grace.patch(`/issues/${number}`, { body: 'other' });
    const { data } = await ada.graphql(
      `query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) {
         one: issue(number: ${number}) { body lastEditedAt
           timelineItems(last: 5, itemTypes: [LABELED_EVENT]) { nodes { ... on LabeledEvent { createdAt actor { login } label { name } } } } } } }`,
      { owner: 'acme', name: 'rocket' },
    );
    expect(data.repository.one).toEqual({
      body: 'other',
      lastEditedAt: '2030-01-01T00:01:00Z',
      timelineItems: {
        nodes: [
          { createdAt: '2030-01-01T00:00:00Z', actor: { login: 'ada' }, label: { name: 'loop:ready' } },
        ],
      },
    });
  });

  it('limits a body to 65,536 characters', async () => {
    const refused = await ada.request('POST', '/issues', { title: 'T', body: 'x'.repeat(65_537) });
    expect(refused.status).toBe(422);
    expect(refused.body.errors[0].message).toContain('maximum is 65536');
    expect((await ada.request('POST', '/issues', { title: 'T', body: 'x'.repeat(65_536) })).status).toBe(201);
  });

  it('pages lists with Link headers, and shows pull requests among issues', async () => {
    for (let n = 0; n < 5; n++) await ada.post('/issues', { title: `T${n}`, body: '' });
    const { number } = await openPull('a', { 'a.txt': 'a\n' });
    const first = await ada.request('GET', '/issues?per_page=4&direction=asc');
    expect(first.body).toHaveLength(4);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1];
    const second = await fetch(next!, { headers: { authorization: `Bearer ${ada.token}` } });
    expect(await second.json()).toMatchObject([{}, { number, pull_request: {} }]);
    expect(second.headers.get('link')).not.toContain('rel="next"');
  });

  it('answers 410 where issues are disabled and 403 where the repository is archived', async () => {
    github.world.hasIssues = false;
    expect((await ada.request('GET', '/issues')).status).toBe(410);
    github.world.archived = true;
    expect((await ada.request('POST', '/labels', { name: 'x' })).status).toBe(403);
  });
});

describe('pull requests', () => {
  it('shows the head that git has now', async () => {
    const { number, sha } = await openPull('a', { 'a.txt': 'a\n' });
    expect((await ada.get(`/pulls/${number}`)).head.sha).toBe(sha);
    const next = await commit('More', { 'b.txt': 'b\n' });
    await ada.git(dir, 'push', '-q', 'origin', 'a');
    expect((await ada.get(`/pulls/${number}`)).head.sha).toBe(next);
    expect((await ada.get(`/pulls/${number}/files`)).map((one: Json) => one.filename)).toEqual([
      'a.txt',
      'b.txt',
    ]);
    const diff = await ada.request('GET', `/pulls/${number}`, undefined, {
      accept: 'application/vnd.github.diff',
    });
    expect(diff.text).toContain('+++ b/b.txt');
  });

  it('allows one open pull request for a head and a base, and none without commits', async () => {
    await openPull('a', { 'a.txt': 'a\n' });
    const twin = await grace.request('POST', '/pulls', { title: 'T', head: 'a', base: 'main' });
    expect([twin.status, twin.body.errors[0].message]).toEqual([
      422,
      'A pull request already exists for acme:a.',
    ]);
    await ada.git(dir, 'push', '-q', 'origin', 'origin/main:refs/heads/same');
    const empty = await ada.request('POST', '/pulls', { title: 'T', head: 'same', base: 'main' });
    expect(empty.body.errors[0].message).toBe('No commits between main and same');
    expect((await ada.request('POST', '/pulls', { title: 'T', head: 'none', base: 'main' })).status).toBe(
      422,
    );
  });

  it('computes mergeability in the background, from the trees', async () => {
    const { number, mergeable } = await openPull('a', { 'README.md': 'mine\n' });
    expect(mergeable).toBeNull();
    expect(await ada.get(`/pulls/${number}`)).toMatchObject({ mergeable: true, mergeable_state: 'clean' });
    await pushToMain({ 'README.md': 'theirs\n' });
    expect(await ada.get(`/pulls/${number}`)).toMatchObject({ mergeable: null, mergeable_state: 'unknown' });
    expect(await ada.get(`/pulls/${number}`)).toMatchObject({ mergeable: false, mergeable_state: 'dirty' });
    const refused = await ada.request('PUT', `/pulls/${number}/merge`, {});
    expect([refused.status, refused.body.message]).toEqual([405, 'Pull Request is not mergeable']);
  });

  it('closes when its branch is deleted', async () => {
    const { number, sha } = await openPull('a', { 'a.txt': 'a\n' });
    await ada.git(dir, 'push', '-q', 'origin', ':a');
    expect(await ada.get(`/pulls/${number}`)).toMatchObject({
      state: 'closed',
      merged: false,
      head: { sha },
    });
    const asked = `{ repository(owner: "acme", name: "rocket") { pullRequest(number: ${number}) { headRef { target { oid } } headRefOid } } }`;
    expect((await ada.graphql(asked)).data.repository.pullRequest).toEqual({
      headRef: null,
      headRefOid: sha,
    });
  });

  test.each(['merge', 'squash', 'rebase'] as const)(
    'merges by %s with a guard on the head',
    async (method) => {
      const fixed = await ada.post('/issues', { title: 'Broken', body: '' });
      const { number, sha } = await openPull('a', { 'a.txt': 'a\n' }, ada, `Fixes #${fixed.number}`);
      const trunk = await pushToMain({ 'x.txt': 'x\n' });
      const stale = await ada.request('PUT', `/pulls/${number}/merge`, { sha: trunk, merge_method: method });
      expect([stale.status, stale.body.message]).toEqual([
        409,
        'Head branch was modified. Review and try the merge again.',
      ]);
      expect((await mallory.request('PUT', `/pulls/${number}/merge`, { sha })).status).toBe(403);
      const merged = await ada.put(`/pulls/${number}/merge`, {
        sha,
        merge_method: method,
        commit_title: 'All of it',
      });
      await ada.git(dir, 'fetch', '-q', 'origin');
      expect(await ada.git(dir, 'rev-parse', 'origin/main')).toBe(merged.sha);
      expect(await ada.git(dir, 'show', 'origin/main:a.txt')).toBe('a');
      const parents = method === 'merge' ? `${trunk} ${sha}` : trunk;
      expect(await ada.git(dir, 'log', '-1', '--format=%P', 'origin/main')).toBe(parents);
      expect(await ada.get(`/pulls/${number}`)).toMatchObject({ merged: true, merge_commit_sha: merged.sha });
      expect((await ada.get(`/issues/${fixed.number}`)).state).toBe('closed');
      expect((await ada.request('PUT', `/pulls/${number}/merge`, {})).status).toBe(405);
    },
  );

  it('counts as merged when its commits are pushed to the base', async () => {
    const { number, sha } = await openPull('a', { 'a.txt': 'a\n' });
    await ada.git(dir, 'push', '-q', 'origin', `${sha}:main`);
    expect(await ada.get(`/pulls/${number}`)).toMatchObject({ merged: true, merge_commit_sha: sha });
  });

  it('does not merge a draft', async () => {
    await ada.git(dir, 'checkout', '-q', '-b', 'd', 'main');
    await commit('d', { 'd.txt': 'd\n' });
    await ada.git(dir, 'push', '-q', 'origin', 'd');
    const pull = await ada.post('/pulls', { title: 'D', head: 'd', base: 'main', draft: true });
    const refused = await ada.request('PUT', `/pulls/${pull.number}/merge`, {});
    expect([refused.status, refused.body.message]).toEqual([405, 'Pull Request is still a draft']);
    const ready = `mutation($id: ID!) { markPullRequestReadyForReview(input: { pullRequestId: $id }) { pullRequest { isDraft } } }`;
    const { data } = await ada.graphql(ready, { id: pull.node_id });
    expect(data.markPullRequestReadyForReview.pullRequest.isDraft).toBe(false);
    await ada.put(`/pulls/${pull.number}/merge`, {});
  });
});

describe('reviews', () => {
  it('takes remarks on lines that the diff shows, and refuses the whole review for one that it does not', async () => {
    const changed = `${lines(1, 29)}changed\n${lines(31, 60)}`;
    const { number } = await openPull('a', { 'long.txt': changed });
    const remark = (line: number, side = 'RIGHT', path = 'long.txt') => ({ path, line, side, body: 'Hm.' });
    const post = (...comments: object[]) =>
      grace.request('POST', `/pulls/${number}/reviews`, { event: 'COMMENT', body: 'Read.', comments });
    expect((await post(remark(30), remark(27), remark(30, 'LEFT'))).status).toBe(200);
    for (const [bad, why] of [
      [remark(26), 'Line could not be resolved'],
      [remark(34), 'Line could not be resolved'],
      [remark(1, 'RIGHT', 'README.md'), 'Path could not be resolved'],
    ] as const) {
      const refused = await post(remark(30), bad);
      expect([refused.status, refused.body.errors]).toEqual([422, [why]]);
    }
    expect(await ada.get(`/pulls/${number}/reviews`)).toHaveLength(1);
    const said = await ada.get(`/pulls/${number}/comments`);
    expect(said.map((one: Json) => [one.line, one.side])).toEqual([
      [30, 'RIGHT'],
      [27, 'RIGHT'],
      [30, 'LEFT'],
    ]);
    await ada.post(`/pulls/${number}/comments/${said[0].id}/replies`, { body: 'Done.' });
    expect((await ada.get(`/pulls/${number}/comments`))[1].in_reply_to_id).toBe(said[0].id);
  });

  test.each([
    ['APPROVE', 'Can not approve your own pull request'],
    ['REQUEST_CHANGES', 'Can not request changes on your own pull request'],
  ])('does not let an author %s', async (event, why) => {
    const { number } = await openPull('a', { 'a.txt': 'a\n' });
    const refused = await ada.request('POST', `/pulls/${number}/reviews`, { event, body: 'x' });
    expect([refused.status, refused.body.errors]).toEqual([422, [why]]);
  });

  it('binds a review to a commit of the pull request', async () => {
    const { number, sha } = await openPull('a', { 'a.txt': 'a\n' });
    const trunk = await pushToMain({ 'x.txt': 'x\n' });
    const post = (commit_id: string) =>
      grace.request('POST', `/pulls/${number}/reviews`, { event: 'APPROVE', commit_id });
    expect((await post(trunk)).status).toBe(422);
    expect((await post(sha)).body).toMatchObject({ state: 'APPROVED', commit_id: sha });
  });
});

describe('rules of a branch', () => {
  const rules = { strict: false, approvals: 0, mergeQueue: false, requiredChecks: ['ci'] };

  test.each(['protection', 'ruleset'] as const)(
    'required checks by %s block the merge until green',
    async (via) => {
      github.world.protections.set('main', { via, ...rules });
      const { number, sha } = await openPull('a', { 'a.txt': 'a\n' });
      const merge = async () => (await ada.request('PUT', `/pulls/${number}/merge`, { sha })).body.message;
      const before = via === 'ruleset' ? 'Repository rule violations found\n\n' : '';
      expect(await merge()).toBe(`${before}Required status check "ci" is expected.`);
      reportCheck(github.world, { sha, name: 'ci', status: 'in_progress', conclusion: null });
      expect(await merge()).toBe(`${before}Required status check "ci" is in progress.`);
      reportCheck(github.world, { sha, name: 'ci', conclusion: 'failure' });
      expect(await merge()).toBe(`${before}Required status check "ci" is failing.`);
      reportCheck(github.world, { sha, name: 'ci' });
      expect(await merge()).toBe('Pull Request successfully merged');
      const named =
        via === 'ruleset'
          ? (await ada.get('/rules/branches/main'))[0].parameters.required_status_checks
          : (await ada.get('/branches/main')).protection.required_status_checks.checks;
      expect(named).toMatchObject([{ context: 'ci' }]);
    },
  );

  test.each([
    ['protection', ['ci'], 405, 'Required status check "ci" is expected.'],
    ['protection', ['ci', 'e2e'], 405, '2 of 2 required status checks are expected.'],
    ['ruleset', ['ci'], 409, 'Head branch is out of date. Review and try the merge again.'],
  ] as const)('a head that is behind is refused by %s with %j', async (via, checks, status, message) => {
    github.world.protections.set('main', { via, ...rules, strict: true, requiredChecks: [...checks] });
    const { number, sha } = await openPull('a', { 'a.txt': 'a\n' });
    for (const name of checks) reportCheck(github.world, { sha, name });
    await pushToMain({ 'x.txt': 'x\n' });
    expect((await ada.get(`/pulls/${number}`)).mergeable).toBe(null);
    const refused = await ada.request('PUT', `/pulls/${number}/merge`, { sha });
    expect([refused.status, refused.body.message]).toEqual([status, message]);
  });

  it('counts approvals of people with write access, and a later request for changes against them', async () => {
    github.world.protections.set('main', { via: 'ruleset', ...rules, requiredChecks: [], approvals: 1 });
    const { number } = await openPull('a', { 'a.txt': 'a\n' });
    const review = (who: Person, event: string) => who.post(`/pulls/${number}/reviews`, { event, body: 'x' });
    const merge = () => ada.request('PUT', `/pulls/${number}/merge`, {});
    await review(mallory, 'APPROVE');
    expect((await merge()).body.message).toContain('At least 1 approving review');
    await review(grace, 'APPROVE');
    await review(grace, 'REQUEST_CHANGES');
    expect((await merge()).body.message).toContain('Changes have been requested');
    await review(grace, 'APPROVE');
    expect((await merge()).status).toBe(200);
  });

  it('merges only through the queue where one is required', async () => {
    github.world.protections.set('main', { via: 'ruleset', ...rules, requiredChecks: [], mergeQueue: true });
    const { number } = await openPull('a', { 'a.txt': 'a\n' });
    expect((await ada.request('PUT', `/pulls/${number}/merge`, {})).body.message).toContain('merge queue');
    const { node_id } = await ada.get(`/pulls/${number}`);
    await ada.graphql(
      'mutation($id: ID!) { enqueuePullRequest(input: { pullRequestId: $id }) { mergeQueueEntry { state } } }',
      { id: node_id },
    );
    await runMergeQueue(github.world);
    expect((await ada.get(`/pulls/${number}`)).merged).toBe(true);
  });
});

describe('checks', () => {
  it('keeps the latest status of each context and the log of each run', async () => {
    const { sha } = await openPull('a', { 'a.txt': 'a\n' });
    await ada.post(`/statuses/${sha}`, { state: 'pending', context: 'forge-loop/gate' });
    await ada.post(`/statuses/${sha}`, { state: 'success', context: 'forge-loop/gate' });
    expect(await ada.get(`/commits/${sha}/status`)).toMatchObject({ state: 'success', total_count: 1 });
    expect((await ada.request('POST', `/statuses/${'1'.repeat(40)}`, { state: 'success' })).status).toBe(422);
    const steps = [{ name: 'npm test', conclusion: 'failure' }];
    reportCheck(github.world, { sha, name: 'ci', conclusion: 'failure', steps, log: 'boom\n' });
    const { check_runs: runs } = await ada.get(`/commits/${sha}/check-runs`);
    expect(runs).toMatchObject([{ name: 'ci', status: 'completed', conclusion: 'failure' }]);
    expect((await ada.get(`/actions/jobs/${runs[0].id}`)).steps).toMatchObject(steps);
    expect((await ada.request('GET', `/actions/jobs/${runs[0].id}/logs`)).text).toBe('boom\n');
  });
});

describe('rights', () => {
  test.each([
    ['ada', 'admin', 'admin'],
    ['grace', 'write', 'write'],
    ['mallory', 'read', 'read'],
  ])('%s has %s', async (login, permission, role) => {
    const answer = await ada.get(`/collaborators/${login}/permission`);
    expect(answer).toMatchObject({ permission, role_name: role });
  });

  it('does not know strangers', async () => {
    expect((await ada.request('GET', '/collaborators/nobody/permission')).status).toBe(404);
  });

  it('names the right a fine-grained token lacks', async () => {
    github.world.tokens.set(ada.token, { login: 'ada', lacks: ['statuses=write'] });
    const refused = await ada.request('POST', `/statuses/${'1'.repeat(40)}`, { state: 'success' });
    expect(refused.status).toBe(403);
    expect(refused.headers.get('x-accepted-github-permissions')).toBe('statuses=write');
  });

  it('answers 401 to a token that expired', async () => {
    github.world.tokens.delete(ada.token);
    expect((await ada.request('GET', '')).status).toBe(401);
  });

  it('redirects a renamed repository, for the API and for git', async () => {
    github.world.formerNames.push('acme/rocket');
    github.world.name = 'starship';
    const answer = await fetch(`${github.apiUrl}/repos/acme/rocket`, {
      headers: { authorization: `Bearer ${ada.token}` },
    });
    expect(await answer.json()).toMatchObject({ full_name: 'acme/starship' });
    expect(await ada.git(dir, 'ls-remote', 'origin', 'refs/heads/main')).not.toBe('');
  });
});

describe('limits and faults', () => {
  it('answers 304 to an unchanged question, which costs nothing', async () => {
    github.limit = { remaining: 10, resetAt: now + 3_600_000 };
    const first = await ada.request('GET', '/issues');
    const etag = first.headers.get('etag')!;
    const again = await ada.request('GET', '/issues', undefined, { 'if-none-match': etag });
    expect([again.status, again.text, again.headers.get('x-ratelimit-remaining')]).toEqual([304, '', '9']);
    await ada.post('/issues', { title: 'T', body: '' });
    const changed = await ada.request('GET', '/issues', undefined, { 'if-none-match': etag });
    expect([changed.status, changed.headers.get('x-ratelimit-remaining')]).toEqual([200, '7']);
  });

  it('refuses when the primary limit is used up, until it resets', async () => {
    github.limit = { remaining: 0, resetAt: now + 60_000 };
    const refused = await ada.request('GET', '');
    expect([refused.status, refused.headers.get('x-ratelimit-remaining')]).toEqual([403, '0']);
    expect(refused.headers.get('x-ratelimit-reset')).toBe(String((now + 60_000) / 1000));
    now += 60_000;
    expect((await ada.request('GET', '')).status).toBe(200);
  });

  it('breaks on demand: before the effect, after it, and with an old answer', async () => {
    github.faults.add({ method: 'POST', path: /^\/repos\/acme\/rocket\/issues$/, how: LIMITS.secondary(30) });
    const limited = await ada.request('POST', '/issues', { title: 'T', body: '' });
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([403, '30']);
    expect(await ada.get('/issues')).toEqual([]);

    github.faults.add({ method: 'POST', how: { kind: 'lose' } });
    await expect(ada.request('POST', '/issues', { title: 'T', body: '' })).rejects.toThrow();
    github.faults.add({ method: 'GET', how: { kind: 'stale' } });
    expect(await ada.get('/issues')).toEqual([]);
    expect(await ada.get('/issues')).toHaveLength(1);
    expect(github.faults.pending()).toBe(0);
  });

  test.each(['RATE_LIMIT', 'RATE_LIMITED'] as const)(
    'says %s with 200 where GraphQL is asked',
    async (type) => {
      github.faults.add({ path: /graphql/, how: LIMITS.graphql(type) });
      expect((await ada.graphql('{ rateLimit { cost } }')).errors[0]).toMatchObject({
        type,
        message: 'API rate limit already exceeded for user ID 1.',
      });
    },
  );

  it('loses the answer to a push that was taken', async () => {
    github.faults.add({ method: 'POST', path: /git-receive-pack/, how: { kind: 'lose' } });
    await expect(ada.git(dir, 'push', '-q', 'origin', 'main:refs/heads/b')).rejects.toThrow();
    expect(await ada.git(dir, 'ls-remote', 'origin', 'refs/heads/b')).not.toBe('');
  });

  it('knows no field that its schema does not have', async () => {
    const { errors } = await ada.graphql('{ repository(owner: "acme", name: "rocket") { stars } }');
    expect(errors[0].message).toBe("Field 'stars' doesn't exist on type 'Repository'");
    const missing = await ada.graphql(
      '{ repository(owner: "acme", name: "rocket") { nameWithOwner issue(number: 9) { id } } }',
    );
    expect(missing.data.repository).toEqual({ nameWithOwner: 'acme/rocket', issue: null });
    expect(missing.errors[0]).toMatchObject({ type: 'NOT_FOUND', path: ['repository', 'issue'] });
    await expect(github.close()).rejects.toThrow('Cannot query field "stars" on type "Repository"');
    github.deviations.length = 0;
  });

  test.each([
    ['an unknown route', 'GET', '/nonsense', undefined, 'openapi.json has no such route'],
    ['an unknown parameter', 'GET', '/issues?stat=open', undefined, 'stat is no parameter'],
    ['a wrong parameter', 'GET', '/issues?state=opened', undefined, 'state must be equal to one of'],
    [
      'an unknown field',
      'POST',
      '/issues',
      { title: 'T', text: 'B' },
      "body/text is not in GitHub's description",
    ],
    ['a wrong field', 'POST', '/labels', { name: 7 }, 'body/name must be string'],
    ['a missing field', 'POST', '/pulls', { base: 'main' }, "body must have required property 'head'"],
  ])('refuses %s, and so does the end of the test', async (_what, method, path, body, why) => {
    const refused = await ada.request(method, path, body);
    expect([refused.status, refused.body.message]).toEqual([500, expect.stringContaining(why)]);
    await expect(github.close()).rejects.toThrow(why);
    github.deviations.length = 0;
  });

  it('holds its own answers to what GitHub describes', async () => {
    const { number } = await ada.post('/issues', { title: 'T', body: '' });
    github.world.issues.get(number)!.title = null as never;
    expect((await ada.request('GET', `/issues/${number}`)).status).toBe(500);
    expect(github.deviations).toEqual([expect.stringContaining('answer/title must be string')]);
    github.deviations.length = 0;
  });

  it('refuses connections without a size, and queries for too many nodes', async () => {
    const ask = async (fields: string) =>
      (await ada.graphql(`{ repository(owner: "acme", name: "rocket") { ${fields} } }`)).errors[0];
    expect(await ask('issues { nodes { id } }')).toMatchObject({ type: 'MISSING_PAGINATION_BOUNDARIES' });
    expect(await ask('issues(first: 101) { nodes { id } }')).toMatchObject({ type: 'EXCESSIVE_PAGINATION' });
    const deep = 'comments(first: 100) { nodes { id reactions(first: 100) { nodes { id } } } }';
    expect((await ask(`issues(first: 100) { nodes { ${deep} } }`)).message).toBe(
      'This query requests up to 1,010,100 possible nodes which exceeds the maximum limit of 500,000.',
    );
  });
});

describe('webhooks', () => {
  it('are signed, numbered, and come again with the same number', async () => {
    const got: { event: string; id: string; signed: boolean }[] = [];
    const receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        const wanted = `sha256=${createHmac('sha256', 'secret').update(body).digest('hex')}`;
        got.push({
          event: String(request.headers['x-github-event']),
          id: String(request.headers['x-github-delivery']),
          signed: request.headers['x-hub-signature-256'] === wanted,
        });
        response.end();
      });
    });
    await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    await ada.post('/hooks', { config: { url, secret: 'secret' }, events: ['issues'] });
    const { number } = await ada.post('/issues', { title: 'T', body: '' });
    await ada.post(`/issues/${number}/labels`, { labels: ['loop:ready'] });
    await github.webhooks.settled();
    await github.webhooks.redeliver(github.webhooks.deliveries[0]!.id);
    receiver.closeAllConnections();
    receiver.close();
    expect(got.map((one) => one.event)).toEqual(['issues', 'issues', 'issues']);
    expect(got.every((one) => one.signed)).toBe(true);
    expect(got[2]!.id).toBe(got[0]!.id);
    expect(github.webhooks.deliveries.every((one) => one.status === 200)).toBe(true);
  });
});

describe('late copies', () => {
  /** Seconds until a list and a query show an edit, each from a copy of its own. */
  async function seenAfter(seed: number): Promise<{ list: number; query: number }> {
    const late = await startGitHub({ now: () => now, lag: { seed, ms: 5000 } });
    const eve = person(late, 'eve', 'admin');
    const { number } = await eve.post('/issues', { title: 'T', body: 'agreed' });
    now += 10_000;
    await eve.patch(`/issues/${number}`, { body: 'other' });
    expect((await eve.get(`/issues/${number}`)).body).toBe('other');
    const asked = `{ repository(owner: "acme", name: "rocket") { issue(number: ${number}) { lastEditedAt } } }`;
    const first = { list: -1, query: -1 };
    for (let second = 0; second <= 5; second++, now += 1000) {
      if (first.list < 0 && (await eve.get('/issues'))[0].body === 'other') first.list = second;
      const edited = (await eve.graphql(asked)).data.repository.issue.lastEditedAt;
      if (first.query < 0 && edited !== null) first.query = second;
    }
    await late.close();
    return first;
  }

  it('show what was written within the given time, the same for the same seed', async () => {
    const seen = [await seenAfter(1), await seenAfter(2), await seenAfter(3), await seenAfter(4)];
    for (const { list, query } of seen) {
      expect(list).toBeGreaterThanOrEqual(0);
      expect(query).toBeGreaterThanOrEqual(0);
    }
    expect(seen.some(({ list, query }) => list < query)).toBe(true);
    expect(await seenAfter(1)).toEqual(seen[0]);
  });

  it('show the head of a pull request late, with what was reported for it, each in its own time', async () => {
    github.world.copies = createLag(github.world, { seed: 2, ms: 5000 });
    const { sha: old, number } = await openPull('a', { 'a.txt': 'a\n' });
    await ada.post(`/statuses/${old}`, { context: 'ci', state: 'success' });
    now += 10_000;
    await ada.git(dir, 'checkout', '-q', 'a');
    const sha = await commit('More', { 'b.txt': 'b\n' });
    await ada.git(dir, 'push', '-q', 'origin', 'a');
    expect(await ada.git(dir, 'ls-remote', 'origin', 'refs/heads/a')).toContain(sha);
    const asked = `{ repository(owner: "acme", name: "rocket") { pullRequest(number: ${number}) {
      commits(last: 1) { nodes { commit { oid statusCheckRollup { state } } } } } } }`;
    const heads = async () => {
      const { commit } = (await ada.graphql(asked)).data.repository.pullRequest.commits.nodes[0];
      expect(commit.statusCheckRollup === null).toBe(commit.oid === sha);
      return {
        list: (await ada.get('/pulls'))[0].head.sha,
        query: commit.oid,
        alone: (await ada.get(`/pulls/${number}`)).head.sha,
      };
    };
    expect(Object.values(await heads())).toContain(old);
    const since: Record<string, number> = {};
    for (let second = 0; second <= 5; second++, now += 1000)
      for (const [reader, seen] of Object.entries(await heads())) if (seen === sha) since[reader] ??= second;
    expect(Object.keys(since).toSorted()).toEqual(['alone', 'list', 'query']);
    expect(new Set(Object.values(since)).size).toBeGreaterThan(1);
  });

  it.each([1, 2, 3])(
    'show an issue’s history, a queue and the list of runs in times of their own, seed %i',
    async (seed) => {
      const { sha, number } = await openPull('a', { 'a.txt': 'a\n' });
      const issue = (await ada.post('/issues', { title: 'T', body: 'agreed' })).number;
      const rules = { requiredChecks: [], strict: false, approvals: 0 };
      github.world.protections.set('main', { via: 'ruleset', ...rules, mergeQueue: true });
      github.world.copies = createLag(github.world, { seed, ms: 9000 });
      await ada.patch(`/issues/${issue}`, { body: 'other' });
      await ada.post(`/issues/${issue}/labels`, { labels: ['bug'] });
      reportCheck(github.world, { sha, name: 'ci' });
      const { node_id } = await ada.get(`/pulls/${number}`);
      await ada.graphql(
        `mutation { enqueuePullRequest(input: { pullRequestId: "${node_id}" }) { clientMutationId } }`,
      );
      const asked = `{ repository(owner: "acme", name: "rocket") { issue(number: ${issue}) { body lastEditedAt
      timelineItems(first: 9, itemTypes: [LABELED_EVENT]) { nodes { __typename } } }
      pullRequest(number: ${number}) { isInMergeQueue } } }`;
      const since: Record<string, number> = {};
      for (let second = 0; second <= 9; second++, now += 1000) {
        const { issue: told, pullRequest } = (await ada.graphql(asked)).data.repository;
        const seen = {
          text: told.body === 'other',
          edit: told.lastEditedAt !== null,
          label: told.timelineItems.nodes.length === 1,
          queue: pullRequest.isInMergeQueue,
          runs: (await ada.get('/actions/runs')).total_count === 1,
        };
        for (const [what, isSeen] of Object.entries(seen)) if (isSeen) since[what] ??= second;
      }
      expect(Object.keys(since).toSorted()).toEqual(['edit', 'label', 'queue', 'runs', 'text']);
      expect(since.edit).not.toBe(since.text);
      expect(since.queue).not.toBe(since.text);
      expect(since.runs).toBeGreaterThan(0);
    },
  );

  it('leave a pull request unknown to queries that was just opened', async () => {
    github.world.copies = createLag(github.world, { seed: 1, ms: 5000 });
    const { number } = await openPull('a', { 'a.txt': 'a\n' });
    const asked = `{ repository(owner: "acme", name: "rocket") { pullRequest(number: ${number}) { number } } }`;
    expect((await ada.graphql(asked)).errors[0].type).toBe('NOT_FOUND');
    expect(await ada.get('/pulls')).toEqual([]);
    now += 5000;
    expect((await ada.graphql(asked)).data.repository.pullRequest).toEqual({ number });
    expect(await ada.get('/pulls')).toMatchObject([{ number }]);
  });
});

interface Named {
  name: string;
}
type Json = Record<string, unknown>;
