/**
 * The operator's own checkouts of trunk, and whether a merge may move them.
 *
 * Only a checkout that has trunk's branch is touched by a merge; one on another branch or a detached HEAD never is, and
 * neither is a task's worktree.
 */
import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { type Git, nulSeparated, openGit } from '../../git/git.ts';
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
  const listed = await git(['worktree', 'list', '--porcelain', '-z']);
  const found: Checkout[] = [];
  for (const block of listed.stdout.split('\0\0')) {
    const fields = block.split('\0');
    const path = fields.find((field) => field.startsWith('worktree '))?.slice('worktree '.length);
    if (path === undefined || !fields.includes(`branch refs/heads/${branch}`)) continue;
    if (isTaskWorktree(path, workspaceRoot) || !existsSync(path)) continue;
    const own = path === git.worktree ? git : await openGit(path);
    found.push({ git: own, path, gitDir: await ownDirOf(own) });
  }
  return found;
}

/** It never changes while a repository is open. */
const ownDirs = new WeakMap<Git, string>();

async function ownDirOf(git: Git): Promise<string> {
  const known =
    ownDirs.get(git) ?? (await git(['rev-parse', '--absolute-git-dir'])).stdout.replace(/\n$/, '');
  ownDirs.set(git, known);
  return known;
}

/** Why this checkout can't be moved now, whatever the merge changes; null when it can. */
export async function whyBusy(checkout: Checkout, index?: string): Promise<string | null> {
  const operation = IN_PROGRESS.find(([file]) => existsSync(join(checkout.gitDir, file)));
  if (operation) return `${checkout.path} is in the middle of a ${operation[1]}; finish or abort it.`;
  const status = await checkout.git(
    ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no', '--ignore-submodules=all'],
    index === undefined ? {} : { env: { GIT_INDEX_FILE: index } },
  );
  const dirty = nulSeparated(status.stdout)
    .map((entry) => entry.slice(3))
    .filter((path) => !isOurs(path));
  if (dirty.length === 0) return null;
  return `${checkout.path} has uncommitted changes in ${naming(dirty)}; commit or stash them.`;
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

export interface Changed {
  path: string;
  /** Mode and blob before and after; null where the path does not exist. */
  from: string | null;
  to: string | null;
}

export async function changesBetween(git: Git, from: string, to: string): Promise<Changed[]> {
  const raw = nulSeparated((await git(['diff-tree', '-r', '-z', '--no-renames', '--raw', from, to])).stdout);
  const changed: Changed[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [fromMode = '', toMode = '', fromBlob, toBlob] = raw[at]!.slice(1).split(' ');
    changed.push({
      path: raw[at + 1]!,
      from: /^0+$/.test(fromMode) ? null : `${fromMode} ${fromBlob}`,
      to: /^0+$/.test(toMode) ? null : `${toMode} ${toBlob}`,
    });
  }
  return changed;
}

export function naming(paths: readonly string[]): string {
  const shown = paths.slice(0, 5).join(', ');
  return paths.length > 5 ? `${shown} and ${paths.length - 5} more` : shown;
}

function gitDirs(git: Git): string[] {
  const linked = join(git.gitDir, 'worktrees');
  const dirs = existsSync(linked) ? readdirSync(linked).map((name) => join(linked, name)) : [];
  return [git.gitDir, ...dirs];
}

const isOurs = (path: string): boolean => path === '.forge' || path.startsWith('.forge/');

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
