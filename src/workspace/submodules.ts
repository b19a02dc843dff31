/**
 * Submodules in a tree: each is a repository of its own, placed by us at the recorded commit, which borrows the objects of
 * the operator's. One that the operator has not initialised stays empty, as in their checkout.
 *
 * What is done inside one can't land. That it is moved to another commit the operator's repository has, can.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { shortSha } from '../core/words/short-sha.ts';
import { FetchFailed, WorkspaceRefused } from '../errors.ts';
import { changesBetween } from '../git/changes.ts';
import { type Git, nulSeparated } from '../git/git.ts';
import { withObjects } from '../git/lfs.ts';
import { hasCommit, type Submodule, submodulesOf } from '../git/modules.ts';
import { tempFolder } from '../process/temp-folder.ts';
import { alternates, configOf } from './git-directory.ts';
import { lstatOrNull, plainDirectories, readPlain, replaceIndex, replacePlain } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';
import type { Shared } from './shared.ts';
import { surveyWorktree } from './survey.ts';

export interface Link {
  path: string;
  commit: string;
}

/** Puts every submodule of `treeish` in its place, anew. */
export async function placeModules(git: Git, worktree: string, treeish: string): Promise<void> {
  for (const { path, commit, module } of await submodulesOf(git, treeish)) {
    if (module === null) continue;
    if (!(await hasCommit(module, commit))) {
      throw new FetchFailed(
        `The submodule ${path} is recorded at ${shortSha(commit)}, which is not in your repository of it and could not be fetched.`,
        `Push that commit, then: git submodule update --init ${path}`,
      );
    }
    const parts = path.split('/');
    plainDirectories(worktree, parts.slice(0, -1), 'make');
    const place = join(worktree, path);
    await removeTree(place);
    mkdirSync(place);
    await withModuleIndex(module.git, place, async (index, run) => {
      const write = () => run(['read-tree', '--reset', '-u', commit]);
      await withObjects(module.git, commit, write, path);
      await layGitDirectory(module.git, join(place, '.git'), commit);
      replaceIndex(join(place, '.git', 'index'), index);
    });
    await placeModules(module.git, place, commit);
  }
}

/** After the repository was moved: those that borrow objects from where it was find them where it is. */
export async function repointModules({ git, former, trunk }: Shared, worktree: string): Promise<void> {
  const repoint = async (of: Git, inside: string, treeish: string): Promise<void> => {
    for (const { path, commit, module } of await submodulesOf(of, treeish)) {
      const place = plainDirectories(inside, path.split('/'));
      const info = place && plainDirectories(place, ['.git', 'objects', 'info']);
      if (info === null || module === null) continue;
      const now = module.git.gitDir;
      const within = relative(git.gitDir, now);
      const written = readPlain(join(info, 'alternates'), SMALL);
      if (former.some((dir) => written === alternates(join(dir, within))))
        replacePlain(join(info, 'alternates'), alternates(now));
      await repoint(module.git, place!, commit);
    }
  };
  await repoint(git, worktree, (await trunk()).sha);
}

/** Takes away those that the tree to come does not have, so that nothing of them is left lying in it. */
export async function removeModules(
  git: Git,
  worktree: string,
  { from, to }: { from: string | null; to: string },
): Promise<void> {
  if (from === null) return;
  const before = await submodulesOf(git, from);
  if (before.length === 0) return;
  const after = new Set((await submodulesOf(git, to)).map(({ path }) => path));
  for (const { path } of before) {
    const parts = path.split('/');
    if (!after.has(path) && plainDirectories(worktree, parts.slice(0, -1)) !== null)
      await removeTree(join(worktree, path));
  }
}

/** Those that were moved to another commit. Throws WorkspaceRefused when something inside one was changed. */
export async function movedLinks(git: Git, worktree: string, head: string): Promise<Link[]> {
  const moved: Link[] = [];
  for (const submodule of await submodulesOf(git, head)) {
    const at = await commitAt(submodule, worktree);
    if (at !== null && at !== submodule.commit) moved.push({ path: submodule.path, commit: at });
  }
  return moved;
}

