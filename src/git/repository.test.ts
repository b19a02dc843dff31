import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { scratchRepository } from '../../test/support/scratch-repository.ts';
import { gitRepository, type Repository } from './repository.ts';

const repo = scratchRepository();
let repository: Repository;
let trunk: string;
beforeEach(async () => {
  repository = gitRepository(repo.git);
  await repo.put('README.md', 'hello\n');
  trunk = repo.commit();
});

it('shows what a head changes since it left trunk, not what trunk did since', async () => {
  await repo.put('ä b.txt', 'neu\n');
  await rm(join(repo.dir, 'README.md'));
  const head = repo.commit();
  repo.sh('checkout', '-q', '-b', 'trunk', trunk);
  await repo.put('other.txt', 'x\n');
  const diff = await repository.diff(repo.commit(), head);
  expect(diff.files.sort()).toEqual(['README.md', 'ä b.txt']);
  expect(diff.patch).toContain('+neu');
  expect(diff.patch).not.toContain('other.txt');
});

it('knows size and content of what a head changed, and its commits in order', async () => {
  await mkdir(join(repo.dir, 'sub'));
  await repo.put('a.txt', 'one\n');
  await repo.put('sub/b.bin', '\0\0\0');
  const one = repo.commit();
  await repo.put('a.txt', 'again\n');
  await rm(join(repo.dir, 'README.md'));
  const two = repo.commit();
  const { blobs, commits } = await repository.diff(trunk, two);
  const sizes = Object.fromEntries(blobs.map(({ path, bytes }) => [path, bytes]));
  expect(sizes).toEqual({ 'README.md': null, 'a.txt': 6, 'sub/b.bin': 3 });
  const grown = (await repository.diff(one, two)).blobs.find(({ path }) => path === 'a.txt');
  expect(grown).toMatchObject({ bytes: 6, bytesBefore: 4 });
  const before = (await repository.diff(trunk, one)).blobs.find(({ path }) => path === 'a.txt');
  expect(before?.sha).toMatch(/^[0-9a-f]{40}/);
  expect(blobs.find(({ path }) => path === 'a.txt')?.sha).not.toBe(before?.sha);
  expect(commits.map(({ sha }) => sha)).toEqual([one, two]);
  expect(commits.every(({ message }) => message !== '')).toBe(true);
  const nothing = { files: [], patch: '', blobs: [], commits: [], hidden: [] };
  expect(await repository.diff(trunk, trunk)).toEqual(nothing);
});

it('reads a file as a commit has it', async () => {
  await mkdir(join(repo.dir, 'sub'));
  await repo.put('sub/ä.txt', 'größer\n');
  await rm(join(repo.dir, 'README.md'));
  const one = repo.commit();
  expect(await repository.fileAt(one, 'sub/ä.txt')).toBe('größer\n');
  expect(await repository.fileAt(one, 'README.md')).toBeNull();
  expect(await repository.fileAt(trunk, 'README.md')).toBe('hello\n');
  expect(await repository.fileAt(one, 'sub')).toBeNull();
});
