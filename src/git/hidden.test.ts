import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchRepository } from '../../test/support/scratch-repository.ts';
import { diffs } from './diff.ts';

const repo = scratchRepository();
const { sh, put, commit } = repo;

it('is what git shows nothing of, before and after, also under a new name', async () => {
  await put('plain.txt', 'a\n');
  await put('größe "x".txt', 'one\n');
  await put('moved', `\0${'long\n'.repeat(50)}`);
  await put('gone', '\0');
  const before = commit();
  await put('plain.txt', 'b\n');
  await put('größe "x".txt', 'two\0\n');
  await rename(join(repo.dir, 'moved'), join(repo.dir, 'named anew'));
  await put('named anew', `\0${'long\n'.repeat(51)}`);
  await rm(join(repo.dir, 'gone'));
  expect((await diffs(repo.git, before, commit())).hidden).toEqual([
    { path: 'größe "x".txt', commit: null, before: 'one\n', after: 'two\0\n' },
    {
      path: 'named anew',
      commit: null,
      before: `\0${'long\n'.repeat(50)}`,
      after: `\0${'long\n'.repeat(51)}`,
    },
  ]);
});

it('is also what a commit on the way had, and of a merge what it has from neither side', async () => {
  await put('both', '\0');
  const before = commit();
  await put('a b', 'secret\0');
  const first = commit();
  await rm(join(repo.dir, 'a b'));
  await put('both', '1\0');
  commit();
  sh('checkout', '-q', '-b', 'side', before);
  await put('both', '2\0');
  commit();
  sh('checkout', '-q', 'main');
  expect(() => sh('merge', '-q', 'side')).toThrow();
  await put('both', 'buried\0');
  const merge = commit();
  await put('both', '3\0');
  const { hidden } = await diffs(repo.git, before, commit());
  expect(hidden).toContainEqual({ path: 'a b', commit: first, before: null, after: 'secret\0' });
  expect(hidden).toContainEqual({ path: 'both', commit: merge, before: null, after: 'buried\0' });
  expect(hidden.filter(({ commit }) => commit === null)).toEqual([
    { path: 'both', commit: null, before: '\0', after: '3\0' },
  ]);
});

it('leaves out what is large', async () => {
  const before = commit();
  await put('large', `\0${'x'.repeat(1_000_000)}`);
  expect((await diffs(repo.git, before, commit())).hidden).toEqual([]);
});
