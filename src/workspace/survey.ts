/**
 * A look over the work tree before git does: repositories inside it, and files that would make git wait for ever.
 */
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { WorkspaceRefused } from '../errors.ts';
import type { Git } from '../git/git.ts';
import { nulSeparated } from '../git/git.ts';
import { list } from './plain-files.ts';

/** Refuses what can't be committed faithfully: a repository that is neither ignored nor a submodule of `head`. */
export async function surveyWorktree(git: Git, worktree: string, head: string): Promise<void> {
  const nested = await findNested(worktree, '');
  if (nested.length === 0) return;
  const settled = new Set([
    ...(await submodules(git, head, nested)),
    ...(await ignored(git, worktree, nested)),
  ]);
  const first = nested.find((path) => !settled.has(path));
  if (first !== undefined) {
    throw new WorkspaceRefused(
      `${first} in ${worktree} is a git repository of its own, so its files can't be committed. Remove ${first}/.git, or ignore ${first}.`,
    );
  }
}

/** git opens these by name wherever it finds them. */
const READ_BY_GIT = new Set(['.gitignore', '.gitattributes', '.gitmodules']);

/** git itself follows no link to these; Git LFS does. */
function isOdd(entry: Dirent, path: string): boolean {
  if (entry.isFile()) return false;
  return path === '.lfsconfig' || (READ_BY_GIT.has(entry.name) && !entry.isSymbolicLink());
}

async function findNested(worktree: string, below: string): Promise<string[]> {
  const nested: string[] = [];
  const entries = await list(join(worktree, below));
  if (below !== '' && entries.some((entry) => entry.name.toLowerCase() === '.git')) return [below];
  for (const entry of entries) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      if (path !== '.git') nested.push(...(await findNested(worktree, path)));
    } else if (isOdd(entry, path)) {
      throw new WorkspaceRefused(`${path} in ${worktree} is not a plain file. Remove it.`);
    }
  }
  return nested;
}

async function submodules(git: Git, head: string, paths: readonly string[]): Promise<string[]> {
  const listed = await git(['ls-tree', '-z', head, '--', ...paths], { env: { GIT_LITERAL_PATHSPECS: '1' } });
  return nulSeparated(listed.stdout)
    .filter((line) => line.startsWith('160000 '))
    .map((line) => line.slice(line.indexOf('\t') + 1));
}

async function ignored(git: Git, worktree: string, paths: readonly string[]): Promise<string[]> {
  const listed = await git(['check-ignore', '-z', '--stdin', '--no-index'], {
    env: { GIT_WORK_TREE: worktree },
    input: paths.map((path) => `${path}\0`).join(''),
    allow: [1],
  });
  return nulSeparated(listed.stdout);
}
