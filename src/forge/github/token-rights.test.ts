/** What a token may not read or show is asked another way or left out, and said; it never stops a task. */
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { reportCheck } from '../../../test/support/github/check-routes.ts';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import { EVERY_RIGHT, makeFineGrained } from '../../../test/support/github/token-rights.ts';
import type { Protection } from '../../../test/support/github/world.ts';

let s: GitHubScratch;
let warnings: string[];
beforeEach(async () => {
  warnings = [];
  s = await githubScratch({ warn: (message) => warnings.push(message) });
  s.github.world.isPrivate = true;
});
afterEach(() => s.dispose());

const without = (...rights: string[]): void =>
  makeFineGrained(
    s.github.world,
    'loop-bot',
    EVERY_RIGHT.filter((right) => !rights.includes(right)),
  );

const RULES: Protection = {
  via: 'ruleset',
  requiredChecks: [],
  strict: false,
  approvals: 0,
  mergeQueue: false,
};
const tokenOf = (login: string) => [...s.github.world.tokens.values()].find((one) => one.login === login)!;
const require = (...requiredChecks: string[]): void =>
  void s.github.world.protections.set('main', { ...RULES, requiredChecks });

async function openPull(): Promise<{ sha: string; number: number }> {
  const sha = await s.people.commit((await s.forge.trunk()).sha, { 'a.txt': 'a\n' });
  expect(await s.forge.push('loop/7-a', sha, null)).toBe('pushed');
  const request = { issue: 7, branch: 'loop/7-a', title: 'T', body: 'B', marker: 't1' };
  return { sha, number: (await s.forge.ensurePull(request)).number };
}

const checksOf = async (number: number) =>
  (await s.forge.feedback(number))!.checks.map(({ name, state, required }) => [name, state, required]);

describe('a fine-grained token, which can’t read check runs', () => {
  it('reads those of GitHub Actions as jobs, with their logs, and everything else as ever', async () => {
    without();
    require('build');
    const { sha, number } = await openPull();
    reportCheck(s.github.world, { sha, name: 'build' });
    reportCheck(s.github.world, { sha, name: 'lint', conclusion: 'failure', log: 'a line is too long' });
    await s.people.remark(number, { verdict: 'approve', body: 'Good.', file: null, line: null });
    const said = (await s.forge.feedback(number))!;
    expect(said.checks).toMatchObject([
      { name: 'build', state: 'green', required: true },
      { name: 'lint', state: 'red', required: false, logTail: 'a line is too long' },
    ]);
    expect(said.remarks.map(({ verdict }) => verdict)).toEqual(['approve']);
    expect(said.unread).toContain('this token may not read check runs');
    expect((await s.forge.pull(number))?.approvals).toHaveLength(1);
  });

  it('never takes a required check for green that it can’t see', async () => {
    without();
    require('scan');
    const { sha, number } = await openPull();
    reportCheck(s.github.world, { sha, name: 'scan', app: 'a-scanner' });
    expect(await checksOf(number)).toEqual([['scan', 'pending', true]]);
    expect((await s.forge.feedback(number))?.unread).toContain('others are not seen');
  });

  it('says which right would help where it may not read jobs either, and asks no more than once an hour', async () => {
    without('actions=read');
    require('build');
    const { sha, number } = await openPull();
    reportCheck(s.github.world, { sha, name: 'build' });
    for (let look = 0; look < 3; look++) expect(await checksOf(number)).toEqual([['build', 'pending', true]]);
    expect((await s.forge.feedback(number))?.unread).toContain('give it Actions: read');
    const asked = s.github.requests.filter(({ path }) => /check-runs|actions/.test(path));
    expect(asked.map(({ status }) => status)).toEqual([403, 403]);
    s.clock.at += 3_600_000;
    without();
    expect(await checksOf(number)).toEqual([['build', 'green', true]]);
  });
});

