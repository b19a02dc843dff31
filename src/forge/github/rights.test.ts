/** What is found at start-up, each with the right or setting that is missing. */
import { afterEach, beforeEach, expect, it, test } from 'vitest';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import { addressOf } from './address.ts';

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

it('finds a default branch with another name', async () => {
  const { sha } = await s.forge.trunk();
  s.github.world.defaultBranch = 'develop';
  const forge = await s.reopen();
  await expect(forge.trunk()).rejects.toThrow(/develop is not on GitHub/);
  await s.ada.git(s.root, 'push', '-q', 'origin', `${sha}:refs/heads/develop`);
  expect(await forge.trunk()).toEqual({ branch: 'develop', sha });
});

test.each([
  ['https://github.com/acme/rocket.git', 'https://api.github.com', 'https://github.com/acme/rocket.git'],
  ['git@github.com:acme/rocket.git', 'https://api.github.com', 'https://github.com/acme/rocket.git'],
  ['ssh://git@git.corp:2222/acme/rocket', 'https://git.corp/api/v3', 'https://git.corp/acme/rocket.git'],
  ['https://git.corp/acme/rocket/', 'https://git.corp/api/v3', 'https://git.corp/acme/rocket.git'],
])('%s is reached at %s', (remoteUrl, apiUrl, gitUrl) => {
  const address = addressOf({ repository: null, apiUrl: null, remoteUrl });
  expect(address).toMatchObject({ owner: 'acme', name: 'rocket', apiUrl, gitUrl });
});

test.each([null, '/srv/git/rocket.git', 'https://github.com/acme', 'file:///srv/x'])(
  '%s does not tell which repository it is',
  (remoteUrl) => {
    expect(() => addressOf({ repository: null, apiUrl: null, remoteUrl })).toThrow(/Can't tell which/);
    expect(addressOf({ repository: 'acme/rocket', apiUrl: null, remoteUrl }).name).toBe('rocket');
  },
);
