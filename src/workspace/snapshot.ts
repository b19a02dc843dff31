/**
 * The work tree as a git tree, through an index nobody else has.
 *
 * git runs on the repository's own directory with the workspace only as its work tree, so the agent's configuration,
 * index and exclude file have no say; .gitignore has. Paths are collected first and then named one by one: commands
 * that look around by themselves (`add -A`, `status`) start another git inside submodules.
 */
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { GitFailed, WorkspaceRefused } from '../errors.ts';
import type { Git, GitResult } from '../git/git.ts';
import { nulSeparated } from '../git/git.ts';
import { lstatOrNull, replaceIndex } from './plain-files.ts';
import { surveyWorktree } from './survey.ts';

/** Plain checkouts whatever the operator prefers for their own: all files, line endings and links as committed. */
const FAITHFUL = ['-c', 'core.sparseCheckout=false', '-c', 'core.autocrlf=false', '-c', 'core.symlinks=true'];

export interface PrivateIndex {
  path: string;
  git: Git;
  worktree: string;
  run(args: readonly string[], input?: string, allow?: readonly number[]): Promise<GitResult>;
  /** Keeps it for the next time, so that only files that changed are read again. */
  save(): Promise<void>;
}

export async function withIndex<T>(
  git: Git,
  worktree: string,
  seed: string | null,
  use: (index: PrivateIndex) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'forge-index-'));
  const path = join(dir, 'index');
  try {
    if (seed !== null && (await lstatOrNull(seed))) await replaceIndex(path, seed);
    return await use({
      path,
      git,
      worktree,
      run: async (args, input, allow = []) => {
        const env = { GIT_INDEX_FILE: path, GIT_WORK_TREE: worktree, GIT_LITERAL_PATHSPECS: '1' };
        return git([...FAITHFUL, ...args], { env, allow, ...(input === undefined ? {} : { input }) });
      },
      save: async () => {
        if (seed === null) return;
        await mkdir(dirname(seed), { recursive: true });
        await replaceIndex(seed, path);
      },
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

export interface Changes {
  written: string[];
  removed: string[];
}

/** What the work tree has differently from `head`; leaves the index at `head`. Writes nothing to the repository. */
export async function findChanges(index: PrivateIndex, head: string): Promise<Changes> {
  await surveyWorktree(index.git, index.worktree, head);
  await index.run(['read-tree', '--reset', head]);
  await index.run(['update-index', '-q', '--ignore-submodules', '--refresh'], undefined, [1]);
  const changes: Changes = { written: [], removed: [] };
  const differing = await index.run([
    'diff-files',
    '-z',
    '--name-status',
    '--no-renames',
    '--ignore-submodules=all',
  ]);
  for (const [status, path] of pairs(nulSeparated(differing.stdout))) {
    if (isLoopState(path)) continue;
    if (status === 'D') changes.removed.push(path);
    else changes.written.push(path);
  }
  const others = await index.run(['ls-files', '-z', '--others', '--exclude-standard']);
  for (const path of nulSeparated(others.stdout)) if (!isLoopState(path)) changes.written.push(path);
  return changes;
}

/** Writes the work tree's tree. What the loop keeps under .forge/ stays as it is in `loopStateFrom`. */
export async function writeSnapshot(
  index: PrivateIndex,
  changes: Changes,
  loopStateFrom: string,
): Promise<string> {
  await stage(index, ['--force-remove'], changes.removed);
  await stage(index, ['--add', '--replace'], changes.written);
  await restoreLoopState(index, loopStateFrom);
  return (await index.run(['write-tree'])).stdout.trim();
}

/** Makes the work tree that of `treeish`. What was in the index before and is not in it any more goes. */
export async function fillWorktree(index: PrivateIndex, treeish: string): Promise<void> {
  await index.run(['read-tree', '--reset', '-u', treeish]);
}

/** A copy of the index in which these paths are in conflict, for the agent's own git to show. */
export async function indexWithConflicts(index: PrivateIndex, stages: readonly string[]): Promise<string> {
  const kept = `${index.path}-merged`;
  await copyFile(index.path, kept);
  const paths = new Set(stages.map((line) => line.slice(line.indexOf('\t') + 1)));
  const gone = [...paths].map((path) => `0 ${'0'.repeat(40)}\t${path}\0`);
  await index.run(
    ['update-index', '-z', '--index-info'],
    [...gone, ...stages.map((line) => `${line}\0`)].join(''),
  );
  const conflicted = `${index.path}-conflicted`;
  await replaceIndex(conflicted, index.path);
  await replaceIndex(index.path, kept);
  return conflicted;
}

function isLoopState(path: string): boolean {
  return path === '.forge' || path.startsWith('.forge/');
}

function* pairs(fields: readonly string[]): Generator<[string, string]> {
  for (let at = 0; at + 1 < fields.length; at += 2) yield [fields[at]!, fields[at + 1]!];
}

async function stage(
  index: PrivateIndex,
  options: readonly string[],
  paths: readonly string[],
): Promise<void> {
  if (paths.length === 0) return;
  const named = paths.map((path) => `${path}\0`).join('');
  const { stderr } = await index.run(['update-index', '-z', ...options, '--stdin'], named).catch((error) => {
    throw asRefusal(error);
  });
  const forbidden = /^Ignoring path (.*)$/m.exec(stderr)?.[1];
  if (forbidden !== undefined) {
    throw new WorkspaceRefused(
      `${forbidden} can't be committed: git forbids that name. Rename or remove it.`,
    );
  }
}

/** Also takes back what the agent committed there itself. */
async function restoreLoopState(index: PrivateIndex, from: string): Promise<void> {
  const args = [
    'diff-index',
    '--cached',
    '-z',
    '--raw',
    '--no-renames',
    '--full-index',
    from,
    '--',
    '.forge',
  ];
  const lines: string[] = [];
  for (const [change, path] of pairs(nulSeparated((await index.run(args)).stdout))) {
    const [mode, , sha] = change.slice(1).split(' ');
    lines.push(mode === '000000' ? `0 ${sha}\t${path}\0` : `${mode} ${sha}\t${path}\0`);
  }
  if (lines.length > 0) await index.run(['update-index', '-z', '--index-info'], lines.join(''));
}

/** A file git can't read is the workspace's fault; a full disk is not. */
function asRefusal(error: unknown): unknown {
  if (!(error instanceof GitFailed)) return error;
  const path = /Unable to process path (.*)/i.exec(error.stderr)?.[1];
  if (path === undefined || /No space left|Read-only file system/.test(error.stderr)) return error;
  return new WorkspaceRefused(`${path} can't be committed: ${error.stderr.trim().split('\n')[0]}`, {
    cause: error,
  });
}
