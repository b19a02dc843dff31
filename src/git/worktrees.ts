/** The work trees of a repository and the branch each has checked out. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Git } from './git.ts';

interface Worktree {
  path: string;
  /** The full name of its branch; null when its HEAD is detached. */
  branch: string | null;
}

/** git is asked again only when a HEAD or a registration has changed. */
export async function worktreesOf(git: Git): Promise<readonly Worktree[]> {
  const key = gitDirs(git)
    .flatMap((dir) => [dir, read(join(dir, 'HEAD')), read(join(dir, 'gitdir'))])
    .join('\0');
  const known = memory.get(git);
  // Where refs are not kept in files, HEAD says so and nothing else: it does not tell when the branch changes.
  if (known?.key === key && !key.includes('refs/heads/.invalid')) return known.worktrees;
  const listed = await git(['worktree', 'list', '--porcelain', '-z']);
  const worktrees = listed.stdout.split('\0\0').flatMap((block) => {
    const value = (name: string) =>
      block
        .split('\0')
        .find((field) => field.startsWith(`${name} `))
        ?.slice(name.length + 1);
    const path = value('worktree');
    return path === undefined ? [] : [{ path, branch: value('branch') ?? null }];
  });
  memory.set(git, { key, worktrees });
  return worktrees;
}

/** The repository's first work tree, which has its own git directory inside; null when the repository is bare. */
export async function mainWorktree(git: Git): Promise<string | null> {
  if (git.ownDir === git.gitDir) return git.worktree;
  const [first] = await worktreesOf(git);
  return first && first.path !== git.gitDir && existsSync(first.path) ? first.path : null;
}

/** Where HEAD and index of each work tree are: the repository's own directory first. */
export function gitDirs(git: Git): string[] {
  const linked = join(git.gitDir, 'worktrees');
  const dirs = existsSync(linked) ? readdirSync(linked).map((name) => join(linked, name)) : [];
  return [git.gitDir, ...dirs];
}

const memory = new WeakMap<Git, { key: string; worktrees: Worktree[] }>();

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
