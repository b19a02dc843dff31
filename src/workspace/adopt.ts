/** Moves a workspace to a head that somebody else gave its branch. What was only in the workspace is kept under a pin. */

import type { Checkpoint } from '../core/event.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { WorkspaceRefused } from '../errors.ts';
import { commitTree } from '../git/commit.ts';
import { isAncestor, mergeBase, treeOf } from '../git/objects.ts';
import { findWork, snapshotWork } from './checkpoint.ts';
import { notContained } from './history.ts';
import { branchMoved, updatePins } from './pins.ts';
import { settle } from './place.ts';
import { keptIndexOf, type Shared } from './shared.ts';
import { fillWorktree, withIndex } from './snapshot.ts';
import type { WorkspaceKey } from './workspace.ts';

export async function adopt(shared: Shared, spec: WorkspaceKey, sha: string): Promise<Checkpoint> {
  const { git } = shared;
  const work = await findWork(shared, spec);
  const { pins, place } = work;
  if (pins.branch !== sha && pins.branch !== pins.head) throw branchMoved(spec, pins.branch);
  const base = await baseFor(shared, work.base, sha);

  return withIndex(git, place.worktree, keptIndexOf(shared, spec.task), async (index) => {
    const tree = await snapshotWork(shared, work, index);
    const saved = await Promise.all([work.head, sha, pins.head ?? sha].map((commit) => treeOf(git, commit)));
    const stash = saved.includes(tree)
      ? null
      : await commitTree(git, {
          tree,
          parents: [work.head],
          message: `Unsaved work when ${shortSha(sha)} was adopted\n`,
        });
    const keep = await notContained(git, [pins.head, pins.branch, work.head, work.tips.branch, stash], sha);
    await updatePins(git, spec, { keep, base });
    await fillWorktree(index, sha);
    await settle(place, { branch: spec.branch, sha, index: index.path, merging: null });
    // Last: until then the branch is not where the loop left it, and a checkpoint after a crash refuses to go back.
    await updatePins(git, spec, {
      head: sha,
      ...(pins.merging === null ? {} : { merging: null }),
      ...(pins.branch === sha ? {} : { branch: { from: pins.branch, to: sha } }),
    });
    await index.save();
    return { sha, tree: await treeOf(git, sha) };
  });
}

/** A person may have rebased the branch onto a newer trunk: then the work starts there. */
async function baseFor(shared: Shared, base: string, sha: string): Promise<string> {
  if (await isAncestor(shared.git, base, sha)) return base;
  const common = await mergeBase(shared.git, sha, (await shared.trunk()).sha);
  if (common === null)
    throw new WorkspaceRefused(
      `${shortSha(sha)} has no history in common with trunk, so it can't be the task's work.`,
    );
  return common;
}
