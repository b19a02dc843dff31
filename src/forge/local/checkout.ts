/**
 * The operator's own checkouts of trunk, and whether a merge may move them.
 *
 * Only a checkout that has trunk's branch is touched by a merge; one on another branch or a detached HEAD never is, and
 * neither is a task's worktree.
 */
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { Changed } from '../../git/changes.ts';
import { type Git, nulSeparated, openGit } from '../../git/git.ts';
import { gitDirs, worktreesOf } from '../../git/worktrees.ts';
import { readIfThere } from './file.ts';

export interface Checkout {
  git: Git;
  path: string;
  /** Where its HEAD and index are. */
  gitDir: string;
}

export async function checkoutsOf(
  git: Git,
  branch: string,
  workspaceRoot: string | null,
): Promise<Checkout[]> {
  const found: Checkout[] = [];
  for (const { path, branch: has } of await worktreesOf(git)) {
    if (has !== `refs/heads/${branch}` || isTaskWorktree(path, workspaceRoot) || !existsSync(path)) continue;
    const own = await gitAt(git, path);
    found.push({ git: own, path, gitDir: own.ownDir });
  }
  return found;
}

/** Opening one costs more than asking it. */
const opened = new WeakMap<Git, Map<string, Git>>();

async function gitAt(git: Git, path: string): Promise<Git> {
  if (path === git.worktree) return git;
  const others = opened.get(git) ?? new Map<string, Git>();
  opened.set(git, others);
  const known = others.get(path);
  // One that was removed and added again may have another directory.
  if (known && readIfThere(join(known.ownDir, 'gitdir'))?.trim() === join(path, '.git')) return known;
  const fresh = await openGit(path);
  others.set(path, fresh);
  return fresh;
}

/** Why nothing can be moved in this checkout now, whatever it would be; null when nothing is under way. */
export function whyBusy(checkout: Checkout): string | null {
  const operation = IN_PROGRESS.find(([file]) => existsSync(join(checkout.gitDir, file)));
  return operation ? `${checkout.path} is in the middle of a ${operation[1]}; finish or abort it.` : null;
}

/**
 * Edits that the change would meet; null when there are none. As with git's own fast-forward, edits of other files are no
 * reason: they are kept. `index` is a copy of its index, in which git notes what it finds out about unchanged files.
 */
export async function whyEdited(
  checkout: Checkout,
  index: string,
  change: readonly Changed[],
): Promise<string | null> {
  const touched = new Set(change.map(({ path }) => path));
  const status = await checkout.git(
    ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no', '--ignore-submodules=all'],
    { env: { GIT_INDEX_FILE: index, GIT_OPTIONAL_LOCKS: '1' } },
  );
  const dirty = nulSeparated(status.stdout)
    .map((entry) => entry.slice(3))
    .filter((path) => touched.has(path));
  if (dirty.length === 0) return null;
  return `${checkout.path} has uncommitted changes in ${naming(dirty)}, which the merge changes too; commit or stash them.`;
}

/** A quick look: does anybody hold the index of any checkout? */
export function isAnyLocked(git: Git): boolean {
  return gitDirs(git).some((dir) => existsSync(join(dir, 'index.lock')));
}

/** A rebase of trunk ends by moving trunk itself, from where it was when the rebase began. */
export function whyTrunkIsTaken(git: Git, branch: string, workspaceRoot: string | null): string | null {
  for (const dir of gitDirs(git)) {
    for (const kind of ['rebase-merge', 'rebase-apply']) {
      if (readIfThere(join(dir, kind, 'head-name'))?.trim() !== `refs/heads/${branch}`) continue;
      const path = dirname((readIfThere(join(dir, 'gitdir')) ?? git.worktree ?? dir).trim());
      if (!isTaskWorktree(path, workspaceRoot))
        return `${branch} is being rebased; finish or abort the rebase.`;
    }
  }
  return null;
}

/** A file of the change is gone. To git that is no edit: it would write it again. */
export const isAnyMissing = ({ path }: Checkout, change: readonly Changed[]): boolean =>
  change.some((one) => one.from !== null && !lstatSync(join(path, one.path), { throwIfNoEntry: false }));

/** Files of a person that the change would overwrite. Ignored files count: git itself would not spare them. */
export async function collisions(checkout: Checkout, change: readonly Changed[]): Promise<string[]> {
  const leaving = new Set(change.filter((one) => one.from !== null).map((one) => one.path));
  const found = new Set<string>();
  for (const { path } of change.filter((one) => one.from === null)) {
    const parts = path.split('/');
    for (let depth = 1; depth <= parts.length; depth++) {
      const prefix = parts.slice(0, depth).join('/');
      const stat = lstatSync(join(checkout.path, prefix), { throwIfNoEntry: false });
      if (!stat) break;
      const isLeaf = depth === parts.length;
      if (stat.isDirectory() && !stat.isSymbolicLink()) {
        if (!isLeaf) continue;
        const others = await checkout.git([
          '--literal-pathspecs',
          'ls-files',
          '-z',
          '--others',
          '--',
          `${prefix}/`,
        ]);
        for (const other of nulSeparated(others.stdout)) found.add(other);
      } else if (!leaving.has(prefix)) {
        found.add(prefix);
      }
      break;
    }
  }
  return [...found];
}

export function naming(paths: readonly string[]): string {
  const shown = paths.slice(0, 5).join(', ');
  return paths.length > 5 ? `${shown} and ${paths.length - 5} more` : shown;
}

function isTaskWorktree(path: string, workspaceRoot: string | null): boolean {
  if (workspaceRoot === null || !existsSync(workspaceRoot)) return false;
  return path.startsWith(realpathSync(workspaceRoot) + sep);
}

const IN_PROGRESS = [
  ['MERGE_HEAD', 'merge'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['rebase-merge', 'rebase'],
  ['rebase-apply', 'rebase or am'],
] as const;