/** The commit that a submodule is at in this work tree; null when it is not there. */
async function commitAt(submodule: Submodule, worktree: string): Promise<string | null> {
  const { path, module } = submodule;
  const place = plainDirectories(worktree, path.split('/'));
  if (place === null || module === null || lstatOrNull(join(place, '.git')) === null) return null;
  const commit = headOf(place);
  if (commit === null || !(await hasCommit(module, commit)))
    throw notTaken(path, `its commit ${shortSha(commit, '')} is only in this work tree`);
  await surveyWorktree(module.git, place, commit);
  const changed = await changedIn(module.git, place, commit);
  if (changed !== undefined) throw notTaken(path, `${changed} was changed`);
  const [inner] = await movedLinks(module.git, place, commit);
  if (inner) throw notTaken(path, `${inner.path} in it was moved`);
  return commit;
}

/** A recorded commit that nobody else has can't be checked out by them. */
export async function refuseUnknownLinks(
  git: Git,
  trusted: readonly (string | null)[],
  tree: string,
): Promise<void> {
  const links = (await submodulesOf(git, tree)).map((one) => [one.path, one] as const);
  if (links.length === 0) return;
  let moved = new Map(links);
  for (const commit of trusted) {
    if (commit === null) continue;
    const changed = new Set((await changesBetween(git, commit, tree)).map(({ path }) => path));
    moved = new Map([...moved].filter(([path]) => changed.has(path)));
  }
  for (const { path, commit, module } of moved.values()) {
    if (module === null) throw notTaken(path, 'it is not initialised here, so its new commit is unknown');
    if (!(await hasCommit(module, commit)))
      throw notTaken(path, `its commit ${shortSha(commit)} is only in this work tree`);
  }
}

function notTaken(path: string, why: string): WorkspaceRefused {
  return new WorkspaceRefused(
    `Changes inside the submodule ${path} are not taken: ${why}. A submodule can only be moved to a commit that its own repository has. Undo it (git -C ${path} status), or do without it.`,
  );
}

/** Only a detached HEAD or a plain branch is read, as files: an agent can write here. */
function headOf(place: string): string | null {
  const dir = plainDirectories(place, ['.git']);
  const head = dir && readPlain(join(dir, 'HEAD'), SMALL)?.trim();
  const branch = /^ref: (refs\/heads\/[\w./-]+)$/.exec(head ?? '')?.[1];
  if (dir === null || branch === undefined || branch.includes('..')) return asCommit(head);
  const parts = branch.split('/');
  const folder = plainDirectories(dir, parts.slice(0, -1));
  return folder === null ? null : asCommit(readPlain(join(folder, parts.at(-1)!), SMALL)?.trim());
}

const SMALL = 4096;
const asCommit = (text: string | null | undefined): string | null =>
  text && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text) ? text : null;

/** The first path that is not as the commit has it. */
async function changedIn(git: Git, place: string, commit: string): Promise<string | undefined> {
  return withModuleIndex(git, place, async (_, run) => {
    await run(['read-tree', '--reset', commit]);
    const look = ['--porcelain', '-z', '--no-renames', '--untracked-files=all', '--ignore-submodules=all'];
    const entries = nulSeparated((await run(['status', ...look])).stdout);
    // The first column compares with a HEAD that is not this one.
    return entries.find((entry) => entry[1] !== ' ')?.slice(3);
  });
}

type Run = (args: readonly string[]) => ReturnType<Git>;

async function withModuleIndex<T>(
  git: Git,
  place: string,
  use: (index: string, run: Run) => Promise<T>,
): Promise<T> {
  const folder = tempFolder('module');
  const index = join(folder.path, 'index');
  const env = { GIT_INDEX_FILE: index, GIT_WORK_TREE: place };
  try {
    return await use(index, (args) => git([...FAITHFUL, ...args], { env }));
  } finally {
    folder.remove(['index']);
  }
}

const FAITHFUL = ['-c', 'core.sparseCheckout=false', '-c', 'core.autocrlf=false', '-c', 'core.symlinks=true'];

/** With the tags, by which versions are told, and no remote. */
async function layGitDirectory(git: Git, dir: string, commit: string): Promise<void> {
  for (const folder of ['info', 'objects/info', 'objects/pack', 'refs/heads', 'refs/tags'])
    mkdirSync(join(dir, folder), { recursive: true });
  const tags = await git(['for-each-ref', '--format=%(objectname) %(refname)', 'refs/tags']);
  const files = {
    config: await configOf(git, commit),
    HEAD: `${commit}\n`,
    'packed-refs': tags.stdout,
    'objects/info/alternates': alternates(git.gitDir),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const shallow = join(git.gitDir, 'shallow');
  if (lstatOrNull(shallow)) copyFileSync(shallow, join(dir, 'shallow'));
}
