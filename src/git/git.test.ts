import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compiled } from '../../test/support/compiled.ts';
import { GitFailed, UserError } from '../errors.ts';
import { identity, nulSeparated, openGit } from './git.ts';

let dir: string;
let repo: string;

function sh(args: string[], cwd = repo): string {
  return execFileSync('git', args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
  });
}

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'forge git ü-')));
  repo = join(dir, 'my repo');
  await mkdir(repo);
  sh(['init', '-q', '-b', 'main']);
  sh(['config', 'user.name', 'Ada']);
  sh(['config', 'user.email', 'ada@example.com']);
});

afterEach(() => rm(dir, { recursive: true, force: true }));

describe('openGit', () => {
  it('finds the repository from a folder inside it, also before the first commit', async () => {
    await mkdir(join(repo, 'a', 'b'), { recursive: true });
    const git = await openGit(join(repo, 'a', 'b'));
    expect(git.gitDir).toBe(join(repo, '.git'));
    expect(git.worktree).toBe(repo);
    expect((await git(['rev-parse', '--verify', '-q', 'HEAD'], { allow: [1] })).exitCode).toBe(1);
  });

  it('says that a folder is not in a repository, and what to do', async () => {
    const failure = await openGit(dir).catch((error) => error);
    expect(failure).toBeInstanceOf(UserError);
    expect(failure.message).toContain('not inside a git repository');
    expect(failure.hint).toContain('git init');
  });

  it('says that a folder does not exist', async () => {
    await expect(openGit(join(dir, 'nowhere'))).rejects.toThrow(/nowhere is not a directory/);
  });

  it('has no work tree in a bare repository', async () => {
    sh(['init', '-q', '--bare', join(dir, 'bare.git')]);
    const git = await openGit(join(dir, 'bare.git'));
    expect(git.worktree).toBeNull();
    expect((await git(['rev-parse', '--is-bare-repository'])).stdout.trim()).toBe('true');
  });

  it('keeps HEAD and index of a linked worktree apart from those of the main one', async () => {
    sh(['commit', '-q', '--allow-empty', '-m', 'one']);
    sh(['worktree', 'add', '-q', '-b', 'side', join(dir, 'linked')]);
    const git = await openGit(join(dir, 'linked'));
    expect(git.gitDir).toBe(join(repo, '.git'));
    expect((await git(['symbolic-ref', 'HEAD'])).stdout.trim()).toBe('refs/heads/side');
    expect((await git(['status', '--porcelain'])).stdout).toBe('');
  });

  it('ignores GIT_* variables of the process it runs in', async () => {
    process.env.GIT_DIR = join(dir, 'elsewhere');
    process.env.GIT_INDEX_FILE = join(dir, 'elsewhere-index');
    try {
      const git = await openGit(repo);
      expect((await git(['rev-parse', '--absolute-git-dir'])).stdout.trim()).toBe(join(repo, '.git'));
      expect((await git(['status', '--porcelain'])).stdout).toBe('');
    } finally {
      delete process.env.GIT_DIR;
      delete process.env.GIT_INDEX_FILE;
    }
  });
});

