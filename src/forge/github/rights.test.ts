/** What is found at start-up, each with the right or setting that is missing. */

import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import { LABELS } from '../../../test/support/labels.ts';
import { openGit } from '../../git/git.ts';
import { addressOf } from './address.ts';
import { openGitHub } from './open.ts';

let s: GitHubScratch;
beforeEach(async () => {
  s = await githubScratch();
});
afterEach(() => s.dispose());

test.each<[string, (scratch: GitHubScratch) => void, RegExp]>([
  [
    'an archived repository',
    ({ github }) => void Object.assign(github.world, { archived: true }),
    /is archived/,
  ],
  [
    'issues that are disabled',
    ({ github }) => void Object.assign(github.world, { hasIssues: false }),
    /Issues are disabled/,
  ],
  [
    'a token that may not push',
    ({ github }) => void github.world.permissions.set('loop-bot', 'read'),
    /may not push/,
  ],
  [
    'a private repository it may not see',
    ({ github }) => {
      github.world.isPrivate = true;
      github.world.permissions.set('loop-bot', 'none');
    },
    /shows this token no repository acme\/rocket/,
  ],
  [
    'a new name',
    ({ github }) => {
      github.world.formerNames.push('acme/rocket');
      github.world.name = 'starship';
    },
    /is called acme\/starship now/,
  ],
  ['labels that do not exist', ({ github }) => github.world.labels.clear(), /do not exist yet: loop:ready/],
  ['a token that is not accepted', ({ github }) => github.world.tokens.clear(), /does not accept the token/],
])('names %s', async (what, change, says) => {
  change(s);
  const problems = await s.forge.check();
  expect(problems.map((problem) => problem.what)).toEqual([expect.stringMatching(says)]);
  expect(problems[0]?.fix).not.toBe('');
  expect(problems[0]?.blocks ?? false).toBe(!/labels|new name/.test(what));
});

it('makes the labels that are missing, once', async () => {
  s.github.world.labels.clear();
  await s.ada.post('/labels', { name: 'Loop:Ready', color: '123456' });
  expect(await s.forge.createLabels()).toEqual(expect.arrayContaining(['loop:running', 'loop:merged']));
  expect(await s.forge.createLabels()).toEqual([]);
  expect(s.github.world.labels.get('loop:ready')?.color).toBe('123456');
  expect(await s.forge.check()).toEqual([]);
});

it('goes on working under a former name', async () => {
  const number = await s.people.createIssue({ title: 'T', body: 'B' });
  s.github.world.formerNames.push('acme/rocket');
  s.github.world.name = 'starship';
  await s.forge.relabel(number, { add: ['loop:running'], remove: [] });
  await s.forge.ensureComment(number, 'm', 'Hello.');
  const sha = await s.people.commit((await s.forge.trunk()).sha, { 'a.txt': 'a\n' });
  expect(await s.forge.push('loop/7-a', sha, null)).toBe('pushed');
  expect(s.github.world.issues.get(number)).toMatchObject({ labels: ['loop:running'], comments: [{}] });
});

it('finds its pull request after the repository went to another owner', async () => {
  s.github.world.formerNames.push('acme/rocket');
  Object.assign(s.github.world, { owner: 'initech', name: 'starship' });
  const sha = await s.people.commit((await s.forge.trunk()).sha, { 'a.txt': 'a\n' });
  await s.forge.push('loop/7-a', sha, null);
  const request = { issue: 7, branch: 'loop/7-a', title: 'T', body: 'B', marker: 't1' };
  const { number } = await s.forge.ensurePull(request);
  expect((await s.forge.ensurePull(request)).number).toBe(number);
});

it('finds a default branch with another name', async () => {
  const { sha } = await s.forge.trunk();
  s.github.world.defaultBranch = 'develop';
  const forge = await s.reopen();
  // A person has to push it: a run does not wait for that.
  await expect(forge.trunk()).rejects.toMatchObject({
    message: 'The branch develop is not on GitHub.',
    hint: 'git push origin develop, or set tracker.trunk.',
    isRefusal: true,
  });
  await s.ada.git(s.root, 'push', '-q', 'origin', `${sha}:refs/heads/develop`);
  expect(await forge.trunk()).toEqual({ branch: 'develop', sha });
});

