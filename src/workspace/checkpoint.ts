/**
 * Saves a task's work in the repository and leaves the workspace clean at it.
 *
 * Each step can be repeated: what was done before a crash is found done. No commit is dropped: one that the branch
 * does not contain any more (the agent amended, reset, or left its branch) stays reachable under a pin.
 */

import type { Checkpoint } from '../core/event.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { WorkspaceRefused } from '../errors.ts';
import { changesBetween } from '../git/changes.ts';
import { commitTree } from '../git/commit.ts';
import type { Git } from '../git/git.ts';
import { isAncestor, treeOf } from '../git/objects.ts';
import { measuredFrom, notContained } from './history.ts';
import { refuseUnsoundModules, takeIn } from './intake.ts';
import { hasRawFiles, refuseHollowPointers } from './large-files.ts';
import { branchMoved, type Pins, readPins, updatePins } from './pins.ts';
import { movedHere, type Place, readTips, settle, type Tips } from './place.ts';
import { hasPlaced } from './placed.ts';
import { keptIndexOf, pathOf, type Shared } from './shared.ts';
import { fillWorktree, findChanges, type PrivateIndex, withIndex, writeSnapshot } from './snapshot.ts';
import { refuseUnknownLinks } from './submodules.ts';
import type { CheckpointResult, WorkspaceKey } from './workspace.ts';

export async function checkpoint(
  shared: Shared,
  spec: WorkspaceKey,
  message: string,
): Promise<CheckpointResult> {
  const { git } = shared;
  const work = await findWork(shared, spec);
  const { place, pins, head, base } = work;

  return withIndex(git, place.worktree, keptIndexOf(shared, spec.task), async (index) => {
    const tree = await snapshotWork(shared, work, index);
    await refuseHollowPointers(index, [base, pins.head, work.merging], tree);
    const next = await nextHead(shared, spec, work, index, tree, message);
    await refuseNewRepositories(git, tree, [base, pins.head, work.merging]);
    await refuseUnknownLinks(git, [base, pins.head, work.merging], tree);
    if (next !== head) await refuseUnsoundModules(git, place, next, head);

    // What somebody else put on the branch stays there; the next push tells the two apart and merges them.
    const theirs = work.moved && pins.branch !== null && !(await isAncestor(git, pins.branch, next));
    const deleted = pins.branch === null && next === pins.head;
    const lost = await notContained(
      git,
      [pins.head, theirs ? null : pins.branch, head, work.tips.branch],
      next,
    );
    await updatePins(git, spec, {
      keep: lost,
      head: next,
      ...(next === pins.branch || deleted || theirs ? {} : { branch: { from: pins.branch, to: next } }),
    });
    await settle(place, { branch: spec.branch, sha: next, index: index.path, merging: null });
    // Only now: until the workspace is settled, a repeated checkpoint needs to know of the merge.
    if (pins.merging !== null) await updatePins(git, spec, { merging: null });
    await index.save();
    return measure(shared, await newest(git, base, spec.baseSha, next), { sha: next, tree });
  });
}

/** A task's work as it lies in the workspace, its commits already taken in. */
interface Work {
  place: Place;
  pins: Pins;
  tips: Tips;
  /** Somebody else has put the branch elsewhere since the loop left it. */
  moved: boolean;
  /** The agent's commit. On a branch without one, the last we saved. */
  head: string;
  base: string;
  /** The commit of trunk that the agent was asked to merge and has not given up on. */
  merging: string | null;
}

export async function findWork(shared: Shared, spec: WorkspaceKey): Promise<Work> {
  const { git } = shared;
  const place = await shared.layout.inspect(shared, pathOf(shared, spec));
  const pins = await readPins(git, spec);
  if (pins.laying !== null && pins.head !== null) await undoHalfLaidMerge(shared, spec, place, pins.head);
  const tips = await readTips(git, place, spec.branch);
  const base = pins.base ?? spec.baseSha;
  const moved = pins.branch !== null && pins.branch !== pins.head && !movedHere(place, tips, pins.branch);
  const own = moved && tips.head === pins.branch ? null : tips.head;
  const head = own ?? pins.head ?? pins.branch ?? base;
  await takeIn(git, place, [head, tips.branch], [base, pins.head, pins.branch, pins.merging]);
  const merging = pins.merging === tips.merging ? pins.merging : null;
  return { place, pins, tips, moved, head, base, merging };
}

/** The runner died while it wrote a merge of trunk into the workspace. No agent has run since: start it over. */
async function undoHalfLaidMerge(
  shared: Shared,
  spec: WorkspaceKey,
  place: Place,
  head: string,
): Promise<void> {
  await withIndex(shared.git, place.worktree, keptIndexOf(shared, spec.task), async (index) => {
    await writeSnapshot(index, await findChanges(index, head), head);
    await fillWorktree(index, head);
    await settle(place, { branch: spec.branch, sha: head, index: index.path, merging: null });
    await index.save();
  });
  await updatePins(shared.git, spec, { laying: null });
}

