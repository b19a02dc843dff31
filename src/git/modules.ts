/**
 * The submodules of a commit as the operator has them: their own configuration says which are in use and where they come
 * from, their git directory has the objects. Of `.gitmodules`, which a branch can write, only the names are taken.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { GitFailed } from '../errors.ts';
import { type Git, nulSeparated, openGitDirectory } from './git.ts';
import { resolve } from './objects.ts';
import { operatorConfig } from './operator-config.ts';

export interface Submodule {
  name: string;
  path: string;
  /** The commit that is recorded. */
  commit: string;
  /** The operator's repository of it; null when they have not initialised it. */
  module: Module | null;
}

interface Module {
  git: Git;
  url: string;
}

export async function submodulesOf(git: Git, treeish: string): Promise<Submodule[]> {
  if ((await git.resolve(`${treeish}:.gitmodules`)) === null) return [];
  const names = await namesIn(git, treeish);
  if (names.size === 0) return [];
  const listed = await git(['ls-tree', '-z', '--full-tree', treeish, '--', ...names.keys()], {
    env: { GIT_LITERAL_PATHSPECS: '1' },
  });
  const config = await operatorConfig(git.ownDir, '^submodule\\..*\\.url$');
  const found: Submodule[] = [];
  for (const line of nulSeparated(listed.stdout)) {
    const [, commit, path] = /^160000 commit (\S+)\t(.*)$/s.exec(line) ?? [];
    if (commit === undefined || path === undefined) continue;
    const name = names.get(path)!;
    const url = config.get(`submodule.${name}.url`);
    found.push({
      name,
      path,
      commit,
      module: url === undefined ? null : await moduleAt(git, name, path, url),
    });
  }
  return found;
}

/** Whether the operator's repository of it has this commit, after it was fetched once from their URL if need be. */
export async function hasCommit({ git, url }: Module, commit: string): Promise<boolean> {
  if ((await resolve(git, commit)) !== null) return true;
  for (const what of ['+refs/heads/*:refs/remotes/origin/*', commit]) {
    await fetch(git, url, what);
    if ((await resolve(git, commit)) !== null) return true;
  }
  return false;
}

const PATIENCE_MS = 5 * 60_000;

/** What went wrong shows in that the commit is still not there. */
async function fetch(git: Git, url: string, what: string): Promise<void> {
  const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head'];
  await git(['fetch', ...quiet, url, what], { timeoutMs: PATIENCE_MS }).catch((error: unknown) => {
    if (!(error instanceof GitFailed)) throw error;
  });
}

/** From path to name. */
async function namesIn(git: Git, treeish: string): Promise<Map<string, string>> {
  const { stdout } = await git(
    ['config', '--blob', `${treeish}:.gitmodules`, '-z', '--get-regexp', '^submodule\\..*\\.path$'],
    { allow: [1, 128] },
  );
  const names = new Map<string, string>();
  for (const entry of nulSeparated(stdout)) {
    const [key = '', path = ''] = entry.split('\n');
    const name = key.slice('submodule.'.length, -'.path'.length);
    const isPlain = name !== '' && !name.startsWith('/') && !name.split('/').includes('..');
    if (isPlain && path !== '') names.set(path, name);
  }
  return names;
}

/** Opening one costs more than asking it. */
const opened = new WeakMap<Git, Map<string, Promise<Git>>>();

async function moduleAt(git: Git, name: string, path: string, url: string): Promise<Module | null> {
  // The second is how git laid them out before it kept them all in one place.
  const places = [
    join(git.gitDir, 'modules', name),
    ...(git.worktree ? [join(git.worktree, path, '.git')] : []),
  ];
  const dir = places.find((place) => lstatSync(place, { throwIfNoEntry: false })?.isDirectory());
  if (dir === undefined) return null;
  const known = opened.get(git) ?? new Map<string, Promise<Git>>();
  opened.set(git, known);
  const module = known.get(dir) ?? openGitDirectory(dir);
  known.set(dir, module);
  return { git: await module, url };
}
