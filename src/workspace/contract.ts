/** What every kind of workspace does, on a real repository with real commits. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UserError, WorkspaceRefused } from '../errors.ts';
import { openGit } from '../git/git.ts';
import { keepKey, readKey } from './repository-key.ts';
import type { WorkspacesOptions } from './shared.ts';
import type { WorkspaceKey, Workspaces } from './workspace.ts';

export interface Scene {
  dir: string;
  /** The operator's checkout. */
  repo: string;
  root: string;
  workspaces: Workspaces;
  spec: WorkspaceKey;
  /** git as the operator or the agent would run it, in a folder. */
  run(args: readonly string[], cwd?: string): string;
  /** Another runner on the same repository, wherever it is now: nothing kept in memory. */
  reopen(repo?: string): Promise<Workspaces>;
  dispose(): Promise<void>;
}

type MakeWorkspaces = (options: WorkspacesOptions) => Workspaces;

/** A repository with spaces and unicode in its path, two commits, and a task on the second. */
export async function makeScene(make: MakeWorkspaces): Promise<Scene> {
  template ??= makeTemplate();
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'forge ws ü-')));
  const repo = join(dir, 'my repo ñ');
  await cp(await template, repo, { recursive: true });
  const run = (args: readonly string[], cwd = repo) => runGit(args, cwd);
  const root = join(dir, 'work spaces');
  const states = join(dir, 'states');
  const reopen = async (at = repo) => {
    const git = await openGit(at);
    const known = readKey(git.gitDir, at, states);
    keepKey(git.gitDir, known, states);
    return make({
      git,
      root,
      repositoryKey: known.key,
      former: known.former,
      trunk: async () => ({ branch: 'main', sha: run(['rev-parse', 'main'], at).trim() }),
    });
  };
  const baseSha = run(['rev-parse', 'main']).trim();
  const spec = { task: 't1', issue: 7, slug: 'add-thing', branch: 'loop/7-add-thing', baseSha };
  return {
    dir,
    repo,
    root,
    workspaces: await reopen(),
    spec,
    run,
    reopen,
    dispose: () => rm(dir, { recursive: true, force: true }),
  };
}

/** Made once and copied: most of a test's time would go into it. */
let template: Promise<string> | undefined;

async function makeTemplate(): Promise<string> {
  const repo = await mkdtemp(join(tmpdir(), 'forge-template-'));
  const run = (args: readonly string[]) => runGit(args, repo);
  run(['init', '-q', '-b', 'main', '--template=']);
  run(['config', 'user.name', 'Ada']);
  run(['config', 'user.email', 'ada@example.com']);
  await writeFile(join(repo, 'readme.md'), 'one\n');
  await mkdir(join(repo, 'src'));
  await writeFile(join(repo, 'src', 'a.txt'), 'a\n');
  await writeFile(join(repo, '.gitignore'), 'ignored/\n*.log\n');
  run(['add', '.']);
  run(['commit', '-q', '-m', 'one']);
  await writeFile(join(repo, 'readme.md'), 'one\ntwo\nthree\nfour\nfive\n');
  run(['commit', '-q', '-am', 'two']);
  return repo;
}