describe('commit statuses of another service', () => {
  const report = (sha: string) =>
    s.ada.post(`/statuses/${sha}`, { context: 'circle', state: 'success', description: 'Built' });

  it('are not seen without their own right, which is named, and asked for no more than once an hour', async () => {
    without('statuses=write');
    require('circle');
    const { sha, number } = await openPull();
    await report(sha);
    for (let look = 0; look < 3; look++)
      expect(await checksOf(number)).toEqual([['circle', 'pending', true]]);
    expect((await s.forge.feedback(number))?.unread).toContain(
      'may not read commit statuses: give it Commit statuses: read',
    );
    expect(s.github.requests.filter(({ path }) => /\/status\?/.test(path))).toMatchObject([{ status: 403 }]);
    s.clock.at += 3_600_000;
    without();
    expect(await checksOf(number)).toEqual([['circle', 'green', true]]);
    expect((await s.forge.feedback(number))?.unread).toBeUndefined();
  });

  it('are the only thing missing where check runs may be read', async () => {
    makeFineGrained(s.github.world, 'loop-bot', [
      ...EVERY_RIGHT.filter((right) => right !== 'statuses=write'),
      'checks=read',
    ]);
    const { sha, number } = await openPull();
    await report(sha);
    reportCheck(s.github.world, { sha, name: 'build' });
    expect(await checksOf(number)).toEqual([['build', 'green', false]]);
    expect((await s.forge.feedback(number))?.unread).toBe(
      'this token may not read commit statuses: give it Commit statuses: read',
    );
  });

  it('are asked for by themselves where a query shows no check at all', async () => {
    without();
    require('circle');
    const { sha, number } = await openPull();
    await report(sha);
    reportCheck(s.github.world, { sha, name: 'build' });
    const path = ['repository', `p${number}`, 'commits', 'nodes', 0, 'commit', 'statusCheckRollup'];
    const errors = [{ type: 'FORBIDDEN', path, message: 'Resource not accessible by personal access token' }];
    const change = (key: string, value: unknown) =>
      key === 'statusCheckRollup' ? null : key === '' ? { ...(value as object), errors } : value;
    s.github.faults.add({ path: /^\/graphql/, how: { kind: 'garble', change } });
    expect(await checksOf(number)).toEqual([
      ['build', 'green', false],
      ['circle', 'green', true],
    ]);
  });
});

it('a red check is told without its log where logs may not be read', async () => {
  const { sha, number } = await openPull();
  reportCheck(s.github.world, { sha, name: 'build', conclusion: 'failure', log: 'secret' });
  for (const token of s.github.world.tokens.values())
    if (token.login === 'loop-bot') token.lacks.push('actions=read');
  const said = (await s.forge.feedback(number))!;
  expect(said.checks).toMatchObject([{ name: 'build', state: 'red', logTail: null }]);
  expect(said.unread).toContain('may not read the logs');
});

