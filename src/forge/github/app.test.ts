/** The loop as a GitHub App, and with the token of a job in GitHub Actions. */
import { generateKeyPairSync } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '../../../test/support/github/faults.ts';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import { LABELS } from '../../../test/support/labels.ts';
import { ForgeUnavailable, UserError } from '../../errors.ts';
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

describe('a token that can’t be made for now', () => {
  const renewal = { method: 'POST', path: /access_tokens$/ };
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => Promise.reject(new Error('it did not fail')),
      (problem: unknown) => problem,
    );

  it.each([403, 429])('is waited for as long as GitHub says (%i)', async (status) => {
    const how = status === 403 ? LIMITS.secondary(90) : LIMITS.tooMany(90);
    s.github.faults.add({ ...renewal, how });
    const problem = await failure(open().token());
    expect(problem).toBeInstanceOf(ForgeUnavailable);
    expect(problem).toMatchObject({
      message: expect.stringMatching(/refused POST .*access_tokens \(4.*secondary rate limit/),
      retryAt: s.clock.at + 90_000,
      isRefusal: false,
    });
  });

  it('is a limit, by its words, where GitHub does not say how long', async () => {
    const message = 'You have exceeded a secondary rate limit.';
    s.github.faults.add({ ...renewal, how: { kind: 'answer', status: 403, message } });
    expect(await failure(open().token())).toMatchObject({ retryAt: s.clock.at + 60_000 });
  });

  it('is a mistake at the start, and waited for once there was one', async () => {
    const suspended = {
      kind: 'answer',
      status: 403,
      message: 'This installation has been suspended',
    } as const;
    s.github.faults.add({ ...renewal, how: suspended });
    expect(await failure(open().token())).toBeInstanceOf(UserError);

    const app = open();
    const forge = await s.open(app);
    await forge.openIssues();
    s.clock.at += 3_600_000;
    s.github.faults.add({ ...renewal, how: suspended });
    const problem = await failure(forge.trunk());
    expect(problem).toBeInstanceOf(ForgeUnavailable);
    expect(problem).toMatchObject({
      message: expect.stringContaining('This installation has been suspended'),
      isRefusal: true,
    });
    expect((await forge.trunk()).branch).toBe('main');
  });

  it('is waited for, too, where the key is gone for a moment', async () => {
    const app = open();
    await app.token();
    rmSync(keyFile);
    expect(await failure(app.token(true))).toMatchObject({ name: 'ForgeUnavailable', isRefusal: true });
    writeFileSync(keyFile, privateKey);
    expect(await app.token(true)).toMatch(/^ghs_/);
  });
});

it.each([
  ['a job in GitHub Actions', 'github-actions[bot]'],
  ['an App that somebody else asked for it', 'forge[bot]'],
])('works with the token of %s as the account that has it', async (_, robot) => {
  const { users, tokens, permissions } = s.github.world;
  users.set(robot, { login: robot, id: 41_898_282, type: 'Bot' });
  permissions.set(robot, 'write');
  tokens.set('ghs_job', { login: robot, lacks: [] });
  const git = await openGit(s.root);
  const job = () =>
    openGitHub({
      git,
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
  await (await job()).ensureComment(number, 'm', 'Hello.');
  await (await job()).ensureComment(number, 'm', 'Hello again.');
  expect(s.github.world.issues.get(number)!.comments).toMatchObject([{ user: robot }]);
  expect(await (await job()).check()).toEqual([]);
});