function runGit(args: readonly string[], cwd: string): string {
  return execFileSync('git', args, {
    cwd,
    encoding: 'utf8',
    env: AGENT_ENV,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** As an agent has it: a private home, no configuration of the operator's, an identity of its own. */
const AGENT_ENV = {
  PATH: process.env.PATH,
  HOME: tmpdir(),
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Agent',
  GIT_AUTHOR_EMAIL: 'agent@example.com',
  GIT_COMMITTER_NAME: 'Agent',
  GIT_COMMITTER_EMAIL: 'agent@example.com',
};

export async function removeTemplate(): Promise<void> {
  if (template) await rm(await template, { recursive: true, force: true });
}

export function workspaceContract(kind: Workspaces['kind'], make: MakeWorkspaces): void {
  let scene: Scene;
  let path: string;
  const { run, put, kept, branchHead } = {
    run: (args: readonly string[], cwd?: string) => scene.run(args, cwd).trim(),
    put: (name: string, content: string) => writeFile(join(path, name), content),
    kept: () =>
      scene.run(['for-each-ref', '--format=%(objectname)', 'refs/forge/t1/kept']).split('\n').filter(Boolean),
    branchHead: () => scene.run(['rev-parse', '--verify', scene.spec.branch]).trim(),
  };

  beforeEach(async () => {
    scene = await makeScene(make);
    path = scene.workspaces.path(scene.spec);
  });
  afterEach(() => scene.dispose());
  afterAll(removeTemplate);

  describe(`${kind} workspaces: making one`, () => {
    it('makes it at a path that follows from root, repository, issue, slug and task (dispatch 14)', async () => {
      const prepared = await scene.workspaces.prepare(scene.spec);
      expect(prepared).toEqual({ path, baseSha: scene.spec.baseSha, created: true });
      expect(dirname(dirname(path))).toBe(scene.root);
      expect(basename(path)).toBe('7-add-thing-t1');
      expect(await readFile(join(path, 'src', 'a.txt'), 'utf8')).toBe('a\n');
      expect(run(['status', '--porcelain'], path)).toBe('');
      expect(run(['symbolic-ref', 'HEAD'], path)).toBe('refs/heads/loop/7-add-thing');
      expect(branchHead()).toBe(scene.spec.baseSha);
      expect(run(['rev-parse', 'refs/forge/t1/base'])).toBe(scene.spec.baseSha);
      await scene.workspaces.verify(scene.spec);
    });

    it('leaves a workspace that is there as it is', async () => {
      await scene.workspaces.prepare(scene.spec);
      await put('new.txt', 'unsaved');
      const again = await (await scene.reopen()).prepare(scene.spec);
      expect(again.created).toBe(false);
      expect(await readFile(join(path, 'new.txt'), 'utf8')).toBe('unsaved');
    });

    it('goes on after the repository was moved, with what was not saved yet', async () => {
      await scene.workspaces.prepare(scene.spec);
      await put('committed.txt', 'by the agent');
      run(['add', '.'], path);
      run(['commit', '-q', '-m', 'mine'], path);
      await put('new.txt', 'unsaved');
      const elsewhere = join(scene.dir, 'renamed');
      await rename(scene.repo, elsewhere);

      const moved = await scene.reopen(elsewhere);
      expect(moved.path(scene.spec)).toBe(path);
      expect(await moved.probe(scene.spec)).toEqual({
        exists: true,
        intact: true,
        dirty: true,
        problem: null,
      });
      expect(await moved.prepare(scene.spec)).toMatchObject({ path, created: false });
      await moved.verify(scene.spec);
      expect(run(['status', '--porcelain'], path)).toBe('?? new.txt');
      expect(run(['log', '-1', '--format=%s'], path)).toBe('mine');
      const { head } = await moved.checkpoint(scene.spec, 'saved');
      const files = run(['ls-tree', '--name-only', head.sha], elsewhere).split('\n');
      expect(files).toEqual(expect.arrayContaining(['committed.txt', 'new.txt']));

      await rename(elsewhere, scene.repo);
      await (await scene.reopen()).verify(scene.spec);
      expect(run(['status', '--porcelain'], path)).toBe('');
      await (await scene.reopen()).reap(scene.spec);
      expect(existsSync(path)).toBe(false);
    });

    it('starts from an existing branch and keeps its commits (dispatch 16)', async () => {
      run(['checkout', '-q', '-b', scene.spec.branch]);
      await writeFile(join(scene.repo, 'earlier.txt'), 'earlier');
      run(['add', '.']);
      run(['commit', '-q', '-m', 'earlier']);
      run(['checkout', '-q', 'main']);
      const earlier = branchHead();
      await writeFile(join(scene.repo, 'trunk.txt'), 'trunk');
      run(['add', '.']);
      run(['commit', '-q', '-m', 'trunk went on']);
      const prepared = await scene.workspaces.prepare({ ...scene.spec, baseSha: run(['rev-parse', 'main']) });
      expect(prepared.baseSha).toBe(scene.spec.baseSha);
      expect(branchHead()).toBe(earlier);
      expect(existsSync(join(path, 'earlier.txt'))).toBe(true);
    });

    it('names a file in its place and leaves it alone (dispatch 16)', async () => {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, 'mine');
      await expect(scene.workspaces.prepare(scene.spec)).rejects.toThrow(WorkspaceRefused);
      await expect(scene.workspaces.prepare(scene.spec)).rejects.toThrow(path);
      expect(await readFile(path, 'utf8')).toBe('mine');
      await expect(scene.workspaces.reap(scene.spec)).rejects.toThrow(path);
    });

    it('refuses a directory in its place that holds something else (dispatch 16)', async () => {
      await mkdir(path, { recursive: true });
      await put('precious', 'mine');
      await expect(scene.workspaces.prepare(scene.spec)).rejects.toThrow(WorkspaceRefused);
      expect(await readFile(join(path, 'precious'), 'utf8')).toBe('mine');
    });

    it('uses an empty directory, and starts a half-made workspace over (dispatch 16)', async () => {
      await mkdir(path, { recursive: true });
      const halfMade = join(dirname(path), `.making-${basename(path)}`);
      await mkdir(halfMade, { recursive: true });
      await writeFile(join(halfMade, '.git'), 'half');
      await scene.workspaces.prepare(scene.spec);
      expect(existsSync(halfMade)).toBe(false);
      expect(run(['status', '--porcelain'], path)).toBe('');
    });

    it('makes a lost workspace again from what was saved (dispatch 16)', async () => {
      await scene.workspaces.prepare(scene.spec);
      await put('new.txt', 'new');
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'work');
      await rm(path, { recursive: true });
      const gone = { exists: false, intact: false, saved: head.sha };
      expect(await scene.workspaces.probe(scene.spec)).toMatchObject(gone);
      const again = await scene.workspaces.prepare(scene.spec);
      expect(again).toMatchObject({ created: true, baseSha: scene.spec.baseSha });
      expect(run(['rev-parse', 'HEAD'], path)).toBe(head.sha);
      expect(run(['status', '--porcelain'], path)).toBe('');
    });

    it('refuses a branch that is not of the loop (dispatch 14)', async () => {
      for (const branch of [
        'main',
        'loop/../main',
        'loop/x.lock',
        'loop/-x',
        'loop/a b',
        'loop/',
        'loop/x\nmain',
      ]) {
        await expect(scene.workspaces.prepare({ ...scene.spec, branch })).rejects.toThrow(WorkspaceRefused);
      }
      expect(run(['rev-parse', 'main'])).toBe(scene.spec.baseSha);
    });

    it('works while the operator has a detached HEAD and changes of their own', async () => {
      run(['checkout', '-q', '--detach', 'HEAD~1']);
      await writeFile(join(scene.repo, 'readme.md'), 'half an edit');
      await scene.workspaces.prepare(scene.spec);
      await put('new.txt', 'new');
      await scene.workspaces.checkpoint(scene.spec, 'work');
      expect(await readFile(join(scene.repo, 'readme.md'), 'utf8')).toBe('half an edit');
      expect(run(['status', '--porcelain'])).toBe('M readme.md');
    });
  });

  describe(`${kind} workspaces: saving`, () => {
    beforeEach(async () => {
      await scene.workspaces.prepare(scene.spec);
    });

    it('saves nothing when nothing changed', async () => {
      const result = await scene.workspaces.checkpoint(scene.spec, 'work');
      expect(result).toMatchObject({
        head: { sha: scene.spec.baseSha },
        baseSha: scene.spec.baseSha,
        empty: true,
      });
    });

    it('commits what was left uncommitted, as the operator, and leaves the workspace clean', async () => {
      await put('new ä\nfile.txt', 'new');
      await put('readme.md', 'changed');
      await rm(join(path, 'src', 'a.txt'));
      await symlink('readme.md', join(path, 'link'));
      await put('run.sh', '#!/bin/sh\n');
      await chmod(join(path, 'run.sh'), 0o755);
      await mkdir(join(path, 'ignored'));
      await put('ignored/x', 'x');
      const { head, empty } = await scene.workspaces.checkpoint(scene.spec, 'The work\n\nand why');

      expect(empty).toBe(false);
      expect(branchHead()).toBe(head.sha);
      expect(run(['log', '-1', '--format=%an <%ae> %cn: %B', head.sha])).toBe(
        'Ada <ada@example.com> Ada: The work\n\nand why',
      );
      expect(run(['rev-parse', `${head.sha}^`])).toBe(scene.spec.baseSha);
      const listed = run(['ls-tree', '-r', '-z', head.sha])
        .split('\0')
        .filter(Boolean)
        .map((line) => line.replace(/ blob [0-9a-f]+\t/, ' '));
      expect(listed).toEqual([
        '100644 .gitignore',
        '120000 link',
        '100644 new ä\nfile.txt',
        '100644 readme.md',
        '100755 run.sh',
      ]);
      expect(run(['status', '--porcelain'], path)).toBe('');
      expect(run(['rev-parse', 'HEAD'], path)).toBe(head.sha);
      expect(run(['symbolic-ref', 'HEAD'], path)).toBe('refs/heads/loop/7-add-thing');
      expect(await readFile(join(path, 'ignored', 'x'), 'utf8')).toBe('x');
    });

    it('takes the agent’s own commits, and commits the rest on top', async () => {
      await put('one.txt', '1');
      run(['add', '.'], path);
      run(['commit', '-q', '-m', 'mine'], path);
      const own = run(['rev-parse', 'HEAD'], path);
      expect((await scene.workspaces.checkpoint(scene.spec, 'work')).head.sha).toBe(own);
      await put('two.txt', '2');
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'rest');
      expect(run(['rev-parse', `${head.sha}^`])).toBe(own);
      run(['fsck', '--strict', '--connectivity-only', head.sha]);
    });

    it('takes in many commits and files at once', async () => {
      for (let i = 0; i < 60; i++) await put(`f${i}.txt`, `${i}`);
      run(['add', '.'], path);
      run(['commit', '-q', '-m', 'first'], path);
      for (let i = 0; i < 60; i++) await put(`f${i}.txt`, `${i} again`);
      run(['commit', '-q', '-am', 'second'], path);
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'work');
      expect(run(['rev-list', '--count', `main..${head.sha}`])).toBe('2');
      expect(run(['show', `${head.sha}:f59.txt`])).toBe('59 again');
    });

    it('answers the same when it is repeated, also by another runner', async () => {
      await put('new.txt', 'new');
      const first = await scene.workspaces.checkpoint(scene.spec, 'work');
      expect(await scene.workspaces.checkpoint(scene.spec, 'work')).toEqual(first);
      expect(await (await scene.reopen()).checkpoint(scene.spec, 'work')).toEqual(first);
    });

    it('finds a checkpoint that died before the workspace was settled', async () => {
      await put('one.txt', '1');
      await scene.workspaces.checkpoint(scene.spec, 'first');
      const git = run(['rev-parse', '--absolute-git-dir'], path);
      for (const name of ['HEAD', 'index'])
        await writeFile(join(scene.dir, name), await readFile(join(git, name)));
      const before = branchHead();
      await put('two.txt', '2');
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'second');
      for (const name of ['HEAD', 'index'])
        await writeFile(join(git, name), await readFile(join(scene.dir, name)));
      if (kind === 'clone') await writeFile(join(git, 'refs', 'heads', 'loop', '7-add-thing'), `${before}\n`);

      expect((await scene.workspaces.checkpoint(scene.spec, 'after the crash')).head).toEqual(head);
      expect(branchHead()).toBe(head.sha);
      expect(kept()).toEqual([]);
      expect(run(['status', '--porcelain'], path)).toBe('');
    });

    it('sees an edit that leaves size and time of a file as they were', async () => {
      await put('same.txt', 'aaaa');
      await scene.workspaces.checkpoint(scene.spec, 'first');
      const { atime, mtime } = await lstat(join(path, 'same.txt'));
      await put('same.txt', 'bbbb');
      await utimes(join(path, 'same.txt'), atime, mtime);
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'second');
      expect(run(['show', `${head.sha}:same.txt`])).toBe('bbbb');
    });

    it('accepts amended history above the base and keeps the former head', async () => {
      await put('one.txt', '1');
      const { head: former } = await scene.workspaces.checkpoint(scene.spec, 'first');
      await put('one.txt', 'better');
      run(['commit', '-q', '-a', '--amend', '-m', 'amended'], path);
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'second');
      expect(run(['rev-parse', `${head.sha}^`])).toBe(scene.spec.baseSha);
      expect(branchHead()).toBe(head.sha);
      if (kind === 'clone') expect(kept()).toEqual([former.sha]);
      expect(run(['for-each-ref', '--contains', former.sha])).not.toBe('');
    });

    it('refuses history that lacks the commit the task started from', async () => {
      run(['checkout', '-q', '--orphan', 'fresh'], path);
      run(['commit', '-q', '-m', 'unrelated'], path);
      const failure = await scene.workspaces.checkpoint(scene.spec, 'work').catch((error) => error);
      expect(failure).toBeInstanceOf(WorkspaceRefused);
      expect(failure.message).toContain(scene.spec.baseSha.slice(0, 10));
      expect(branchHead()).toBe(scene.spec.baseSha);
    });

    it('brings an agent that left its branch back to it, with all of its commits', async () => {
      await put('on-branch.txt', '1');
      run(['add', '.'], path);
      run(['commit', '-q', '-m', 'on the branch'], path);
      const left = run(['rev-parse', 'HEAD'], path);
      run(['checkout', '-q', '-b', 'own-idea', scene.spec.baseSha], path);
      await put('elsewhere.txt', '2');
      run(['add', '.'], path);
      run(['commit', '-q', '-m', 'elsewhere'], path);
      await expect(scene.workspaces.verify(scene.spec)).rejects.toThrow(/not on its branch/);
      expect(await scene.workspaces.probe(scene.spec)).toMatchObject({ intact: true, dirty: true });

      await scene.workspaces.checkpoint(scene.spec, 'work');
      expect(run(['symbolic-ref', 'HEAD'], path)).toBe('refs/heads/loop/7-add-thing');
      expect(run(['log', '-1', '--format=%s', scene.spec.branch])).toBe('elsewhere');
      expect(kept()).toEqual([left]);
      await scene.workspaces.verify(scene.spec);
    });

    it('takes a detached HEAD and an unborn branch as work on the last saved head', async () => {
      run(['checkout', '-q', '--detach'], path);
      await put('one.txt', '1');
      const { head: first } = await scene.workspaces.checkpoint(scene.spec, 'first');
      run(['checkout', '-q', '--orphan', 'nothing-yet'], path);
      await put('two.txt', '2');
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'second');
      expect(run(['rev-parse', `${head.sha}^`])).toBe(first.sha);
      expect(run(['ls-tree', '--name-only', head.sha]).split('\n')).toContain('one.txt');
    });

    it('never writes over a branch that somebody else moved, and loses nothing', async () => {
      const theirs = run([
        'commit-tree',
        '-p',
        scene.spec.baseSha,
        '-m',
        'theirs',
        `${scene.spec.baseSha}^{tree}`,
      ]);
      await put('mine.txt', 'mine');
      run(['update-ref', `refs/heads/${scene.spec.branch}`, theirs]);
      if (kind === 'worktree') {
        await expect(scene.workspaces.checkpoint(scene.spec, 'work')).rejects.toThrow(/Branch moved/);
      } else {
        const { head } = await scene.workspaces.checkpoint(scene.spec, 'work');
        expect(run(['rev-parse', 'refs/forge/t1/head'])).toBe(head.sha);
        expect(run(['ls-tree', '--name-only', head.sha]).split('\n')).toContain('mine.txt');
      }
      expect(branchHead()).toBe(theirs);
      expect(await readFile(join(path, 'mine.txt'), 'utf8')).toBe('mine');
    });

    it('takes the branch further once the work contains what somebody else put there', async () => {
      if (kind === 'worktree') return;
      const theirs = run([
        'commit-tree',
        '-p',
        scene.spec.baseSha,
        '-m',
        'theirs',
        `${scene.spec.baseSha}^{tree}`,
      ]);
      await put('mine.txt', 'mine');
      run(['update-ref', `refs/heads/${scene.spec.branch}`, theirs]);
      await scene.workspaces.checkpoint(scene.spec, 'work');
      await scene.workspaces.mergeTrunk(scene.spec, theirs);
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'merged');
      expect(run(['merge-base', '--is-ancestor', theirs, head.sha])).toBe('');
      expect(branchHead()).toBe(head.sha);
    });

    it('does not bring back a branch somebody deleted, unless there is work to save', async () => {
      if (kind === 'worktree') return;
      run(['update-ref', '-d', `refs/heads/${scene.spec.branch}`]);
      await scene.workspaces.checkpoint(scene.spec, 'work');
      expect(run(['for-each-ref', `refs/heads/${scene.spec.branch}`])).toBe('');
      await put('mine.txt', 'mine');
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'work');
      expect(branchHead()).toBe(head.sha);
    });

    it('says how to set an identity when there is none, and loses nothing', async () => {
      run(['config', '--unset', 'user.name']);
      await put('new.txt', 'new');
      const before = process.env.GIT_CONFIG_GLOBAL;
      process.env.GIT_CONFIG_GLOBAL = '/dev/null';
      try {
        const failure = await scene.workspaces.checkpoint(scene.spec, 'work').catch((error) => error);
        expect(failure).toBeInstanceOf(UserError);
        expect(failure.hint).toContain('git config user.name');
      } finally {
        if (before === undefined) delete process.env.GIT_CONFIG_GLOBAL;
        else process.env.GIT_CONFIG_GLOBAL = before;
      }
      run(['config', 'user.name', 'Ada']);
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'work');
      expect(run(['show', `${head.sha}:new.txt`])).toBe('new');
    });

    it('never commits what the loop keeps under .forge, committed by the agent or not', async () => {
      await mkdir(join(path, '.forge'));
      await put('.forge/forge.db', 'state');
      await put('.forge/more', 'state');
      run(['add', '-f', '.forge/forge.db'], path);
      run(['commit', '-q', '-m', 'state'], path);
      await put('real.txt', 'real');
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'work');
      expect(run(['diff', '--name-only', scene.spec.baseSha, head.sha])).toBe('real.txt');
    });

    it('measures the work against the newest trunk it contains', async () => {
      await put('mine.txt', 'mine');
      await scene.workspaces.checkpoint(scene.spec, 'work');
      await writeFile(join(scene.repo, 'trunk.txt'), 'trunk');
      run(['add', '.']);
      run(['commit', '-q', '-m', 'trunk']);
      const trunk = run(['rev-parse', 'main']);
      expect((await scene.workspaces.checkpoint(scene.spec, 'work')).baseSha).toBe(scene.spec.baseSha);
      run(['merge', '-q', '-m', 'merge', trunk], path);
      expect((await scene.workspaces.checkpoint(scene.spec, 'work')).baseSha).toBe(trunk);
    });

    it('never counts as its own what trunk took back after the work had taken it in', async () => {
      await put('mine.txt', 'mine');
      await writeFile(join(scene.repo, 'trunk.txt'), 'trunk');
      run(['add', '.']);
      run(['commit', '-q', '-m', 'trunk']);
      const removed = run(['rev-parse', 'main']);
      run(['add', '.'], path);
      run(['commit', '-q', '-m', 'mine'], path);
      run(['merge', '-q', '-m', 'merge', removed], path);
      const { baseSha } = await scene.workspaces.checkpoint(scene.spec, 'work');
      run(['reset', '-q', '--hard', scene.spec.baseSha]);
      await put('more.txt', 'more');
      const later = await scene.workspaces.checkpoint({ ...scene.spec, baseSha }, 'more');
      expect(later.baseSha).toBe(removed);
    });

    it('saves two workspaces at the same time', async () => {
      const second = { ...scene.spec, task: 't2', issue: 8, slug: 'other', branch: 'loop/8-other' };
      await scene.workspaces.prepare(second);
      await put('one.txt', '1');
      await writeFile(join(scene.workspaces.path(second), 'two.txt'), '2');
      const [a, b] = await Promise.all([
        scene.workspaces.checkpoint(scene.spec, 'one'),
        scene.workspaces.checkpoint(second, 'two'),
      ]);
      expect(run(['diff', '--name-only', 'main', a.head.sha])).toBe('one.txt');
      expect(run(['diff', '--name-only', 'main', b.head.sha])).toBe('two.txt');
    });

    it('stores a directory that became a link, and a link that became a directory, as what they are', async () => {
      await mkdir(join(scene.dir, 'outside'));
      await writeFile(join(scene.dir, 'outside', 'a.txt'), 'secret');
      await rename(join(path, 'src'), join(path, 'moved'));
      await symlink(join(scene.dir, 'outside'), join(path, 'src'));
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'link');
      expect(run(['ls-tree', head.sha, 'src'])).toContain('120000 blob');
      expect(run(['ls-tree', '-r', '--name-only', head.sha])).not.toContain('src/');
      await rm(join(path, 'src'));
      await mkdir(join(path, 'src'));
      await put('src/b.txt', 'b');
      const { head: next } = await scene.workspaces.checkpoint(scene.spec, 'directory');
      expect(run(['ls-tree', '-r', '--name-only', next.sha]).split('\n')).toContain('src/b.txt');
      expect(await readFile(join(scene.dir, 'outside', 'a.txt'), 'utf8')).toBe('secret');
    });
  });

  describe(`${kind} workspaces: trunk and people`, () => {
    let trunk: string;

    beforeEach(async () => {
      await scene.workspaces.prepare(scene.spec);
      await put('readme.md', 'one\nMINE\nthree\nfour\nfive\n');
      await put('mine.txt', 'mine');
      await scene.workspaces.checkpoint(scene.spec, 'work');
      await writeFile(join(scene.repo, 'readme.md'), 'one\nTHEIRS\nthree\nfour\nfive\n');
      await writeFile(join(scene.repo, 'theirs.txt'), 'theirs');
      await rm(join(scene.repo, 'src', 'a.txt'));
      run(['add', '-A']);
      run(['commit', '-q', '-m', 'trunk']);
      trunk = run(['rev-parse', 'main']);
    });

    it('lays a merge out with its conflicts, and the next checkpoint is the merge commit', async () => {
      const before = branchHead();
      expect(await scene.workspaces.mergeTrunk(scene.spec, trunk)).toEqual({
        conflicts: ['readme.md'],
        landed: [`${run(['rev-parse', '--short=10', trunk])} trunk`],
      });
      expect(await readFile(join(path, 'readme.md'), 'utf8')).toMatch(
        /<{7}[\s\S]*MINE[\s\S]*={7}[\s\S]*THEIRS[\s\S]*>{7}/,
      );
      expect(await readFile(join(path, 'theirs.txt'), 'utf8')).toBe('theirs');
      expect(existsSync(join(path, 'src', 'a.txt'))).toBe(false);
      expect(run(['status', '--porcelain'], path)).toContain('UU readme.md');
      expect(await scene.workspaces.probe(scene.spec)).toMatchObject({ intact: true, dirty: true });
      await scene.workspaces.verify(scene.spec);

      await put('readme.md', 'one\nBOTH\nthree\nfour\nfive\n');
      const result = await scene.workspaces.checkpoint(scene.spec, 'merge');
      expect(run(['log', '-1', '--format=%P', result.head.sha])).toBe(`${before} ${trunk}`);
      expect(result.baseSha).toBe(trunk);
      expect(run(['diff', '--name-only', trunk, result.head.sha]).split('\n')).toEqual([
        'mine.txt',
        'readme.md',
      ]);
      expect(run(['status'], path)).not.toMatch(/merging|MERGE/i);
      expect(await scene.workspaces.mergeTrunk(scene.spec, trunk)).toEqual({ conflicts: [], landed: [] });
    });

    it('takes the agent’s own merge commit', async () => {
      await scene.workspaces.mergeTrunk(scene.spec, trunk);
      await put('readme.md', 'one\nBOTH\nthree\nfour\nfive\n');
      run(['commit', '-q', '-a', '-m', 'resolved'], path);
      const own = run(['rev-parse', 'HEAD'], path);
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'merge');
      expect(head.sha).toBe(own);
      expect(run(['log', '-1', '--format=%P', head.sha]).split(' ')).toContain(trunk);
    });

    it('does not pretend that a merge the agent gave up was made', async () => {
      await scene.workspaces.mergeTrunk(scene.spec, trunk);
      run(['merge', '--abort'], path);
      const before = branchHead();
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'merge');
      expect(head.sha).toBe(before);
      expect((await scene.workspaces.mergeTrunk(scene.spec, trunk)).conflicts).toEqual(['readme.md']);
    });

    it('saves unsaved work before it merges, and answers the same when repeated', async () => {
      await put('unsaved.txt', 'unsaved');
      const first = await scene.workspaces.mergeTrunk(scene.spec, trunk);
      const before = branchHead();
      expect(run(['show', `${before}:unsaved.txt`])).toBe('unsaved');
      expect(await (await scene.reopen()).mergeTrunk(scene.spec, trunk)).toEqual(first);
      expect(branchHead()).toBe(before);
    });

    it('has trunk where it was merged from', async () => {
      expect(run(['rev-parse', 'main'], path)).toBe(kind === 'clone' ? scene.spec.baseSha : trunk);
      await scene.workspaces.mergeTrunk(scene.spec, trunk);
      expect(run(['rev-parse', 'main'], path)).toBe(trunk);
      if (kind === 'clone') expect(run(['rev-parse', 'origin/main'], path)).toBe(trunk);
    });

    it('undoes a merge it died writing, and starts it over', async () => {
      const before = branchHead();
      await scene.workspaces.mergeTrunk(scene.spec, trunk);
      const git = run(['rev-parse', '--absolute-git-dir'], path);
      await rm(join(git, 'MERGE_HEAD'));
      run(['update-ref', 'refs/forge/t1/laying', trunk]);
      run(['update-ref', '-d', 'refs/forge/t1/merging']);
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'interrupted');
      expect(head.sha).toBe(before);
      expect(existsSync(join(path, 'theirs.txt'))).toBe(false);
      expect(run(['status', '--porcelain'], path)).toBe('');
      expect((await scene.workspaces.mergeTrunk(scene.spec, trunk)).conflicts).toEqual(['readme.md']);
    });

    it('moves to a head a person pushed and keeps what was unsaved', async () => {
      const person = join(scene.dir, 'person');
      run(['clone', '-q', '-b', scene.spec.branch, scene.repo, person]);
      await writeFile(join(person, 'theirs-too.txt'), 'person');
      await rm(join(person, 'mine.txt'));
      run(['add', '-A'], person);
      run(['commit', '-q', '-m', 'by hand'], person);
      const sha = run(['rev-parse', 'HEAD'], person);
      run(['fetch', '-q', person, 'HEAD']);
      run(['update-ref', `refs/heads/${scene.spec.branch}`, sha]);
      await put('unsaved.txt', 'unsaved');

      const adopted = await scene.workspaces.adopt(scene.spec, sha);
      expect(adopted).toEqual({ sha, tree: run(['rev-parse', `${sha}^{tree}`]) });
      expect(branchHead()).toBe(sha);
      expect(existsSync(join(path, 'theirs-too.txt'))).toBe(true);
      expect(existsSync(join(path, 'mine.txt'))).toBe(false);
      expect(existsSync(join(path, 'unsaved.txt'))).toBe(false);
      expect(run(['status', '--porcelain'], path)).toBe('');
      expect(kept().map((commit) => run(['show', `${commit}:unsaved.txt`]))).toEqual(['unsaved']);
      expect(await scene.workspaces.adopt(scene.spec, sha)).toEqual(adopted);
      await put('next.txt', 'next');
      const { head } = await scene.workspaces.checkpoint(scene.spec, 'next');
      expect(run(['rev-parse', `${head.sha}^`])).toBe(sha);
    });

    it('seals what was done into one commit, none when there is no change, and finds it done when its runner died after it (loops 29)', async () => {
      const { workspaces, spec, run: git } = scene;
      await workspaces.prepare(spec);
      for (const name of ['one.txt', 'two.txt']) {
        await writeFile(join(path, name), 'done\n');
        await workspaces.checkpoint(spec, name);
      }
      const { head, commit } = await workspaces.seal(spec, spec.baseSha, 'section 1: both\n');
      expect(commit).toBe(head.sha);
      expect(git(['log', '--format=%P %s', `${spec.baseSha}..${spec.branch}`]).trim()).toBe(
        `${spec.baseSha} section 1: both`,
      );
      expect(await (await scene.reopen()).seal(spec, spec.baseSha, 'section 1: both\n')).toEqual({
        head,
        commit,
      });
      expect(await workspaces.seal(spec, head.sha, 'section 2: nothing\n')).toEqual({ head, commit: null });
      expect(await workspaces.probe(spec)).toMatchObject({ intact: true, dirty: false });
    });

    it('seals a merge of trunk once, on top of it', async () => {
      const { workspaces, spec, run: git } = scene;
      await workspaces.prepare(spec);
      await writeFile(join(path, 'mine.txt'), 'done\n');
      await workspaces.checkpoint(spec, 'mine');
      await writeFile(join(scene.repo, 'theirs.txt'), 'done\n');
      git(['add', '.']);
      git(['commit', '-q', '-m', 'theirs']);
      await workspaces.mergeTrunk(spec, git(['rev-parse', 'HEAD']).trim());
      const merged = await workspaces.checkpoint(spec, 'merged');
      const sealed = await workspaces.seal(spec, spec.baseSha, 'section 1: both\n');
      expect(git(['rev-parse', `${sealed.commit}^`]).trim()).toBe(merged.head.sha);
      expect(await (await scene.reopen()).seal(spec, spec.baseSha, 'section 1: both\n')).toEqual(sealed);
    });

    it('moves to a branch a person rebased onto trunk', async () => {
      const former = branchHead();
      const tree = run(['rev-parse', 'main^{tree}']);
      const sha = run(['commit-tree', '-p', trunk, '-m', 'rebased', tree]);
      run(['update-ref', `refs/heads/${scene.spec.branch}`, sha]);
      await scene.workspaces.adopt(scene.spec, sha);
      expect(kept()).toContain(former);
      expect(await scene.workspaces.checkpoint(scene.spec, 'work')).toMatchObject({
        head: { sha },
        baseSha: trunk,
        empty: true,
      });
    });
  });

  describe(`${kind} workspaces: every tree is a repository at its commit`, () => {
    /** A commit on trunk that no ref names, as a candidate is. */
    let candidate: string;

    beforeEach(async () => {
      run(['tag', '-a', 'v1.0', '-m', 'one', 'HEAD~1']);
      run(['tag', 'light', 'HEAD']);
      candidate = run(['commit-tree', '-p', 'main', '-m', 'candidate', 'HEAD~1^{tree}']);
    });

    const TREES: [string, () => Promise<{ path: string; head: string; dispose(): Promise<void> }>][] = [
      [
        'one for a gate',
        async () => ({ ...(await scene.workspaces.stage(candidate, 'gate')), head: candidate }),
      ],
      [
        'one for a critic',
        async () => ({ ...(await scene.workspaces.export(candidate, 'critic')), head: candidate }),
      ],
      [
        'the workspace',
        async () => {
          await scene.workspaces.prepare(scene.spec);
          return { path, head: scene.spec.baseSha, dispose: async () => {} };
        },
      ],
    ];

    it.each(TREES)('%s: files, history, tags and trunk are there', async (what, open) => {
      const tree = await open();
      const ask = (...args: string[]) => run(args, tree.path);
      expect(ask('rev-parse', 'HEAD')).toBe(tree.head);
      expect(ask('ls-files').split('\n')).toEqual(['.gitignore', 'readme.md', 'src/a.txt']);
      expect(ask('status', '--porcelain', '--ignored')).toBe('');
      expect(ask('diff', '--exit-code', 'HEAD')).toBe('');
      expect(ask('log', '--format=%s').split('\n').slice(-2)).toEqual(['two', 'one']);
      expect(ask('describe', '--tags')).toMatch(/^light/);
      expect(ask('describe')).toMatch(/^v1\.0-/);
      expect(ask('rev-parse', 'v1.0^{commit}')).toBe(run(['rev-parse', 'main~1']));
      expect(ask('merge-base', 'HEAD', 'main')).toBe(scene.spec.baseSha);
      // A linked worktree has the operator's refs, whichever they are.
      if (what !== 'the workspace' || kind === 'clone')
        expect(ask('merge-base', 'HEAD', 'origin/main')).toBe(scene.spec.baseSha);
      await tree.dispose();
    });

    it('the tree of a commit that trunk has left behind sees trunk at that commit', async () => {
      const base = run(['rev-parse', 'main~1']);
      const tree = await scene.workspaces.stage(base, 'base');
      for (const ref of ['HEAD', 'main', 'origin/main'])
        expect(run(['rev-parse', ref], tree.path)).toBe(base);
      await tree.dispose();
    });

    it('a command in one that writes to its repository changes nothing of the operator’s', async () => {
      const before = { refs: run(['for-each-ref']), config: run(['config', '--list', '--local']) };
      const tree = await scene.workspaces.stage(candidate, 'gate');
      const inside = (...args: string[]) => run(args, tree.path);
      await writeFile(join(tree.path, 'readme.md'), 'changed');
      inside('commit', '-q', '-am', 'mine');
      inside('update-ref', 'refs/heads/main', 'HEAD');
      inside('tag', '-d', 'light');
      inside('config', 'core.fsmonitor', 'false');
      inside('gc', '-q', '--prune=now');
      expect(inside('remote')).toBe('');
      expect(run(['for-each-ref'])).toBe(before.refs);
      expect(run(['config', '--list', '--local'])).toBe(before.config);
      expect(run(['status', '--porcelain'])).toBe('');
      run(['fsck', '--strict']);
      await tree.dispose();
    });

    it('a commit that is not there is an error', async () => {
      await expect(scene.workspaces.export('0'.repeat(40), 'critic')).rejects.toThrow(/0000/);
    });
  });

  describe(`${kind} workspaces: looking and removing`, () => {
    it('tells missing, clean and dirty apart without changing anything', async () => {
      expect(await scene.workspaces.probe(scene.spec)).toMatchObject({
        exists: false,
        intact: false,
        dirty: false,
        saved: null,
      });
      await scene.workspaces.prepare(scene.spec);
      expect(await scene.workspaces.probe(scene.spec)).toEqual({
        exists: true,
        intact: true,
        dirty: false,
        problem: null,
      });
      await put('new.txt', 'new');
      const refs = run(['for-each-ref']);
      expect(await scene.workspaces.probe(scene.spec)).toMatchObject({ intact: true, dirty: true });
      run(['add', '.'], path);
      run(['commit', '-q', '-m', 'mine'], path);
      expect(await scene.workspaces.probe(scene.spec)).toMatchObject({ intact: true, dirty: true });
      if (kind === 'clone') expect(run(['for-each-ref'])).toBe(refs);
      await scene.workspaces.checkpoint(scene.spec, 'work');
      expect(await scene.workspaces.probe(scene.spec)).toMatchObject({ intact: true, dirty: false });
      await rm(join(path, '.git'), { recursive: true });
      const broken = await scene.workspaces.probe(scene.spec);
      expect(broken).toMatchObject({ exists: true, intact: false });
      expect(broken.problem).toContain('.git');
    });

    it('tells where refs stand, less those of other tasks and of remotes', async () => {
      await scene.workspaces.prepare(scene.spec);
      const sha = scene.spec.baseSha;
      const others = [
        ...['heads/loop/8-other', 'forge/t2/head', 'forge/pulls/3', 'remotes/origin/main'],
        ...['forge-loop/heads/main', 'forge-loop/heads/loop/8-other'],
      ];
      for (const ref of ['tags/v1', ...others]) run(['update-ref', `refs/${ref}`, sha]);
      expect([...(await scene.workspaces.refs(scene.spec))].sort()).toEqual([
        ['refs/forge/t1/base', sha],
        ['refs/forge/t1/head', sha],
        ['refs/heads/loop/7-add-thing', sha],
        ['refs/heads/main', sha],
        ['refs/tags/v1', sha],
      ]);
    });

    it('refuses to verify a workspace that a link has taken the place of (dispatch 18)', async () => {
      await expect(scene.workspaces.verify(scene.spec)).rejects.toThrow(/missing/);
      await scene.workspaces.prepare(scene.spec);
      await rename(path, join(scene.dir, 'elsewhere'));
      await symlink(join(scene.dir, 'elsewhere'), path);
      await expect(scene.workspaces.verify(scene.spec)).rejects.toThrow(WorkspaceRefused);
    });

    it('refuses to verify when the folder above is a link out of the root (dispatch 18)', async () => {
      await scene.workspaces.prepare(scene.spec);
      await rename(dirname(path), join(scene.dir, 'elsewhere'));
      await symlink(join(scene.dir, 'elsewhere'), dirname(path));
      await expect(scene.workspaces.verify(scene.spec)).rejects.toThrow(/leads to/);
      await expect(scene.workspaces.reap(scene.spec)).rejects.toThrow(/leads to/);
    });

    it('saves what is pending before it removes a workspace, and pins only what a replay shows', async () => {
      await scene.workspaces.prepare(scene.spec);
      await put('last.txt', 'last');
      await mkdir(join(path, 'ignored'));
      await put('ignored/x', 'x');
      await chmod(join(path, 'ignored'), 0o500);
      await scene.workspaces.reap(scene.spec);
      expect(existsSync(path)).toBe(false);
      expect(run(['show', `${scene.spec.branch}:last.txt`])).toBe('last');
      expect(run(['worktree', 'list']).split('\n')).toHaveLength(1);
      await scene.workspaces.reap(scene.spec);
      const head = run(['rev-parse', scene.spec.branch]);
      const refs = () => run(['for-each-ref', '--format=%(refname)']).split('\n').sort();
      expect(refs()).toEqual([
        `refs/forge/t1/replay/${head}`,
        'refs/heads/loop/7-add-thing',
        'refs/heads/main',
      ]);
      await scene.workspaces.dropReplay('t1');
      await scene.workspaces.dropReplay('t1');
      expect(refs()).toEqual(['refs/heads/loop/7-add-thing', 'refs/heads/main']);
    });

    it('keeps every commit of a workspace that is gone from being collected until its replay is dropped', async () => {
      const { workspaces, spec } = scene;
      const objects = (): string => run(['cat-file', '--batch-check', '--batch-all-objects']);
      await workspaces.prepare(spec);
      await put('first.txt', 'x');
      const first = (await workspaces.checkpoint(spec, 'taken back\n')).head;
      await workspaces.adopt(spec, spec.baseSha);
      await put('second.txt', 'x');
      const second = (await workspaces.checkpoint(spec, 'done\n')).head;
      await workspaces.reap(spec);
      run(['update-ref', '-d', `refs/heads/${spec.branch}`]);
      run(['reflog', 'expire', '--expire=all', '--all']);
      run(['gc', '-q', '--prune=now']);
      expect([first, second].map(({ sha }) => objects().includes(sha))).toEqual([true, true]);
      await workspaces.dropReplay(spec.task);
      run(['gc', '-q', '--prune=now']);
      expect([first, second].map(({ sha }) => objects().includes(sha))).toEqual([false, false]);
    });

    it('keeps former work beside a workspace that goes, where that is asked, until it is forgotten', async () => {
      const { workspaces, spec } = scene;
      await workspaces.prepare(spec);
      await put('taken-back.txt', 'x');
      const { head } = await workspaces.checkpoint(spec, 'taken back\n');
      await workspaces.adopt(spec, spec.baseSha);
      await workspaces.reap(spec, { keepsFormer: true });
      expect(kept()).toEqual([head.sha]);
      expect(await workspaces.forget(spec)).toBe(true);
      expect(run(['for-each-ref', 'refs/forge'])).toBe('');
    });

    it('finishes a removal that died halfway', async () => {
      await scene.workspaces.prepare(scene.spec);
      await rename(path, join(dirname(path), `.removing-${basename(path)}`));
      await scene.workspaces.reap(scene.spec);
      expect(existsSync(join(dirname(path), `.removing-${basename(path)}`))).toBe(false);
      expect(run(['for-each-ref', 'refs/forge'])).toBe('');
    });

    it('keeps a workspace whose work it can’t save', async () => {
      await scene.workspaces.prepare(scene.spec);
      run(['init', '-q', 'nested'], path);
      await put('nested/work.txt', 'work');
      await expect(scene.workspaces.reap(scene.spec)).rejects.toThrow(/nested/);
      expect(await readFile(join(path, 'nested', 'work.txt'), 'utf8')).toBe('work');
      expect(run(['rev-parse', 'refs/forge/t1/base'])).toBe(scene.spec.baseSha);
    });

    it('lists workspaces no task owns, and says which hold unsaved work', async () => {
      expect(await scene.workspaces.orphans([])).toEqual([]);
      const keys = ['t1', 't2', 't3', 't4'].map((task) => ({
        ...scene.spec,
        task,
        branch: `loop/7-${task}`,
      }));
      const paths = keys.map((key) => scene.workspaces.path(key));
      for (const key of keys) await scene.workspaces.prepare(key);
      await writeFile(join(paths[2]!, 'unsaved.txt'), 'unsaved');
      await writeFile(join(paths[3]!, 'own.txt'), 'own');
      run(['add', '.'], paths[3]!);
      run(['commit', '-q', '-m', 'own'], paths[3]!);
      const made = await scene.workspaces.export(scene.spec.baseSha, 'gate');
      expect(await scene.workspaces.orphans(['t1'])).toEqual([
        { path: paths[1], unsaved: false },
        { path: paths[2], unsaved: true },
        // A linked worktree's commits are the repository's from the start.
        { path: paths[3], unsaved: kind === 'clone' },
      ]);
      await made.dispose();
      expect(await readlink(paths[0]!).catch(() => 'no link')).toBe('no link');
    });
  });
}
