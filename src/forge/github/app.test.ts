/** The loop as a GitHub App, and with the token of a job in GitHub Actions. */
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import { LABELS } from '../../../test/support/labels.ts';
import { openGit } from '../../git/git.ts';
import { type App, type AppOptions, openApp } from './app.ts';
import { openGitHub } from './open.ts';

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
});

let s: GitHubScratch;
let keyFile: string;
beforeEach(async () => {
  s = await githubScratch();
  keyFile = join(s.root, 'app.pem');
  writeFileSync(keyFile, privateKey);
  s.github.world.app = { id: 'Iv1.abc', slug: 'forge', publicKey, installation: 77 };
});
afterEach(() => s.dispose());

const open = (more: Partial<AppOptions> = {}): App =>
  openApp({
    id: 'Iv1.abc',
    keyFile,
    installation: null,
    apiUrl: s.github.apiUrl,
    repository: { owner: 'acme', name: 'rocket' },
    now: () => s.clock.at,
    ...more,
  });

it('works as its own bot, though GitHub refuses it /user', async () => {
  const forge = await s.open(open());
  const number = await s.people.createIssue({ title: 'T', body: 'B' });
  await forge.ensureComment(number, 'm', 'Hello.');
  await forge.ensureComment(number, 'm', 'Hello again.');
  expect(s.github.world.issues.get(number)!.comments).toMatchObject([{ user: 'forge[bot]' }]);
  const sha = await s.people.commit((await forge.trunk()).sha, { 'a.txt': 'a\n' });
  expect(await forge.push('loop/7-a', sha, null)).toBe('pushed');
  expect(await forge.check()).toEqual([]);
});

it('makes one token for an hour, and the next before it expires', async () => {
  const app = open({ installation: '77' });
  const [first, same] = await Promise.all([app.token(), app.token()]);
  expect(same).toBe(first);
  s.clock.at += 54 * 60_000;
  expect(await app.token()).toBe(first);
  s.clock.at += 2 * 60_000;
  expect(await app.token()).not.toBe(first);
});

it('makes another when GitHub does not accept the one in use', async () => {
  const app = open();
  const forge = await s.open(app);
  await forge.openIssues();
  s.github.world.tokens.delete(await app.token());
  expect(await forge.openIssues()).toEqual([]);
});

it.each([
  ['a file that is not there', { keyFile: '/nowhere.pem' }, /private key of the GitHub App can't be read/],
  ['another App', { id: 'Iv1.other' }, /refused GET .*installation \(401\)/],
  ['a repository without it', { repository: { owner: 'acme', name: 'x' } }, /refused GET .*\(404\)/],
  ['a server that is down', { apiUrl: 'http://127.0.0.1:9' }, /did not answer/],
])('says what is wrong with %s', async (_what, more, says) => {
  await expect(open(more).token()).rejects.toThrow(says);
});

it('works with the token of a job in GitHub Actions as the account that has it', async () => {
  const robot = 'github-actions[bot]';
  const { users, tokens, permissions } = s.github.world;
  users.set(robot, { login: robot, id: 41_898_282, type: 'Bot' });
  permissions.set(robot, 'write');
  tokens.set('ghs_job', { login: robot, lacks: [] });
  const forge = await openGitHub({
    git: await openGit(s.root),
    root: s.root,
    labels: LABELS,
    trunk: null,
    remembered: async () => null,
    auth: 'token',
    provider: { api_url: s.github.apiUrl, repository: 'acme/rocket', paced: 'false' },
    trusted: () => 'write',
    method: () => 'squash',
    env: { GITHUB_ACTIONS: 'true', GITHUB_TOKEN: 'ghs_job' },
    warn: () => {},
  });
  const number = await s.people.createIssue({ title: 'T', body: 'B' });
  await forge.ensureComment(number, 'm', 'Hello.');
  await forge.ensureComment(number, 'm', 'Hello again.');
  expect(s.github.world.issues.get(number)!.comments).toMatchObject([{ user: robot }]);
  expect(await forge.check()).toEqual([]);
});
