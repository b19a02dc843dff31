import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Scratch, scratch } from '../../test/support/local-people.ts';
import { type Git, openGit } from './git.ts';
import { landedAs } from './landed.ts';
import { mergeCommit, mergeTree, rebaseCommits, squashCommit } from './merge.ts';
import { treeOf } from './objects.ts';

let s: Scratch;
let git: Git;
let start: string;
beforeEach(async () => {
  s = await scratch();
  git = await openGit(s.root);
  start = at('HEAD');
});
afterEach(() => s.dispose());

const at = (name: string) => s.sh(['rev-parse', name]).trim();
const commit = (parent: string, files: Record<string, string | null>) => s.people.commit(parent, files);
const lines = (...changed: Record<number, string>[]) => {
  const text = Array.from({ length: 30 }, (_, n) => `line ${n}`);
  for (const change of changed) for (const [n, line] of Object.entries(change)) text[Number(n)] = line;
  return `${text.join('\n')}\n`;
};

async function cleanTree(ours: string, theirs: string): Promise<string> {
  const merged = await mergeTree(git, ours, theirs);
  if (!merged.clean) throw new Error(`conflict in ${merged.files}`);
  return merged.tree;
}

describe('merging without a work tree', () => {
  it('joins two changes, and touches no ref, index or file', async () => {
    const before = s.sh(['for-each-ref']) + s.sh(['status', '--porcelain']);
    const trunk = await commit(start, { 'a b.txt': 'a\n' });
    const head = await commit(start, { 'ü.txt': 'u\n' });
    const sha = await squashCommit(git, { tree: await cleanTree(trunk, head), trunk, message: 'Both' });
    expect(s.sh(['ls-tree', '--name-only', '-z', sha]).split('\0').filter(Boolean).sort()).toEqual([
      'README.md',
      'a b.txt',
      'ü.txt',
    ]);
    expect(s.sh(['for-each-ref']) + s.sh(['status', '--porcelain'])).toBe(before);
  });

  it('names every file in conflict once, whatever its name', async () => {
    const trunk = await commit(start, {
      'README.md': 'ours\n',
      'neu\nzeile.txt': 'ours\n',
      'ok.txt': 'ok\n',
    });
    const head = await commit(start, { 'README.md': 'theirs\n', 'neu\nzeile.txt': 'theirs\n' });
    expect(await mergeTree(git, trunk, head)).toEqual({
      clean: false,
      files: ['README.md', 'neu\nzeile.txt'],
    });
  });

  it('tells a merge as a commit with two parents', async () => {
    const trunk = await commit(start, { 'a.txt': 'a\n' });
    const head = await commit(start, { 'b.txt': 'b\n' });
    const sha = await mergeCommit(git, {
      tree: await cleanTree(trunk, head),
      trunk,
      head,
      message: 'Merge it',
    });
    expect(s.sh(['log', '-1', '--format=%P%n%B', sha]).trim()).toBe(`${trunk} ${head}\nMerge it`);
  });

  it('replays commits one by one with their messages and authors, without those that change nothing', async () => {
    const trunk = await commit(start, { 'x.txt': 'x\n' });
    s.sh(['checkout', '-q', '--detach', start]);
    for (const [name, file] of [
      ['Grace', 'a.txt'],
      ['Linus', 'x.txt'],
      ['Grace', 'b.txt'],
    ] as const) {
      s.write(file, `${file[0]}\n`);
      s.sh(['add', '.']);
      s.sh([
        'commit',
        '-q',
        '-m',
        `Add ${file}\n\nbecause`,
        `--author=${name} <${name}@example.com>`,
        '--date=@1000000000 +0200',
      ]);
    }
    const head = at('HEAD');
    const tree = await cleanTree(trunk, head);
    const sha = await rebaseCommits(git, { tree, trunk, head, message: 'unused' });
    expect(await treeOf(git, sha)).toBe(tree);
    expect(
      s
        .sh(['log', '--format=%an/%cn/%f/%ad', '--date=raw', `${trunk}..${sha}`])
        .trim()
        .split('\n'),
    ).toEqual(['Grace/Ada/Add-b.txt/1000000000 +0200', 'Grace/Ada/Add-a.txt/1000000000 +0200']);
    expect(s.sh(['log', '-1', '--format=%b', sha]).trim()).toBe('because');
  });

  it('lands one commit instead when merges in the history hold work of their own', async () => {
    const trunk = await commit(start, { 'x.txt': 'x\n' });
    s.sh(['checkout', '-q', '--detach', await commit(start, { 'a.txt': 'a\n' })]);
    s.sh(['merge', '-q', '--no-commit', '--no-ff', trunk]);
    s.write('b.txt', 'b\n');
    s.sh(['add', '.']);
    s.sh(['commit', '-q', '-m', 'Merge and more']);
    const head = at('HEAD');
    const tree = await cleanTree(trunk, head);
    const sha = await rebaseCommits(git, { tree, trunk, head, message: 'All of it' });
    expect(await treeOf(git, sha)).toBe(tree);
  });

  it('lands one commit instead when a commit of the history conflicts with trunk', async () => {
    const trunk = await commit(start, { 'README.md': 'trunk\n' });
    const work = await commit(start, { 'README.md': 'work\n' });
    s.sh(['checkout', '-q', '--detach', work]);
    expect(() => s.sh(['merge', '-q', trunk])).toThrow();
    s.write('README.md', 'both\n');
    s.sh(['commit', '-q', '-am', 'Resolve']);
    const head = at('HEAD');
    const tree = await cleanTree(trunk, head);
    const sha = await rebaseCommits(git, { tree, trunk, head, message: 'All of it' });
    expect(s.sh(['log', '--format=%s', `${trunk}..${sha}`]).trim()).toBe('All of it');
    expect(await treeOf(git, sha)).toBe(tree);
  });
});