/** The tree of everything in the workspace, committed or not. */
export async function snapshotWork(shared: Shared, work: Work, index: PrivateIndex): Promise<string> {
  const changes = await findChanges(index, work.head);
  return writeSnapshot(index, changes, work.merging ?? (await loopStateSource(shared, work)));
}

/** A commit with exactly this tree that contains the agent's. */
async function nextHead(
  shared: Shared,
  spec: WorkspaceKey,
  work: Work,
  index: PrivateIndex,
  tree: string,
  message: string,
): Promise<string> {
  const { git, layout } = shared;
  const { kind } = layout;
  const { pins, head, base } = work;
  const merge = work.merging !== null && !(await isAncestor(git, work.merging, head)) ? work.merging : null;

  // A checkpoint that died before it settled the workspace, or an agent that only stepped back: saved already.
  const saved = pins.branch ?? pins.head;
  if (saved !== null && tree === (await treeOf(git, saved)) && (await isAncestor(git, head, saved))) {
    if (merge === null || (await isAncestor(git, merge, saved))) return saved;
  }
  if (work.moved && kind === 'worktree') throw branchMoved(spec, pins.branch);
  if (!(await isAncestor(git, base, head))) {
    throw new WorkspaceRefused(
      `The history in ${work.place.worktree} no longer contains ${shortSha(base)}, the commit the task started from. Its head is ${shortSha(head)}.`,
    );
  }
  const known = [base, pins.head, (await shared.trunk()).sha];
  const isUnfit =
    (await hasRawFiles(index, head, known)) || (await hasPlaced(git, index.placed, head, known));
  if (isUnfit) {
    const parents = await withoutAgents(shared, work, merge);
    const isSame = parents.length === 1 && tree === (await treeOf(git, parents[0]!));
    return isSame ? parents[0]! : commitTree(git, { tree, parents, message });
  }
  if (merge === null && tree === (await treeOf(git, head))) return head;
  return commitTree(git, { tree, parents: merge === null ? [head] : [head, merge], message });
}

/** Instead of the agent's commits: what was saved before them, and the newest commit of trunk that they took in. */
async function withoutAgents(shared: Shared, work: Work, merge: string | null): Promise<string[]> {
  const { git } = shared;
  const saved = work.pins.head ?? work.base;
  const taken = merge ?? (await measuredFrom(git, work.base, work.head, (await shared.trunk()).sha));
  return (await isAncestor(git, taken, saved)) ? [saved] : [saved, taken];
}

/** The loop's own files are as in the last saved head, or as in trunk where the agent has taken in a newer one. */
async function loopStateSource(shared: Shared, work: Work): Promise<string> {
  const saved = work.pins.head ?? work.base;
  const from = await measuredFrom(shared.git, work.base, work.head, (await shared.trunk()).sha);
  return (await isAncestor(shared.git, from, saved)) ? saved : from;
}

/** A link to another repository's commit that no trusted tree has is a nested repository somebody committed. */
async function refuseNewRepositories(
  git: Git,
  tree: string,
  trusted: readonly (string | null)[],
): Promise<void> {
  let suspects: string[] | null = null;
  for (const commit of trusted) {
    if (commit === null || suspects?.length === 0) continue;
    const added = (await changesBetween(git, commit, tree))
      .filter(({ from, to }) => isLink(to) && !isLink(from))
      .map(({ path }) => path);
    suspects = suspects === null ? added : suspects.filter((path) => added.includes(path));
  }
  const first = suspects?.[0];
  if (first !== undefined) {
    throw new WorkspaceRefused(
      `${first} was committed as a git repository of its own, so its files are not in the branch. Remove it from the commit, and remove ${first}/.git.`,
    );
  }
}

/** What trunk took back after the work had taken it in is not the work's own: its base never moves backwards. */
async function newest(git: Git, start: string, recorded: string, head: string): Promise<string> {
  if (recorded === start || recorded === '') return start;
  return (await isAncestor(git, start, recorded)) && (await isAncestor(git, recorded, head))
    ? recorded
    : start;
}

const isLink = (entry: string | null): boolean => entry?.startsWith('160000 ') ?? false;

async function measure(shared: Shared, start: string, head: Checkpoint): Promise<CheckpointResult> {
  const baseSha = await measuredFrom(shared.git, start, head.sha, (await shared.trunk()).sha);
  return { head, baseSha, empty: head.tree === (await treeOf(shared.git, baseSha)) };
}
