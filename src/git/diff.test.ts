import { execFileSync } from 'node:child_process';
import { mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { diffs } from './diff.ts';
import { type Git, openGit } from './git.ts';

let dir: string;
let git: Git;
const sh = (...args: string[]): string =>
  execFileSync('git', args, {
    cwd: dir,
    encoding: 'utf8',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
  });
const commit = (): string => {
  sh('add', '-A');
  sh('commit', '-q', '--allow-empty', '-m', 'one');
  return sh('rev-parse', 'HEAD').trim();
};

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'forge-diff-')));
  sh('init', '-q', '-b', 'main');
  sh('config', 'user.name', 'Ada');
  sh('config', 'user.email', 'ada@example.com');
  git = await openGit(dir);
});
afterEach(async () => {
  await git.close();
  await rm(dir, { recursive: true, force: true });
});

it('names every path that differs, of a rename both names, and shows the patch', async () => {
  await writeFile(join(dir, 'old name.txt'), 'one\ntwo\nthree\nfour\n');
  await writeFile(join(dir, ':100644 100644 1 1 R100'), 'a\n');
  const before = commit();
  sh('mv', 'old name.txt', 'ünew.txt');
  await writeFile(join(dir, ':100644 100644 1 1 R100'), 'b\n');
  await symlink('ünew.txt', join(dir, 'link'));
  const after = commit();
  const { files, patch } = await diffs(git, before, after);
  expect(files).toEqual([':100644 100644 1 1 R100', 'link', 'old name.txt', 'ünew.txt']);
  expect(patch).toBe(sh('-c', 'core.quotePath=false', 'diff', '--find-renames', before, after));
  expect(patch).toContain('rename to ünew.txt');
});

it('quotes a name that could pass for a line of the patch', async () => {
  const before = commit();
  await writeFile(join(dir, 'a\n+password'), 'x\n');
  const after = commit();
  const { files, patch } = await diffs(git, before, after);
  expect(files).toEqual(['a\n+password']);
  expect(patch).toContain('+++ "b/a\\n+password"');
  expect(patch.split('\n')).not.toContain('+password');
});

it('is empty for commits with the same tree, and counts from where they parted', async () => {
  await writeFile(join(dir, 'base'), '1');
  const base = commit();
  expect(await diffs(git, base, commit())).toMatchObject({ files: [], patch: '', blobs: [] });
  await writeFile(join(dir, 'ours'), '1');
  const ours = commit();
  sh('checkout', '-q', '-b', 'theirs', base);
  await writeFile(join(dir, 'theirs'), '1');
  const { files, blobs, commits } = await diffs(git, ours, commit());
  expect(files).toEqual(['theirs']);
  expect(blobs).toEqual([{ path: 'theirs', sha: sh('rev-parse', 'HEAD:theirs').trim(), bytes: 1 }]);
  expect(commits).toEqual([{ sha: sh('rev-parse', 'HEAD').trim(), message: 'one', patch: null }]);
});

it('has each commit’s own patch where there are several, of a merge only what neither side had', async () => {
  const put = (text: string, file = 'a') => writeFile(join(dir, file), text);
  await put('1\n');
  const before = commit();
  await put('2\n');
  const first = commit();
  expect((await diffs(git, before, first)).commits).toEqual([{ sha: first, message: 'one', patch: null }]);
  sh('checkout', '-q', '-b', 'side', before);
  await put('from trunk\n', 'b');
  await put('3\n');
  const side = commit();
  sh('checkout', '-q', 'main');
  expect(() => sh('merge', '-q', 'side')).toThrow();
  await put('resolved\n');
  const merge = commit();
  const { commits } = await diffs(git, before, merge);
  const added = new Map(
    commits.map(({ sha, patch }) => [
      sha,
      patch?.match(/^\++[^+].*$/gm)?.filter((line) => !/^\+\+\+ /.test(line)),
    ]),
  );
  expect(added).toEqual(
    new Map([
      [first, ['+2']],
      [side, ['+3', '+from trunk']],
      [merge, ['++resolved']],
    ]),
  );
});