describe('git', () => {
  it('returns allowed exit codes and throws the others with what git said', async () => {
    const git = await openGit(repo);
    const failure = await git(['cat-file', '-e', 'nonsense']).catch((error) => error);
    expect(failure).toBeInstanceOf(GitFailed);
    expect(failure.exitCode).toBe(128);
    expect(failure.stderr).toContain('nonsense');
    expect((await git(['cat-file', '-e', 'nonsense'], { allow: [128] })).exitCode).toBe(128);
  });

  it('carries large input and output without a deadlock', async () => {
    const git = await openGit(repo);
    const big = 'line of some length\n'.repeat(400_000);
    const sha = (await git(['hash-object', '-w', '--stdin'], { input: big })).stdout.trim();
    expect((await git(['cat-file', 'blob', sha])).stdout).toHaveLength(big.length);
  });

  it('pipes binary data between two gits, and fails when either fails', async () => {
    await writeFile(join(repo, 'bytes'), Buffer.from([0, 255, 254, 10, 0]));
    sh(['add', '.']);
    sh(['commit', '-q', '-m', 'one']);
    sh(['init', '-q', '--bare', join(dir, 'other.git')]);
    const git = await openGit(repo);
    const other = await openGit(join(dir, 'other.git'));
    await git.pipe(
      { args: ['pack-objects', '--revs', '--stdout', '-q'], options: { input: 'HEAD\n' } },
      { args: ['index-pack', '--stdin', '--strict'], options: { env: { GIT_DIR: other.gitDir } } },
    );
    const head = sh(['rev-parse', 'HEAD']).trim();
    expect((await other(['cat-file', '-t', head])).stdout.trim()).toBe('commit');

    const broken = git.pipe({ args: ['cat-file', 'blob', 'missing'] }, { args: ['hash-object', '--stdin'] });
    await expect(broken).rejects.toThrow(/cat-file/);
    const refused = git.pipe({ args: ['cat-file', 'commit', 'HEAD'] }, { args: ['index-pack', '--stdin'] });
    await expect(refused).rejects.toThrow(/index-pack/);
  });

  it('keeps paths with spaces, unicode and newlines as they are', async () => {
    const names = ['a b', 'ä\nö', '"quoted"'];
    for (const name of names) await writeFile(join(repo, name), name);
    const git = await openGit(repo);
    const listed = await git(['ls-files', '-z', '--others']);
    expect(nulSeparated(listed.stdout).sort()).toEqual([...names].sort());
  });

  it('runs no hook, filter, fsmonitor, diff or merge program that is configured (dispatch 14)', async () => {
    const canary = join(dir, 'canary');
    const program = join(dir, 'program');
    await writeFile(program, `#!/bin/sh\ntouch '${canary}'\ncat\n`, { mode: 0o755 });
    await writeFile(join(repo, 'f.txt'), 'one\n');
    await writeFile(join(repo, '.gitattributes'), '*.txt filter=odd=name diff=mine merge=mine\n');
    sh(['add', '.']);
    sh(['commit', '-q', '-m', 'one']);
    for (const hook of [
      'pre-commit',
      'post-commit',
      'post-checkout',
      'reference-transaction',
      'post-index-change',
    ]) {
      await writeFile(join(repo, '.git', 'hooks', hook), `#!/bin/sh\ntouch '${canary}'\n`, { mode: 0o755 });
    }
    for (const key of ['filter.odd=name.clean', 'filter.odd=name.smudge', 'filter.odd=name.process']) {
      sh(['config', key, `'${program}'`]);
    }
    sh(['config', 'filter.odd=name.required', 'true']);
    sh(['config', 'core.fsmonitor', `'${program}'`]);
    sh(['config', 'diff.external', `'${program}'`]);
    sh(['config', 'diff.mine.textconv', `'${program}'`]);
    sh(['config', 'merge.mine.driver', `'${program}'`]);

    const git = await openGit(repo);
    await writeFile(join(repo, 'f.txt'), 'one\ntwo\n');
    await git(['add', '-A']);
    await git(['commit', '-q', '-m', 'two']);
    await git(['diff', 'HEAD~1', 'HEAD']);
    await git(['-c', 'core.quotePath=false', 'log', '-p']);
    await git(['status']);
    await git(['branch', 'side', 'HEAD~1']);
    await git(['checkout', '-q', 'side']);
    await writeFile(join(repo, 'f.txt'), 'zero\none\n');
    await git(['commit', '-q', '-a', '-m', 'zero']);
    await git(['merge-tree', '--write-tree', 'main', 'side'], { allow: [1] });
    expect(existsSync(canary)).toBe(false);

    expect((await git(['show', 'main:f.txt'])).stdout).toBe('one\ntwo\n');
  });

  it('merges as text where a configured merge driver was silenced', async () => {
    await writeFile(join(repo, 'f.txt'), 'a\nb\nc\nd\ne\n');
    await writeFile(join(repo, '.gitattributes'), '*.txt merge=mine\n');
    sh(['add', '.']);
    sh(['commit', '-q', '-m', 'base']);
    sh(['checkout', '-q', '-b', 'side']);
    await writeFile(join(repo, 'f.txt'), 'A\nb\nc\nd\ne\n');
    sh(['commit', '-q', '-am', 'top']);
    sh(['checkout', '-q', 'main']);
    await writeFile(join(repo, 'f.txt'), 'a\nb\nc\nd\nE\n');
    sh(['commit', '-q', '-am', 'bottom']);
    sh(['config', 'merge.mine.driver', 'false']);

    const git = await openGit(repo);
    const tree = (await git(['merge-tree', '--write-tree', 'main', 'side'])).stdout.trim();
    expect((await git(['show', `${tree}:f.txt`])).stdout).toBe('A\nb\nc\nd\nE\n');
  });
});

describe('close', () => {
  it('waits for the git that stays open, also while it is asked something', async () => {
    await writeFile(join(repo, 'f.txt'), 'one\n');
    sh(['add', '.']);
    sh(['commit', '-q', '-m', 'one']);
    const { folder, script } = compiled('test/support/closes-git.ts');
    try {
      // A process of its own: what nobody waits for any more ends it with exit 13.
      expect(execFileSync(process.execPath, [script, repo], { encoding: 'utf8' })).toBe('closed, 40\n');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('identity', () => {
  it('is what the operator configured, or what their environment says', async () => {
    expect(await identity(await openGit(repo))).toEqual({ name: 'Ada', email: 'ada@example.com' });
    process.env.GIT_AUTHOR_NAME = 'Grace Hopper';
    try {
      expect(await identity(await openGit(repo))).toEqual({ name: 'Grace Hopper', email: 'ada@example.com' });
    } finally {
      delete process.env.GIT_AUTHOR_NAME;
    }
  });

  it('is null when nothing is configured, never guessed from the host', async () => {
    sh(['config', '--unset', 'user.name']);
    sh(['config', '--unset', 'user.email']);
    const kept = process.env.GIT_CONFIG_GLOBAL;
    process.env.GIT_CONFIG_GLOBAL = '/dev/null';
    try {
      expect(await identity(await openGit(repo))).toBeNull();
    } finally {
      if (kept === undefined) delete process.env.GIT_CONFIG_GLOBAL;
      else process.env.GIT_CONFIG_GLOBAL = kept;
    }
  });
});
