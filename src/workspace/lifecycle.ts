/** A workspace's life, the same for every kind: made, verified, saved, moved, looked at, removed. */

import { renameSync } from 'node:fs';
import { WorkspaceRefused } from '../errors.ts';
import { mergeBase } from '../git/objects.ts';
import { adopt } from './adopt.ts';
import { type Bench, type Layout, pathOf, seedOf, type WorkspacesOptions } from './bench.ts';
import { checkpoint } from './checkpoint.ts';
import { exportCommit } from './export.ts';
import { notContained } from './history.ts';
import { mergeTrunk } from './merge-trunk.ts';
import { findOrphans } from './orphans.ts';
import { ensureHome, occupancy, realRoot, refuseDetour, transientPath } from './paths.ts';
import { dropPins, readPins, refsAround, refuseForeignBranch, updatePins } from './pins.ts';
import { readTips } from './place.ts';
import { list } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';
import { dropSeed } from './seed.ts';
import { stageWithSetup } from './setup-cache.ts';
import { setupKey } from './setup-inputs.ts';
import { findChanges, withIndex } from './snapshot.ts';
import type { PreparedWorkspace, WorkspaceProbe, WorkspaceSpec, Workspaces } from './workspace.ts';

export function workspacesOf(layout: Layout, options: WorkspacesOptions): Workspaces {
  const { git, repositoryKey, trunk } = options;
  const bench: Bench = { git, root: realRoot(options.root), repositoryKey, trunk, layout };
  const own = <T>(spec: WorkspaceSpec, step: () => Promise<T>): Promise<T> => {
    refuseForeignBranch(spec.branch);
    return step();
  };
  return {
    kind: layout.kind,
    path: (spec) => pathOf(bench, spec),
    prepare: async (spec) => own(spec, () => prepare(bench, spec)),
    verify: async (spec) => own(spec, () => verify(bench, spec)),
    checkpoint: async (spec, message) => own(spec, () => checkpoint(bench, spec, message)),
    adopt: async (spec, sha) => own(spec, () => adopt(bench, spec, sha)),
    mergeTrunk: async (spec, trunkSha) => own(spec, () => mergeTrunk(bench, spec, trunkSha)),
    probe: async (spec) => own(spec, () => probe(bench, spec)),
    refs: async (spec) => own(spec, () => refsAround(git, spec)),
    reap: async (spec) => own(spec, () => reap(bench, spec)),
    export: (commit, purpose) => exportCommit(git, bench, commit, purpose),
    stage: (commit, purpose, setup = []) => stageWithSetup(git, bench, commit, purpose, setup),
    setupKey: (commit, setup) => setupKey(git, commit, setup),
    orphans: (tasks) => findOrphans(bench, tasks),
  };
}

async function prepare(bench: Bench, spec: WorkspaceSpec): Promise<PreparedWorkspace> {
  const { git, layout } = bench;
  const path = pathOf(bench, spec);
  ensureHome(bench);
  const there = occupancy(path) === 'directory' && (await list(path)).length > 0;
  if (there) {
    refuseDetour(bench, path);
    await layout.inspect(bench, path);
  }

  const pins = await readPins(git, spec);
  const start = pins.branch ?? pins.head ?? spec.baseSha;
  const base = pins.base ?? (await mergeBase(git, start, spec.baseSha));
  if (base === null) {
    throw new WorkspaceRefused(
      `${spec.branch} exists and has no history in common with ${spec.baseSha}. Rename or delete it, then try again.`,
    );
  }
  await updatePins(git, spec, {
    ...(pins.base === null ? { base } : {}),
    ...(pins.branch === null ? { branch: { from: null, to: start } } : {}),
    ...(there && pins.head !== null
      ? {}
      : { head: start, keep: await notContained(git, [pins.head], start) }),
  });
  if (!there) await layout.make(bench, spec, path, start);
  return { path, baseSha: base, created: !there };
}

async function verify(bench: Bench, spec: WorkspaceSpec): Promise<void> {
  const path = pathOf(bench, spec);
  if (occupancy(path) === 'free') throw new WorkspaceRefused(`${path} is missing.`);
  refuseDetour(bench, path);
  const place = await bench.layout.inspect(bench, path);
  const tips = await readTips(bench.git, place, spec.branch);
  if (!tips.onBranch || tips.head === null) {
    throw new WorkspaceRefused(`${path} is not on its branch ${spec.branch}.`);
  }
}

async function probe(bench: Bench, spec: WorkspaceSpec): Promise<WorkspaceProbe> {
  const { git } = bench;
  const path = pathOf(bench, spec);
  try {
    if (occupancy(path) === 'free')
      return { exists: false, intact: false, dirty: false, problem: `${path} is missing.` };
    refuseDetour(bench, path);
    const place = await bench.layout.inspect(bench, path);
    const { head } = await readTips(git, place, spec.branch);
    return { exists: true, intact: true, dirty: await isUnsaved(bench, spec, path, head), problem: null };
  } catch (error) {
    if (!(error instanceof WorkspaceRefused)) throw error;
    return { exists: true, intact: false, dirty: true, problem: error.message };
  }
}

/** Anything the last checkpoint does not have: commits, or files. */
async function isUnsaved(
  bench: Bench,
  spec: WorkspaceSpec,
  path: string,
  head: string | null,
): Promise<boolean> {
  const saved = (await readPins(bench.git, spec)).head;
  if (saved === null || head !== saved) return true;
  const changes = await withIndex(bench.git, path, seedOf(bench, spec.task), (index) =>
    findChanges(index, saved),
  );
  return changes.written.length + changes.removed.length > 0;
}

async function reap(bench: Bench, spec: WorkspaceSpec): Promise<void> {
  const path = pathOf(bench, spec);
  const removing = transientPath(path, 'removing');
  if (occupancy(path) === 'directory') {
    refuseDetour(bench, path);
    const found = await probe(bench, spec);
    if (!found.intact)
      throw new WorkspaceRefused(`${path} is kept, because what is in it can't be saved: ${found.problem}`);
    if (found.dirty) await checkpoint(bench, spec, 'Save the work before its workspace goes\n');
    // Moved aside first: half of a workspace must never be taken for one whose files the agent deleted.
    await removeTree(removing);
    renameSync(path, removing);
  }
  await removeTree(removing);
  await bench.layout.forget(bench, path);
  await dropPins(bench.git, spec.task);
  await dropSeed(seedOf(bench, spec.task));
}
