/** Submodules in workspaces and in the trees made of commits, as the operator has them. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FetchFailed } from '../errors.ts';
import { cloneWorkspaces } from './clone.ts';
import { makeScene, removeTemplate, type Scene } from './contract.ts';
import type { WorkspaceKey } from './workspace.ts';
import { worktreeWorkspaces } from './worktree.ts';

const KINDS = { clone: cloneWorkspaces, worktree: worktreeWorkspaces };

afterAll(removeTemplate);

describe.each(['clone', 'worktree'] as const)('submodules in a %s', (kind) => {
  let scene: Scene;
  let spec: WorkspaceKey;
  let path: string;
  let lib: string;
  const git = (args: readonly string[], cwd?: string) =>
    scene.run(['-c', 'protocol.file.allow=always', ...args], cwd).trim();
  const commit = async (repo: string, file: string, text: string) => {
    await writeFile(join(repo, file), text);
    git(['add', '.'], repo);
    git(['commit', '-q', '-m', `Say ${text}`], repo);
    return git(['rev-parse', 'HEAD'], repo);
  };
  const linkAt = (sha: string) => git(['rev-parse', `${sha}:lib`]);
  const save = () => scene.workspaces.checkpoint(spec, 'Save it\n');

  beforeEach(async () => {
    scene = await makeScene(KINDS[kind]);
    lib = join(scene.dir, 'lib');
    await mkdir(lib);
    git(['init', '-q', '-b', 'main', lib]);
    await commit(lib, 'lib.txt', 'one');
    git(['tag', 'v1'], lib);
    git(['submodule', '--quiet', 'add', lib, 'lib']);
    git(['commit', '-q', '-m', 'Use the library']);
    spec = { ...scene.spec, baseSha: git(['rev-parse', 'main']) };
    path = scene.workspaces.path(spec);
  });
  afterEach(() => scene.dispose());

  it('are real repositories at the recorded commit, in the workspace and in every exported tree', async () => {
    await scene.workspaces.prepare(spec);
    const tree = await scene.workspaces.export(spec.baseSha, 'test');
    for (const place of [path, tree.path]) {
      expect(await readFile(join(place, 'lib', 'lib.txt'), 'utf8')).toBe('one');
      expect(git(['rev-parse', 'HEAD'], join(place, 'lib'))).toBe(linkAt(spec.baseSha));
      expect(git(['describe', '--tags'], join(place, 'lib'))).toBe('v1');
      expect(git(['status', '--porcelain'], join(place, 'lib'))).toBe('');
    }
    const inUse = git(['submodule', 'status'], tree.path);
    await tree.dispose();
    expect(inUse).toBe(`${linkAt(spec.baseSha)} lib (v1)`);
    expect(git(['status', '--porcelain'], path)).toBe('');
    expect(await save()).toMatchObject({ empty: true });
    expect(await scene.workspaces.probe(spec)).toMatchObject({ intact: true, dirty: false });
  });

  it('go on when the repository was moved', async () => {
    await scene.workspaces.prepare(spec);
    const elsewhere = join(scene.dir, 'renamed');
    await rename(scene.repo, elsewhere);
    const moved = await scene.reopen(elsewhere);
    await moved.verify(spec);
    expect(git(['describe', '--tags'], join(path, 'lib'))).toBe('v1');
    expect(await moved.checkpoint(spec, 'Save it\n')).toMatchObject({ empty: true });
  });

  it.each([
    ['an edit', () => writeFile(join(path, 'lib', 'lib.txt'), 'edited')],
    ['a new file', () => writeFile(join(path, 'lib', 'new.txt'), 'new')],
    ['a commit', () => commit(join(path, 'lib'), 'lib.txt', 'mine')],
    [
      'a commit that is recorded',
      async () => {
        await commit(join(path, 'lib'), 'lib.txt', 'mine');
        git(['commit', '-q', '-am', 'Record it'], path);
      },
    ],
  ])('refuse %s inside, in words', async (_, change) => {
    await scene.workspaces.prepare(spec);
    await change();
    await expect(save()).rejects.toThrow(/Changes inside the submodule lib are not taken: /);
  });

  it('refuse what would make git wait inside', async () => {
    await scene.workspaces.prepare(spec);
    execFileSync('mkfifo', [join(path, 'lib', '.gitignore')]);
    await expect(save()).rejects.toThrow(/\.gitignore in .* is not a plain file/);
  });

  it('may be moved to a commit that the operator’s repository of it has, or can fetch', async () => {
    await scene.workspaces.prepare(spec);
    const newer = await commit(lib, 'lib.txt', 'two');
    git(['fetch', '-q', lib, 'main'], join(path, 'lib'));
    git(['checkout', '-q', newer], join(path, 'lib'));
    const { head } = await save();
    expect(linkAt(head.sha)).toBe(newer);
    const tree = await scene.workspaces.export(head.sha, 'test');
    expect(await readFile(join(tree.path, 'lib', 'lib.txt'), 'utf8')).toBe('two');
    await tree.dispose();
    expect(await save()).toMatchObject({ head });
  });

  it('never come from where the branch’s .gitmodules says', async () => {
    await scene.workspaces.prepare(spec);
    const other = join(scene.dir, 'other');
    await mkdir(other);
    git(['init', '-q', '-b', 'main', other]);
    const strange = await commit(other, 'lib.txt', 'strange');
    git(['config', '--file', '.gitmodules', 'submodule.lib.url', other], path);
    git(['update-index', '--cacheinfo', `160000,${strange},lib`], path);
    git(['commit', '-q', '-am', 'Redirect it'], path).trim();
    git(['fetch', '-q', other, 'main'], join(path, 'lib'));
    git(['checkout', '-q', strange], join(path, 'lib'));
    await expect(save()).rejects.toThrow(/Changes inside the submodule lib are not taken/);
  });

  it('stay empty where the operator has not initialised them', async () => {
    git(['submodule', '--quiet', 'deinit', '-f', 'lib']);
    await scene.workspaces.prepare(spec);
    expect(existsSync(join(path, 'lib', 'lib.txt'))).toBe(false);
    await writeFile(join(path, 'work.txt'), 'work\n');
    const { head } = await save();
    expect(linkAt(head.sha)).toBe(linkAt(spec.baseSha));
  });

  it('say what to do when the recorded commit is nowhere', async () => {
    git(['update-index', '--cacheinfo', `160000,${'12'.repeat(20)},lib`]);
    git(['commit', '-q', '-m', 'Record what nobody has']);
    await expect(scene.workspaces.export(git(['rev-parse', 'main']), 'test')).rejects.toThrow(
      /The submodule lib is recorded at 1212121212, which is not in your repository of it/,
    );
  });

  it('leave warm trees as they are when a commit of theirs can’t be fetched, and are asked for once', async () => {
    const first = await scene.workspaces.export(spec.baseSha, 'test');
    await first.dispose();
    const warm = () => statSync(join(first.path, 'readme.md')).ino;
    const before = warm();
    git(['update-index', '--cacheinfo', `160000,${'12'.repeat(20)},lib`]);
    git(['commit', '-q', '-m', 'Record what nobody has']);
    await expect(scene.workspaces.export('main', 'test')).rejects.toThrow(FetchFailed);
    expect(warm()).toBe(before);
    const slot = dirname(first.path);
    expect(readdirSync(dirname(slot)), 'no other was tried').toEqual([basename(slot)]);
    const next = await scene.workspaces.export(spec.baseSha, 'test');
    expect([next.path, warm()], 'and it is free').toEqual([first.path, before]);
    expect(await readFile(join(next.path, 'lib', 'lib.txt'), 'utf8')).toBe('one');
    expect(git(['status', '--porcelain'], next.path)).toBe('');
    await next.dispose();
  });

  it('go when the branch that is adopted does not have them', async () => {
    await scene.workspaces.prepare(spec);
    await writeFile(join(path, 'work.txt'), 'work\n');
    const { head } = await save();
    git(['checkout', '-q', '-b', 'theirs', head.sha]);
    git(['rm', '-q', '-f', 'lib']);
    git(['commit', '-q', '-m', 'Do without it']);
    const theirs = git(['rev-parse', 'theirs']);
    git(['checkout', '-q', 'main']);
    git(['update-ref', `refs/heads/${spec.branch}`, theirs]);
    await scene.workspaces.adopt(spec, theirs);
    expect(existsSync(join(path, 'lib'))).toBe(false);
  });
});