test.each([
  ['https://github.com/acme/rocket.git', 'https://api.github.com', 'https://github.com/acme/rocket.git'],
  ['git@github.com:acme/rocket.git', 'https://api.github.com', 'https://github.com/acme/rocket.git'],
  ['git@GitHub.com:acme/rocket.git', 'https://api.github.com', 'https://github.com/acme/rocket.git'],
  [
    'ssh://git@ssh.github.com:443/acme/rocket.git',
    'https://api.github.com',
    'https://github.com/acme/rocket.git',
  ],
  ['https://www.github.com/acme/rocket', 'https://api.github.com', 'https://github.com/acme/rocket.git'],
  ['ssh://git@git.corp:2222/acme/rocket', 'https://git.corp/api/v3', 'https://git.corp/acme/rocket.git'],
  ['https://git.corp/acme/rocket/', 'https://git.corp/api/v3', 'https://git.corp/acme/rocket.git'],
  ['git@octo.ghe.com:acme/rocket.git', 'https://api.octo.ghe.com', 'https://octo.ghe.com/acme/rocket.git'],
])('%s is reached at %s', (remoteUrl, apiUrl, gitUrl) => {
  const address = addressOf({ repository: null, apiUrl: null, remoteUrl });
  expect(address).toMatchObject({ owner: 'acme', name: 'rocket', apiUrl, gitUrl });
});

it('finds the people’s address of a company on ghe.com from its API', () => {
  const apiUrl = 'https://api.octo.ghe.com';
  const address = addressOf({ repository: 'acme/rocket', apiUrl, remoteUrl: null });
  expect(address).toMatchObject({ host: 'octo.ghe.com', gitUrl: 'https://octo.ghe.com/acme/rocket.git' });
});

it('reads origin as git does, and asks and pushes with its own token whatever the operator’s git stands in for the address', async () => {
  const config = (...args: string[]) => execFileSync('git', ['config', ...args], { cwd: s.root });
  config('remote.origin.url', 'work:acme/rocket.git');
  config(`url.${s.github.url}/.insteadOf`, 'work:');
  for (const diversion of ['insteadOf', 'pushInsteadOf'])
    config(`url.ssh://git@nowhere.invalid/.${diversion}`, `${s.github.url}/acme/`);
  const forge = await openGitHub({
    git: await openGit(s.root),
    root: s.root,
    labels: LABELS,
    trunk: null,
    remembered: async () => null,
    auth: 'token',
    provider: { api_url: s.github.apiUrl },
    trusted: () => 'write',
    method: () => 'squash',
    env: { GITHUB_TOKEN: s.bot.token },
    warn: () => {},
  });
  const trunk = await forge.trunk();
  expect(trunk.branch).toBe('main');
  expect(await forge.push('loop/7-a', trunk.sha, null)).toBe('pushed');
  await forge.deleteBranch('loop/7-a');
  expect(await forge.branchHead('loop/7-a')).toBeNull();
});

describe('symphony 7: what is under tracker.provider', () => {
  const opened = async (provider: Record<string, unknown>) =>
    openGitHub({
      git: await openGit(s.root),
      root: s.root,
      labels: LABELS,
      trunk: null,
      remembered: async () => null,
      auth: 'token',
      provider: { api_url: s.github.apiUrl, repository: 'acme/rocket', ...provider },
      trusted: () => 'write',
      method: () => 'squash',
      env: { GITHUB_TOKEN: s.bot.token },
      warn: () => {},
    });

  it.each([
    { drafts: false, paced: true, requests_per_hour: 100 },
    { drafts: 'false', paced: 'true', requests_per_hour: '100', installation_id: 12, app_id: 7 },
  ])('%j is taken, in quotes or not', async (provider) => {
    expect((await (await opened(provider)).trunk()).branch).toBe('main');
  });

  it.each<[string, unknown]>([
    ['drafts', 'maybe'],
    ['paced', 1],
    ['requests_per_hour', [100]],
    ['repository', { owner: 'acme' }],
    ['colour', 'red'],
    ['token', 123456],
  ])(
    '%s: %j is refused by the adapter, which says what it takes, and repeats no secret',
    async (key, value) => {
      await expect(opened({ [key]: value })).rejects.toMatchObject({
        message: expect.stringMatching(new RegExp(`^(?!.*123456).*(provider\\.${key}\\b|"${key}")`)),
        hint: expect.stringContaining('GitHub takes: repository, api_url'),
      });
    },
  );
});

test.each([null, '/srv/git/rocket.git', 'https://github.com/acme', 'file:///srv/x'])(
  '%s does not tell which repository it is',
  (remoteUrl) => {
    expect(() => addressOf({ repository: null, apiUrl: null, remoteUrl })).toThrow(/Can't tell which/);
    expect(addressOf({ repository: 'acme/rocket', apiUrl: null, remoteUrl }).name).toBe('rocket');
  },
);
