import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchRepository } from '../../test/support/scratch-repository.ts';
import { diffs } from './diff.ts';
import type { Git } from './git.ts';

const repo = scratchRepository();
const { sh, commit } = repo;

it('names every path that differs, of a rename both names, and shows the patch', async () => {
  await writeFile(join(repo.dir, 'old name.txt'), 'one\ntwo\nthree\nfour\n');
  await writeFile(join(repo.dir, ':100644 100644 1 1 R100'), 'a\n');
  const before = commit();
  sh('mv', 'old name.txt', 'ünew.txt');
  await writeFile(join(repo.dir, ':100644 100644 1 1 R100'), 'b\n');
  await symlink('ünew.txt', join(repo.dir, 'link'));
  const after = commit();
  const { files, patch } = await diffs(repo.git, before, after);
  expect(files).toEqual([':100644 100644 1 1 R100', 'link', 'old name.txt', 'ünew.txt']);
  expect(patch).toBe(sh('-c', 'core.quotePath=false', 'diff', '--find-renames', before, after));
  expect(patch).toContain('rename to ünew.txt');
});

it('quotes a name that could pass for a line of the patch', async () => {
  const before = commit();
  await writeFile(join(repo.dir, 'a\n+password'), 'x\n');
  const after = commit();
  const { files, patch } = await diffs(repo.git, before, after);
  expect(files).toEqual(['a\n+password']);
  expect(patch).toContain('+++ "b/a\\n+password"');
  expect(patch.split('\n')).not.toContain('+password');
});

it('is empty for commits with the same tree, and counts from where they parted', async () => {
  await writeFile(join(repo.dir, 'base'), '1');
  const base = commit();
  expect(await diffs(repo.git, base, commit())).toMatchObject({ files: [], patch: '', blobs: [] });
  await writeFile(join(repo.dir, 'ours'), '1');
  const ours = commit();
  sh('checkout', '-q', '-b', 'theirs', base);
  await writeFile(join(repo.dir, 'theirs'), '1');
  const { files, blobs, commits } = await diffs(repo.git, ours, commit());
  expect(files).toEqual(['theirs']);
  expect(blobs).toEqual([
    { path: 'theirs', sha: sh('rev-parse', 'HEAD:theirs').trim(), bytes: 1, bytesBefore: null },
  ]);
  expect(commits).toEqual([{ sha: sh('rev-parse', 'HEAD').trim(), message: 'one', patch: null }]);
});

it('has each commit’s own patch where there are several, of a merge only what neither side had', async () => {
  const put = (text: string, file = 'a') => repo.put(file, text);
  await put('1\n');
  const before = commit();
  await put('2\n');
  const first = commit();
  expect((await diffs(repo.git, before, first)).commits).toEqual([
    { sha: first, message: 'one', patch: null },
  ]);
  sh('checkout', '-q', '-b', 'side', before);
  await put('from trunk\n', 'b');
  await put('3\n');
  const side = commit();
  sh('checkout', '-q', 'main');
  expect(() => sh('merge', '-q', 'side')).toThrow();
  await put('resolved\n');
  const merge = commit();
  const { commits } = await diffs(repo.git, before, merge);
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

it('asks git once for a patch that two pairs of commits have in common', async () => {
  const patches: string[] = [];
  const asked = (args: readonly string[], options?: Parameters<Git>[1]) => {
    if (args.includes('diff')) patches.push(args.at(-1)!);
    return repo.git(args, options);
  };
  const git: Git = Object.assign(asked, repo.git);
  await repo.put('shared', '1\n');
  const base = commit();
  await repo.put('shared', '2\n');
  const one = commit();
  sh('checkout', '-q', '-b', 'beside', base);
  await repo.put('other', '1\n');
  const trunk = commit();
  await repo.put('shared', '2\n');
  const landed = commit();
  expect((await diffs(git, trunk, landed)).patch).toBe((await diffs(git, base, one)).patch);
  expect(patches).toEqual([landed]);
  await repo.put('shared', '3\n');
  expect((await diffs(git, trunk, commit())).patch).toContain('+3');
});

it('tells again what two ids differ in, and looks anew where a name may have moved', async () => {
  await repo.put('a', '1\n');
  const before = commit();
  await repo.put('a', '2\n');
  const first = commit();
  const byName = () => diffs(repo.git, before, 'refs/heads/main');
  expect(await diffs(repo.git, before, first)).toEqual(await diffs(repo.git, before, first));
  expect(await byName()).toEqual(await diffs(repo.git, before, first));
  await repo.put('b', '3\n');
  commit();
  expect((await byName()).files).toEqual(['a', 'b']);
});

it('has the messages as git tells them, of one commit or many, in whatever encoding', async () => {
  const before = commit();
  sh('-c', 'i18n.commitEncoding=iso-8859-1', 'commit', '-q', '--allow-empty', '-m', 'caf\u00e9');
  const latin = sh('rev-parse', 'HEAD').trim();
  sh('commit', '-q', '--allow-empty', '-m', 'a title\n\nparent of a body');
  const plain = sh('rev-parse', 'HEAD').trim();
  const told = (from: string, head: string): string[] =>
    sh('log', '--reverse', '--format=%H%n%B', '-z', `${from}..${head}`).split('\0').filter(Boolean);
  const found = async (from: string, head: string): Promise<string[]> =>
    (await diffs(repo.git, from, head)).commits.map(({ sha, message }) => `${sha}\n${message}\n`);
  expect(await found(before, latin)).toEqual(told(before, latin));
  expect(await found(latin, plain)).toEqual(told(latin, plain));
  expect(await found(before, plain)).toEqual(told(before, plain));
});
