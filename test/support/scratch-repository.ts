/** A repository of its own for each test of a file. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { type Git, openGit } from '../../src/git/git.ts';

export interface ScratchRepository {
  dir: string;
  git: Git;
  sh(...args: string[]): string;
  put(file: string, text: string): Promise<void>;
  /** Everything that lies there. */
  commit(): string;
}

export function scratchRepository(): ScratchRepository {
  const sh = (...args: string[]): string =>
    execFileSync('git', args, {
      cwd: repo.dir,
      encoding: 'utf8',
      env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
    });
  const repo = {
    sh,
    put: (file: string, text: string) => writeFile(join(repo.dir, file), text),
    commit: (): string => {
      sh('add', '-A');
      sh('commit', '-q', '--allow-empty', '-m', 'one');
      return sh('rev-parse', 'HEAD').trim();
    },
  } as ScratchRepository;
  beforeEach(async () => {
    repo.dir = await realpath(await mkdtemp(join(tmpdir(), 'forge-scratch-')));
    sh('init', '-q', '-b', 'main');
    sh('config', 'user.name', 'Ada');
    sh('config', 'user.email', 'ada@example.com');
    repo.git = await openGit(repo.dir);
  });
  afterEach(async () => {
    await repo.git.close();
    await rm(repo.dir, { recursive: true, force: true });
  });
  return repo;
}