it('shows no status where it may not, and goes on', async () => {
  without('statuses=write');
  const { sha, number } = await openPull();
  await s.forge.showVerified!(sha);
  await s.forge.showVerified!(sha);
  await s.forge.postReview(number, {
    marker: 'r',
    headSha: sha,
    verdict: 'APPROVE',
    body: 'Ok.',
    comments: [],
  });
  expect(s.github.world.statuses).toEqual([]);
  expect(s.github.world.issues.get(number)?.pull?.reviews).toHaveLength(1);
  expect(warnings).toEqual([
    expect.stringMatching(/forge-loop\/gate can't be shown .* permission statuses=write/),
    expect.stringMatching(/forge-loop\/critic can't be shown/),
  ]);
});

it('does without a project that its scopes do not show, and says so', async () => {
  const warn = (message: string) => void warnings.push(message);
  const forge = await s.open({ priorityField: 'Priority', warn });
  const number = await s.people.createIssue({ title: 'T', body: 'B' });
  await s.people.makeReady(number);
  tokenOf('loop-bot').scopes = 'repo';
  expect(await forge.issue(number)).toMatchObject({ readyAt: expect.any(Number), priority: null });
  expect(warnings).toEqual([expect.stringMatching(/field Priority is not read .*read:project/)]);
});

describe('doctor', () => {
  test.each<[string, boolean, RegExp]>([
    ['contents=write', true, /lacks Contents: write: nothing can be pushed/],
    ['issues=write', true, /lacks Issues: write/],
    ['pull_requests=write', true, /lacks Pull requests: write/],
    ['statuses=write', false, /lacks Commit statuses: write: forge-loop\/gate and/],
    ['actions=read', false, /lacks Actions: read: the coder is told which/],
  ])('tries %s and says what its lack costs', async (right, blocks, says) => {
    const keeps = right.replace('=write', '=read');
    makeFineGrained(s.github.world, 'loop-bot', [
      ...EVERY_RIGHT.filter((one) => one !== right),
      ...(keeps === right ? [] : [keeps]),
    ]);
    const before = JSON.stringify([...s.github.world.issues]);
    const problems = await s.forge.checkRights!();
    expect(problems).toMatchObject([
      { what: expect.stringMatching(says), fix: expect.stringContaining('Edit the token') },
      { what: expect.stringContaining('lacks Checks: read') },
    ]);
    expect(problems.map((one) => one.blocks ?? false)).toEqual([blocks, false]);
    expect([JSON.stringify([...s.github.world.issues]), s.github.world.statuses]).toEqual([before, []]);
  });

  it.each([
    [['metadata=read'], ['Contents', 'Issues', 'Pull requests']],
    [
      ['metadata=read', 'contents=write'],
      ['Issues', 'Pull requests'],
    ],
    [
      ['metadata=read', 'issues=write'],
      ['Contents', 'Pull requests'],
    ],
  ])(
    'names every right at once that keeps the loop from working, at the start of a run, too: %j',
    async (rights, lacks) => {
      makeFineGrained(s.github.world, 'loop-bot', rights);
      const blocking = (await (await s.reopen()).check()).filter(({ blocks }) => blocks);
      expect(blocking.map(({ what }) => what.replace(/:.*/, ''))).toEqual(
        lacks.map((right) => `This token lacks ${right}`),
      );
    },
  );

  it('names the required checks that may never be seen, and a status of ours that nobody can set', async () => {
    without('statuses=write');
    require('build', 'forge-loop/gate');
    expect((await s.forge.checkRights!()).map(({ what }) => what)).toEqual([
      expect.stringContaining("forge-loop/gate can't be set, which main requires"),
      expect.stringContaining(
        'statuses that other services set are not seen; one of them among what main requires (build) is never green',
      ),
      expect.stringContaining('among what main requires (build) is never green'),
    ]);
  });

  it('says where the rules of trunk show by GitHub’s refusals alone, as they do without Administration: read', async () => {
    expect(await s.forge.checkRights!()).toEqual([]);
    s.github.world.protections.set('main', { ...RULES, via: 'protection' });
    const forge = await s.reopen();
    expect(await forge.checkRights!()).toEqual([
      {
        what: expect.stringMatching(/lacks Administration: read: .* main .*learned from GitHub's refusals/),
        fix: expect.stringContaining('the role Admin'),
      },
    ]);
    s.github.world.permissions.set('loop-bot', 'admin');
    expect(await (await s.reopen()).checkRights!()).toEqual([]);
    for (const token of s.github.world.tokens.values()) token.lacks.push('administration=read');
    expect(await (await s.reopen()).checkRights!()).toMatchObject([
      { what: expect.stringContaining('Administration: read') },
    ]);
  });

  describe('of the project that says how urgent an issue is', () => {
    const problems = async () =>
      (await (await s.open({ priorityField: 'Priority' })).checkRights!()).filter(({ what }) =>
        what.includes('priority_field'),
      );
    beforeEach(async () => {
      const number = await s.people.createIssue({ title: 'T', body: 'B' });
      s.github.world.issues.get(number)!.projectFields = { Priority: 'P1' };
    });

    it('has nothing to say where it is shown, or none is asked for', async () => {
      expect(await problems()).toEqual([]);
      tokenOf('loop-bot').scopes = 'repo, workflow, read:project';
      expect(await problems()).toEqual([]);
      tokenOf('loop-bot').scopes = 'repo, workflow';
      expect(await s.forge.checkRights!()).toEqual([]);
    });

    it.each<[string, () => void, RegExp]>([
      [
        'a scope',
        () => Object.assign(tokenOf('loop-bot'), { scopes: 'repo, workflow' }),
        /requires .*'read:project'/,
      ],
      ['a right', () => without(), /Resource not accessible by personal access token/],
    ])('names it where the token lacks %s', async (_what, change, says) => {
      change();
      expect(await problems()).toEqual([
        {
          what: expect.stringMatching(says),
          fix: expect.stringMatching(/read:project.*Projects: Read-only/),
        },
      ]);
    });
  });

  it('knows of a classic token whether it may push workflows', async () => {
    const token = tokenOf('loop-bot');
    token.scopes = 'repo, read:org';
    expect(await s.forge.checkRights!()).toMatchObject([{ what: expect.stringContaining('scope workflow') }]);
    token.scopes = 'repo, workflow';
    expect(await s.forge.checkRights!()).toEqual([]);
  });
});
