/** A workspace's life, the same for every kind: made, verified, saved, moved, looked at, removed. */

import { renameSync } from 'node:fs';
import { shortSha } from '../core/words/short-sha.ts';
import { WorkspaceRefused } from '../errors.ts';
import { mergeBase } from '../git/objects.ts';
import { adopt } from './adopt.ts';
import { checkpoint } from './checkpoint.ts';
import { notContained } from './history.ts';
import { dropIndex } from './kept-index.ts';
import { mergeTrunk } from './merge-trunk.ts';
import { findOrphans } from './orphans.ts';
import { ensureHome, occupancy, realRoot, refuseDetour, transientPath } from './paths.ts';
import {
  dropPins,
  dropReplay,
  forget,
  readPins,
  refsAround,
  refuseForeignBranch,
  updatePins,
} from './pins.ts';
import { readTips } from './place.ts';
import { forgetPlaced, place } from './placed.ts';
import { list } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';
import { seal } from './seal.ts';
import { stageWithSetup } from './setup-cache.ts';
import { setupKey } from './setup-inputs.ts';
import { keptIndexOf, type Layout, pathOf, type Shared, type WorkspacesOptions } from './shared.ts';
import { findChanges, withIndex } from './snapshot.ts';
import { openTree, removeAbandoned } from './tree.ts';
import type { PreparedWorkspace, WorkspaceKey, WorkspaceProbe, Workspaces } from './workspace.ts';

export function workspacesOf(layout: Layout, options: WorkspacesOptions): Workspaces {
  const { git, repositoryKey, former, trunk } = options;
  const shared: Shared = { git, root: realRoot(options.root), repositoryKey, former, trunk, layout };
  const own = <T>(spec: WorkspaceKey, step: () => Promise<T>): Promise<T> => {
    refuseForeignBranch(spec.branch);
    return step();
  };
  return {
    kind: layout.kind,
    path: (spec) => pathOf(shared, spec),
    prepare: async (spec) => own(spec, () => prepare(shared, spec)),
    place: async (spec, files) => own(spec, () => place(shared, spec, files)),
    verify: async (spec) => own(spec, () => verify(shared, spec)),
    checkpoint: async (spec, message) => own(spec, () => checkpoint(shared, spec, message)),
    adopt: async (spec, sha) => own(spec, () => adopt(shared, spec, sha)),
    seal: async (spec, from, message) => own(spec, () => seal(shared, spec, from, message)),
    mergeTrunk: async (spec, trunkSha) => own(spec, () => mergeTrunk(shared, spec, trunkSha)),
    probe: async (spec) => own(spec, () => probe(shared, spec)),
    refs: async (spec) => own(spec, () => refsAround(git, spec)),
    forget: async (spec) => own(spec, () => forget(git, spec.task)),
    dropReplay: (task) => dropReplay(git, task),
    reap: async (spec, how) => own(spec, () => reap(shared, spec, how?.keepsFormer ?? false)),
    export: (commit, purpose, near, signal) =>
      openTree(shared, commit, purpose, { near, signal, returns: true }),
    stage: (commit, purpose, setup) => stageWithSetup(shared, commit, purpose, setup),
    setupKey: (commit, setup) => setupKey(git, commit, setup),
    removeAbandonedTrees: (preview) => removeAbandoned(shared, preview),
    orphans: (tasks) => findOrphans(shared, tasks),
  };
}

async function prepare(shared: Shared, spec: WorkspaceKey): Promise<PreparedWorkspace> {
  const { git, layout } = shared;
  const path = pathOf(shared, spec);
  ensureHome(shared);
  const there = occupancy(path) === 'directory' && (await list(path)).length > 0;
  if (there) {
    refuseDetour(shared, path);
    await layout.inspect(shared, path);
  }

  const pins = await readPins(git, spec);
  const start = pins.branch ?? pins.head ?? spec.baseSha;
  const base = pins.base ?? (await mergeBase(git, start, spec.baseSha));
  if (base === null) {
    throw new WorkspaceRefused(
      `${spec.branch} exists and has no history in common with ${shortSha(spec.baseSha)}. Rename or delete it, then try again.`,
    );
  }
  await updatePins(git, spec, {
    ...(pins.base === null ? { base } : {}),
    ...(pins.branch === null ? { branch: { from: null, to: start } } : {}),
    ...(there && pins.head !== null
      ? {}
      : { head: start, keep: await notContained(git, [pins.head], start) }),
  });
  if (!there) await layout.make(shared, spec, path, start);
  return { path, baseSha: base, created: !there };
}

async function verify(shared: Shared, spec: WorkspaceKey): Promise<void> {
  const path = pathOf(shared, spec);
  if (occupancy(path) === 'free') throw new WorkspaceRefused(`${path} is missing.`);
  refuseDetour(shared, path);
  const place = await shared.layout.inspect(shared, path);
  const tips = await readTips(shared.git, place, spec.branch);
  if (!tips.onBranch || tips.head === null) {
    throw new WorkspaceRefused(`${path} is not on its branch ${spec.branch}.`);
  }
}

async function probe(shared: Shared, spec: WorkspaceKey): Promise<WorkspaceProbe> {
  const { git } = shared;
  const path = pathOf(shared, spec);
  try {
    if (occupancy(path) === 'free') {
      const { branch, head } = await readPins(git, spec);
      const saved = branch ?? head;
      return { exists: false, intact: false, dirty: false, problem: `${path} is missing.`, saved };
    }
    refuseDetour(shared, path);
    const place = await shared.layout.inspect(shared, path);
    const { head } = await readTips(git, place, spec.branch);
    return { exists: true, intact: true, dirty: await isUnsaved(shared, spec, path, head), problem: null };
  } catch (error) {
    if (!(error instanceof WorkspaceRefused)) throw error;
    return { exists: true, intact: false, dirty: true, problem: error.message };
  }
}

/** Anything the last checkpoint does not have: commits, or files. */
async function isUnsaved(
  shared: Shared,
  spec: WorkspaceKey,
  path: string,
  head: string | null,
): Promise<boolean> {
  const saved = (await readPins(shared.git, spec)).head;
  if (saved === null || head !== saved) return true;
  const changes = await withIndex(shared.git, path, keptIndexOf(shared, spec.task), (index) =>
    findChanges(index, saved),
  );
  return changes.written.length + changes.removed.length + changes.links.length > 0;
}

async function reap(shared: Shared, spec: WorkspaceKey, keepsFormer: boolean): Promise<void> {
  const path = pathOf(shared, spec);
  const removing = transientPath(path, 'removing');
  if (occupancy(path) === 'directory') {
    refuseDetour(shared, path);
    const found = await probe(shared, spec);
    if (!found.intact)
      throw new WorkspaceRefused(`${path} is kept, because what is in it can't be saved: ${found.problem}`);
    if (found.dirty) await checkpoint(shared, spec, 'Save the work before its workspace goes\n');
    // Moved aside first: half of a workspace must never be taken for one whose files the agent deleted.
    await removeTree(removing);
    renameSync(path, removing);
  }
  await removeTree(removing);
  await shared.layout.forget(shared, path);
  await dropPins(shared.git, spec.task, keepsFormer);
  const kept = keptIndexOf(shared, spec.task);
  await dropIndex(kept);
  forgetPlaced(kept);
}
