/** A workspace with a git directory of its own: nothing done inside moves anything outside. */
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { WorkspaceRefused } from '../errors.ts';
import { alternates, gitDirectory } from './git-directory.ts';
import { workspacesOf } from './lifecycle.ts';
import { transientPath } from './paths.ts';
import { type Place, settle } from './place.ts';
import { lstatOrNull, plainDirectories, readPlain, refuseOddFiles, replacePlain } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';
import { keptIndexOf, type Layout, type Shared, type WorkspacesOptions } from './shared.ts';
import { fillWorktree, withIndex } from './snapshot.ts';
import { repointModules } from './submodules.ts';
import type { WorkspaceKey, Workspaces } from './workspace.ts';

export function cloneWorkspaces(options: WorkspacesOptions): Workspaces {
  return workspacesOf(CLONE, options);
}

const CLONE: Layout = {
  kind: 'clone',

  async make(shared: Shared, spec: WorkspaceKey, path: string, start: string): Promise<void> {
    const building = transientPath(path, 'making');
    await removeTree(building);
    mkdirSync(building, { mode: 0o700 });
    (await gitDirectory(shared, start))(join(building, '.git'));
    await withIndex(shared.git, building, keptIndexOf(shared, spec.task), async (index) => {
      await fillWorktree(index, start);
      await index.save();
      await settle(placeAt(building), { branch: spec.branch, sha: start, index: index.path, merging: null });
    });
    renameSync(building, path);
  },

  async inspect(shared: Shared, path: string): Promise<Place> {
    const place = placeAt(path);
    const objects = plainDirectories(path, ['.git', 'objects']);
    const info = objects && plainDirectories(objects, ['info']);
    if (objects === null || info === null)
      throw new WorkspaceRefused(`${place.dir} is not the git directory we made.`);
    if (lstatOrNull(join(place.dir, 'commondir')) !== null) {
      throw new WorkspaceRefused(`${place.dir} was redirected to another repository (commondir).`);
    }
    const written = readPlain(join(info, 'alternates'), ALTERNATES_LIMIT);
    if (shared.former.some((dir) => written === alternates(dir))) {
      await repointModules(shared, path);
      replacePlain(join(info, 'alternates'), alternates(shared.git.gitDir));
    } else if (written !== alternates(shared.git.gitDir)) {
      throw new WorkspaceRefused(`${join(info, 'alternates')} is not as we wrote it.`);
    }
    await refuseOddFiles(objects);
    return place;
  },

  async forget(): Promise<void> {},
};

function placeAt(path: string): Place {
  const dir = join(path, '.git');
  return { worktree: path, dir, objects: join(dir, 'objects'), ownRefs: true };
}

const ALTERNATES_LIMIT = 16 * 1024;
