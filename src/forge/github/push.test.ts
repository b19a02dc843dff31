/** A push that GitHub refuses is an answer, in its own words; one that it could not take is an outage. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import { ForgeUnavailable } from '../../errors.ts';

let s: GitHubScratch;
beforeEach(async () => {
  s = await githubScratch();
});
afterEach(() => s.dispose());

const BRANCH = 'loop/7-a';
const push = async (files: Record<string, string> = { 'a.txt': 'a\n' }) =>
  s.forge.push(BRANCH, await s.people.commit((await s.forge.trunk()).sha, files), null);

const there = () => s.github.world.git.resolve(`refs/heads/${BRANCH}`);
const served = (file: string, text: string) =>
  writeFileSync(join(s.github.world.git.gitDir, file), `${text}\n`);

describe('refused', () => {
  const SECRET = `ghp_${'x'.repeat(36)}`;
  test.each<[string, () => void, Record<string, string>, RegExp[]]>([
    [
      'a workflow, with a token that may not change any',
      () => s.github.world.tokens.get(s.bot.token)!.lacks.push('workflows=write'),
      { '.github/workflows/ci.yml': 'on: push\n' },
      [
        /^refusing to allow a Personal Access Token to create or update workflow `\.github\/workflows\/ci\.yml` without `workflow` scope$/,
      ],
    ],
    [
      'a secret, by push protection',
      () => Object.assign(s.github.world, { pushProtection: true }),
      { 'a.txt': `${SECRET}\n` },
      [
        /^push declined due to repository rule violations error: GH013: /,
        /Push cannot contain secrets GitHub Personal Access Token locations:/,
        /To push, remove secret from commit\(s\)/,
      ],
    ],
    [
      'by a protected name',
      () => served('protected-refs', `refs/heads/${BRANCH}`),
      {},
      [/^protected branch hook declined error: GH006: Protected branch update failed for refs\/heads/],
    ],
    [
      'by a hook of the server, whose words are repeated without the secret in them',
      () => served('own-hook', `Commit messages need a ticket, see https://${SECRET}@example.com`),
      {},
      [/^pre-receive hook declined Commit messages need a ticket, see https:\/\/\[redacted\]@example\.com$/],
    ],
  ])('%s', async (_what, arrange, files, says) => {
    arrange();
    const answer = await push({ 'b.txt': 'b\n', ...files });
    expect(answer).toEqual({ refused: expect.any(String) });
    for (const one of says) expect((answer as { refused: string }).refused).toMatch(one);
    expect(await there()).toBeNull();
  });

  it('by HTTP, where the account may push but this token may not', async () => {
    s.github.faults.add({
      method: 'GET',
      path: /service=git-receive-pack/,
      how: { kind: 'answer', status: 403 },
    });
    expect(await push()).toEqual({ refused: expect.stringContaining('403') });
  });

  it('and mended, it is taken', async () => {
    served('own-hook', 'Not today.');
    expect(await push()).toEqual({ refused: expect.stringContaining('Not today.') });
    rmSync(join(s.github.world.git.gitDir, 'own-hook'));
    expect(await push()).toBe('pushed');
  });
});

describe('not answered', () => {
  test.each([500, 502, 503])('HTTP %i is an outage', async (status) => {
    s.github.faults.add({ path: /git-receive-pack/, how: { kind: 'answer', status } });
    await expect(push()).rejects.toBeInstanceOf(ForgeUnavailable);
  });

  it('a connection that breaks is an outage', async () => {
    await s.forge.trunk();
    await s.github.close();
    await expect(push()).rejects.toBeInstanceOf(ForgeUnavailable);
  });

  test.each(['Internal Server Error', 'failed to update ref', 'cannot lock ref'])(
    'a ref that was rejected with "%s" is an outage',
    async (reason) => {
      served('own-reason', reason);
      await expect(push()).rejects.toThrow(reason);
      expect(await there()).toBeNull();
    },
  );

  it('a repository that nobody may push to now is waited for', async () => {
    await s.forge.trunk();
    s.github.world.archived = true;
    await expect(push()).rejects.toThrow(/archived/);
  });
});

describe('a pull request', () => {
  const wanted = { issue: 7, branch: BRANCH, title: 'T', body: 'B', marker: 'm' };
  const opened = (): Promise<unknown> => s.forge.ensurePull(wanted).catch((problem: unknown) => problem);

  it('that the token may not open is refused in GitHub’s words', async () => {
    await push();
    s.github.world.tokens.get(s.bot.token)!.lacks.push('pull_requests=write');
    expect(await opened()).toMatchObject({
      name: 'Refused',
      message: expect.stringContaining('Resource not accessible by personal access token'),
    });
  });

  it('of somebody else for the same branch is in its way until a person closes it', async () => {
    await push();
    await s.ada.post('/pulls', { title: 'Mine', head: BRANCH, base: 'main' });
    expect(await opened()).toMatchObject({
      name: 'Refused',
      message: expect.stringContaining("not the loop's: #1, opened by ada. Close it."),
    });
    await s.people.closePull(1);
    expect(await opened()).toMatchObject({ number: 2, state: 'open' });
  });

  it.each([
    [
      'a branch that GitHub does not know yet',
      () =>
        s.github.faults.add({
          ...{ method: 'POST', path: /\/pulls$/ },
          how: {
            kind: 'answer',
            status: 422,
            body: {
              message: 'Validation Failed',
              errors: [{ resource: 'PullRequest', field: 'head', code: 'invalid' }],
            },
          },
        }),
    ],
    ['an archived repository', () => Object.assign(s.github.world, { archived: true })],
  ])('is waited for in %s', async (_, arrange) => {
    await push();
    arrange();
    expect(await opened()).toBeInstanceOf(ForgeUnavailable);
  });
});
