/**
 * The work tree as a git tree, through an index nobody else has.
 *
 * git runs on the repository's own directory with the workspace only as its work tree, so the agent's configuration,
 * index and exclude file have no say; .gitignore has. Paths are collected first and then named one by one: commands
 * that look around by themselves (`add -A`, `status`) start another git inside submodules.
 */
import { copyFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { GitFailed, isDiskFault, WorkspaceRefused } from '../errors.ts';
import type { Git, GitResult } from '../git/git.ts';
import { nulSeparated } from '../git/git.ts';
import { withObjects } from '../git/lfs.ts';
import { treeOf } from '../git/objects.ts';
import { tempFolder } from '../process/temp-folder.ts';
import { findIndex, type KeptIndex, keepIndex } from './kept-index.ts';
import { isPlaced, placedIn } from './placed.ts';
import { replaceIndex } from './plain-files.ts';
import { type Link, movedLinks, placeModules, removeModules } from './submodules.ts';
import { surveyWorktree } from './survey.ts';

/**
 * Plain checkouts whatever the operator prefers for their own: all files, line endings and links as committed. And a file
 * is as its index says only when everything the file system tells of it is: its time of change above all.
 */
const FAITHFUL = [
  ...['core.sparseCheckout=false', 'core.autocrlf=false', 'core.symlinks=true'],
  ...['core.trustctime=true', 'core.checkStat=default', 'core.ignoreStat=false'],
].flatMap((setting) => ['-c', setting]);

/** Files are written by as many processes as there are processors. */
const PARALLEL = ['-c', 'checkout.workers=0'];

export interface PrivateIndex {
  path: string;
  git: Git;
  worktree: string;
  /** Paths in it that no snapshot has. */
  placed: readonly string[];
  /** The tree it is the index of; null while it is being changed, or when there is none yet. */
  tree: string | null;
  run(args: readonly string[], options?: IndexOptions): Promise<GitResult>;
  /** Keeps it for the next time, so that only files that changed are read again. */
  save(): Promise<void>;
}

interface IndexOptions {
  input?: string;
  env?: Record<string, string>;
}

export async function withIndex<T>(
  git: Git,
  worktree: string,
  kept: KeptIndex | null,
  use: (index: PrivateIndex) => Promise<T>,
): Promise<T> {
  const folder = tempFolder('index');
  const path = join(folder.path, 'index');
  try {
    const last = kept && (await findIndex(kept));
    if (last) replaceIndex(path, last.path);
    const index: PrivateIndex = {
      path,
      git,
      worktree,
      placed: kept ? placedIn(kept) : [],
      tree: last?.tree ?? null,
      run: async (args, { input, env: more } = {}) => {
        const env = { GIT_INDEX_FILE: path, GIT_WORK_TREE: worktree, GIT_LITERAL_PATHSPECS: '1', ...more };
        return git([...FAITHFUL, ...args], { env, ...(input === undefined ? {} : { input }) });
      },
      save: async () => {
        if (kept !== null && index.tree !== null) await keepIndex(kept, path, index.tree);
      },
    };
    return await use(index);
  } finally {
    folder.remove(['index']);
  }
}

/** What the work tree has differently from `head`. */
interface Changes {
  head: string;
  written: string[];
  removed: string[];
  /** Submodules that were moved to another commit. */
  links: Link[];
}

/** Leaves the index at `head`. Writes nothing to the repository. */
export async function findChanges(index: PrivateIndex, head: string): Promise<Changes> {
  const { git, worktree } = index;
  await surveyWorktree(git, worktree, head);
  const tree = await treeOf(git, head);
  if (index.tree !== tree) await index.run(['read-tree', '--reset', head]);
  index.tree = tree;
  // It may write what it found out about unchanged files to this index, which nobody else has.
  const { stdout } = await index.run(LOOK, { env: { GIT_OPTIONAL_LOCKS: '1' } });
  const changes: Changes = { head, written: [], removed: [], links: await movedLinks(git, worktree, head) };
  for (const line of nulSeparated(stdout)) {
    const change = entry(line);
    if (change === null || isLoopState(change.path) || isPlaced(index.placed, change.path)) continue;
    (change.isThere ? changes.written : changes.removed).push(change.path);
  }
  return changes;
}

const LOOK = [
  'status',
  '--porcelain=v2',
  '-z',
  '--no-renames',
  '--untracked-files=all',
  '--ignore-submodules=all',
  '--no-ahead-behind',
];

/**
 * One entry of `status`: `? <path>`, or `1 <XY> <five fields> <path>`, of which only Y compares the work tree with the
 * index; X compares the index with a HEAD that is not the workspace's.
 */
function entry(line: string): { path: string; isThere: boolean } | null {
  if (line.startsWith('? ')) return { path: line.slice(2), isThere: true };
  const [, inWorktree, path] = /^1 .(.) (?:\S+ ){6}(.*)$/s.exec(line) ?? [];
  if (path === undefined) throw new Error(`git status said ${JSON.stringify(line)}, which it should not`);
  return inWorktree === '.' ? null : { path, isThere: inWorktree !== 'D' };
}

/** Writes the work tree's tree. What the loop keeps under .forge/ stays as it is in `loopStateFrom`. */
export async function writeSnapshot(
  index: PrivateIndex,
  changes: Changes,
  loopStateFrom: string,
): Promise<string> {
  await stage(index, ['--force-remove'], changes.removed);
  await stage(index, ['--add', '--replace'], changes.written);
  if (changes.links.length > 0) {
    index.tree = null;
    const input = changes.links.map(({ path, commit }) => `160000 ${commit}\t${path}\0`).join('');
    await index.run(['update-index', '-z', '--index-info'], { input });
  }
  await restoreLoopState(index, changes.head, loopStateFrom);
  await dropPlaced(index);
  index.tree ??= (await index.run(['write-tree'])).stdout.trim();
  return index.tree;
}

/**
 * Makes the work tree that of `treeish`. What was in the index before and is not in it any more goes. Every tree is
 * filled here: workspaces, and those that gates, hooks and critics are given.
 */
export async function fillWorktree(index: PrivateIndex, treeish: string): Promise<void> {
  await removeModules(index.git, index.worktree, { from: index.tree, to: treeish });
  await withObjects(index.git, treeish, () =>
    index.run([...PARALLEL, 'read-tree', '--reset', '-u', treeish]).catch((error) => {
      throw withReason(error, index.worktree);
    }),
  );
  index.tree = await index.git.resolve(`${treeish}^{tree}`);
  await placeModules(index.git, index.worktree, treeish);
}

/** A copy of the index in which these paths are in conflict, for the agent's own git to show. */
export async function indexWithConflicts(index: PrivateIndex, stages: readonly string[]): Promise<string> {
  const kept = `${index.path}-merged`;
  copyFileSync(index.path, kept);
  const paths = new Set(stages.map((line) => line.slice(line.indexOf('\t') + 1)));
  const gone = [...paths].map((path) => `0 ${'0'.repeat(40)}\t${path}\0`);
  const input = [...gone, ...stages.map((line) => `${line}\0`)].join('');
  await index.run(['update-index', '-z', '--index-info'], { input });
  const conflicted = `${index.path}-conflicted`;
  replaceIndex(conflicted, index.path);
  replaceIndex(index.path, kept);
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
  index.tree = null;
  const input = paths.map((path) => `${path}\0`).join('');
  const args = ['update-index', '-z', ...options, '--stdin'];
  const { stderr } = await index.run(args, { input }).catch((error) => {
    throw asRefusal(error);
  });
  const forbidden = /^Ignoring path (.*)$/m.exec(stderr)?.[1];
  if (forbidden !== undefined) {
    throw new WorkspaceRefused(
      `${forbidden} can't be committed: git forbids that name. Rename or remove it.`,
    );
  }
}

/** Also where the agent committed them itself. */
async function dropPlaced(index: PrivateIndex): Promise<void> {
  if (index.placed.length === 0) return;
  const { stdout } = await index.run(['ls-files', '-z', '--', ...index.placed]);
  await stage(index, ['--force-remove'], nulSeparated(stdout));
}

/** Also takes back what the agent committed there itself, in `head`. */
async function restoreLoopState(index: PrivateIndex, head: string, from: string): Promise<void> {
  const { git } = index;
  if (head === from) return;
  const [ours, theirs] = await git.resolveAll([`${head}:.forge`, `${from}:.forge`]);
  if (ours === theirs) return;
  const shown = ['--cached', '-z', '--raw', '--no-renames', '--full-index'];
  const { stdout } = await index.run(['diff-index', ...shown, from, '--', '.forge']);
  const lines: string[] = [];
  for (const [change, path] of pairs(nulSeparated(stdout))) {
    const [mode, , sha] = change.slice(1).split(' ');
    lines.push(mode === '000000' ? `0 ${sha}\t${path}\0` : `${mode} ${sha}\t${path}\0`);
  }
  if (lines.length === 0) return;
  index.tree = null;
  await index.run(['update-index', '-z', '--index-info'], { input: lines.join('') });
}

/** A file git can't read is the workspace's fault; a full disk is not. */
function asRefusal(error: unknown): unknown {
  if (!(error instanceof GitFailed)) return error;
  const path = /Unable to process path (.*)/i.exec(error.stderr)?.[1];
  if (path === undefined || isDiskFault(error)) return error;
  return new WorkspaceRefused(`${path} can't be committed: ${error.stderr.trim().split('\n')[0]}`, {
    cause: error,
  });
}

/** git says which file it could not write, and not that the disk is full. */
function withReason(error: unknown, worktree: string): unknown {
  if (!(error instanceof GitFailed) || !/unable to (?:write|create) file/.test(error.stderr)) return error;
  const { bavail } = statfsSync(worktree);
  return bavail > 0
    ? error
    : new GitFailed(error.args, error.exitCode, `${error.stderr}No space left on device`);
}
