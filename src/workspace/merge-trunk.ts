/**
 * Lays a merge of trunk out in the workspace, for the agent to resolve.
 *
 * The merge is computed in the repository. The agent finds the merged files, conflict markers included, and a git that
 * says a merge is under way; the next checkpoint becomes the merge commit unless the agent gave the merge up.
 */

import { shortSha } from '../core/words/short-sha.ts';
import type { Git } from '../git/git.ts';
import { nulSeparated } from '../git/git.ts';
import { isAncestor } from '../git/objects.ts';
import { checkpoint } from './checkpoint.ts';
import { trunkRefs } from './git-directory.ts';
import { readPins, updatePins } from './pins.ts';
import { pointRefs, settle } from './place.ts';
import { keptIndexOf, pathOf, type Shared } from './shared.ts';
import { fillWorktree, findChanges, indexWithConflicts, withIndex } from './snapshot.ts';
import type { MergedIn, WorkspaceKey } from './workspace.ts';

export async function mergeTrunk(shared: Shared, spec: WorkspaceKey, trunkSha: string): Promise<MergedIn> {
  const { git } = shared;
  const pins = await readPins(git, spec);
  if (pins.merging === trunkSha && pins.head !== null) {
    const { conflicts } = await merge(git, pins.head, trunkSha);
    return { conflicts, landed: await broughtIn(git, pins.head, trunkSha) };
  }

  const { head } = await checkpoint(shared, spec, 'Save the work before merging trunk\n');
  if (await isAncestor(git, trunkSha, head.sha)) return { conflicts: [], landed: [] };
  const merged = await merge(git, head.sha, trunkSha);
  const place = await shared.layout.inspect(shared, pathOf(shared, spec));
  await updatePins(git, spec, { laying: trunkSha });
  await withIndex(git, place.worktree, keptIndexOf(shared, spec.task), async (index) => {
    await findChanges(index, head.sha);
    await fillWorktree(index, merged.tree);
    await index.save();
    const shown = await indexWithConflicts(index, merged.stages);
    await settle(place, { branch: spec.branch, sha: head.sha, index: shown, merging: trunkSha });
    pointRefs(place, trunkRefs(await shared.trunk()), trunkSha);
  });
  await updatePins(git, spec, { laying: null, merging: trunkSha });
  return { conflicts: merged.conflicts, landed: await broughtIn(git, head.sha, trunkSha) };
}

const SHOWN = 20;

async function broughtIn(git: Git, head: string, trunkSha: string): Promise<string[]> {
  const args = ['log', '--first-parent', `--max-count=${SHOWN}`, '--format=%H %s', `${head}..${trunkSha}`];
  const lines = (await git(args)).stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => line.replace(/^\S+/, (sha) => shortSha(sha)));
}

interface Merged {
  tree: string;
  /** `<mode> <object> <stage>\t<path>`, as an index takes them. */
  stages: string[];
  conflicts: string[];
}

async function merge(git: Git, head: string, trunkSha: string): Promise<Merged> {
  const answer = await git(['merge-tree', '--write-tree', '-z', '--no-messages', head, trunkSha], {
    allow: [1],
  });
  const [tree, ...stages] = nulSeparated(answer.stdout);
  const paths = stages.map((line) => line.slice(line.indexOf('\t') + 1));
  return { tree: tree!, stages, conflicts: [...new Set(paths)].sort() };
}
