/**
 * A linked worktree of the repository, for agents one trusts: refs, configuration and hooks are the operator's.
 *
 * The same care is taken as for a clone (the host's git never runs with the workspace's git directory, and its links
 * back and forth are checked), but an agent here can move any ref or write a hook the operator's own git will run.
 */
import { mkdirSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { WorkspaceRefused } from '../errors.ts';
import { worktreesOf } from '../git/worktrees.ts';
import { workspacesOf } from './lifecycle.ts';
import { transientPath } from './paths.ts';
import { type Place, settle } from './place.ts';
import { plainDirectories, readPlain, replacePlain } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';
import { keptIndexOf, type Layout, type Shared, type WorkspacesOptions } from './shared.ts';
import { fillWorktree, withIndex } from './snapshot.ts';
import { repointModules } from './submodules.ts';
import type { WorkspaceKey, Workspaces } from './workspace.ts';

export function worktreeWorkspaces(options: WorkspacesOptions): Workspaces {
  return workspacesOf(WORKTREE, options);
}

const WORKTREE: Layout = {
  kind: 'worktree',

  async make(shared: Shared, spec: WorkspaceKey, path: string, start: string): Promise<void> {
    const { git } = shared;
    const building = transientPath(path, 'making');
    for (const stale of [building, path]) await unregister(shared, stale);
    await removeTree(building);
    mkdirSync(building, { mode: 0o700 });
    // Forced, because a person may look at the branch in a worktree of theirs at the same time.
    await git(['worktree', 'add', '--force', '--no-checkout', building, spec.branch]);
    const place = await linkedPlace(shared, building);
    await withIndex(git, building, keptIndexOf(shared, spec.task), async (index) => {
      await fillWorktree(index, start);
      await index.save();
      await settle(place, { branch: spec.branch, sha: start, index: index.path, merging: null });
    });
    renameSync(building, path);
    replacePlain(join(place.dir, 'gitdir'), `${join(path, '.git')}\n`);
  },

  async inspect(shared: Shared, path: string): Promise<Place> {
    const place = await linkedPlace(shared, path);
    const back = readPlain(join(place.dir, 'gitdir'), LINK_LIMIT)?.trimEnd();
    if (back === join(transientPath(path, 'making'), '.git')) {
      // The runner died after moving the finished worktree to its place.
      replacePlain(join(place.dir, 'gitdir'), `${join(path, '.git')}\n`);
    } else if (back !== join(path, '.git')) {
      throw new WorkspaceRefused(`${join(path, '.git')} points at ${place.dir}, which belongs to ${back}.`);
    }
    return place;
  },

  forget: unregister,
};

async function linkedPlace(shared: Shared, path: string): Promise<Place> {
  const link = readPlain(join(path, '.git'), LINK_LIMIT);
  const registry = join(shared.git.gitDir, 'worktrees');
  const target = /^gitdir: (.+)\n?$/.exec(link ?? '')?.[1];
  const wasMoved = shared.former.some((former) => target && dirname(target) === join(former, 'worktrees'));
  const dir = target && wasMoved ? join(registry, basename(target)) : target;
  if (
    dir === undefined ||
    dirname(dir) !== registry ||
    plainDirectories(registry, [basename(dir)]) === null
  ) {
    throw new WorkspaceRefused(`${join(path, '.git')} is not the link to ${registry} that we made.`);
  }
  if (readPlain(join(dir, 'commondir'), LINK_LIMIT)?.trim() !== '../..') {
    throw new WorkspaceRefused(`${dir} was redirected to another repository (commondir).`);
  }
  if (wasMoved) {
    await repointModules(shared, path);
    replacePlain(join(path, '.git'), `gitdir: ${dir}\n`);
  }
  return { worktree: path, dir, objects: null, ownRefs: false };
}

/** Only this one: a prune would also forget worktrees of the operator's that are merely not mounted now. */
async function unregister(shared: Shared, path: string): Promise<void> {
  if (!(await worktreesOf(shared.git)).some((worktree) => worktree.path === path)) return;
  await removeTree(path);
  await shared.git(['worktree', 'remove', '--force', '--force', path]);
}

const LINK_LIMIT = 8 * 1024;