describe('has it landed', () => {
  it('finds a squash of several commits, also after trunk changed the same lines again', async () => {
    const base = await commit(start, { f: lines() });
    const one = await commit(base, { f: lines({ 5: 'five' }) });
    const head = await commit(one, { f: lines({ 5: 'five', 20: 'twenty' }) });
    const other = await commit(base, { g: 'g\n' });
    const squash = await commit(other, { f: lines({ 5: 'five', 20: 'twenty' }) });
    const later = await commit(squash, { f: lines({ 5: 'FIVE', 20: 'TWENTY' }) });
    expect(await landedAs(git, head, other)).toBeNull();
    expect(await landedAs(git, head, squash)).toBe(squash);
    expect(await landedAs(git, head, later)).toBe(squash);
  });

  it('finds a rebase, also after trunk changed the same lines again', async () => {
    const base = await commit(start, { f: lines() });
    const one = await commit(base, { f: lines({ 5: 'five' }) });
    const head = await commit(one, { f: lines({ 5: 'five', 20: 'twenty' }) });
    const other = await commit(base, { g: 'g\n' });
    const first = await commit(other, { f: lines({ 5: 'five' }) });
    const half = await commit(first, { f: lines({ 5: 'FIVE' }) });
    const second = await commit(first, { f: lines({ 5: 'five', 20: 'twenty' }) });
    const later = await commit(second, { f: lines({ 5: 'FIVE', 20: 'TWENTY' }) });
    expect(await landedAs(git, head, half)).toBeNull();
    expect(await landedAs(git, head, later)).toBe(second);
  });

  it('finds work that was taken over with more beside it', async () => {
    const base = await commit(start, { f: lines() });
    const head = await commit(base, { f: lines({ 5: 'five' }) });
    const trunk = await commit(base, { f: lines({ 5: 'five', 7: 'seven' }), g: 'g\n' });
    expect(await landedAs(git, head, trunk)).toBe(trunk);
  });

  it('does not find what is only in part on trunk, or is nothing', async () => {
    const base = await commit(start, { f: lines() });
    const head = await commit(base, { f: lines({ 5: 'five' }), g: 'g\n' });
    const part = await commit(base, { f: lines({ 5: 'five' }) });
    expect(await landedAs(git, head, part)).toBeNull();
    const empty = s.sh(['commit-tree', `${base}^{tree}`, '-p', base, '-m', 'nothing']).trim();
    expect(await landedAs(git, empty, part)).toBeNull();
    expect(await landedAs(git, '2'.repeat(40), part)).toBeNull();
    const stray = s.sh(['commit-tree', `${base}^{tree}`, '-m', 'stray']).trim();
    expect(await landedAs(git, stray, part)).toBeNull();
  });

  it('does not take somebody else’s equal change for it', async () => {
    const head = await commit(start, { 'a.txt': 'a\n' });
    const theirs = await squashCommit(git, {
      tree: await treeOf(git, head),
      trunk: start,
      message: 'Theirs',
    });
    expect(await landedAs(git, head, theirs)).toBe(theirs);
    expect(await landedAs(git, head, theirs, new Set([theirs]))).toBeNull();
  });
});
