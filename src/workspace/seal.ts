/**
 * Brings everything since a commit into one, whose tree is that of the head. The commits it stands for stay under a pin.
 * Where a merge is among them there is no one commit that could stand for all: then it is put on top.
 */
import type { Checkpoint } from '../core/event.ts';
import { commitTree } from '../git/commit.ts';
import { isAncestor, treeOf } from '../git/objects.ts';
import { adopt } from './adopt.ts';
import { findWork } from './checkpoint.ts';
import type { Shared } from './shared.ts';
import type { Sealed, WorkspaceKey } from './workspace.ts';

export async function seal(
  shared: Shared,
  spec: WorkspaceKey,
  from: string,
  message: string,
): Promise<Sealed> {
  const { git } = shared;
  const { head } = await findWork(shared, spec);
  const tree = await treeOf(git, head);
  const here: Checkpoint = { sha: head, tree };
  if (tree === (await treeOf(git, from))) return { head: here, commit: null };
  const isLinear =
    (await isAncestor(git, from, head)) &&
    (await git(['rev-list', '--merges', '--count', `${from}..${head}`])).stdout.trim() === '0';
  const parents = [isLinear ? from : head];
  if (await isSealed(shared, head, isLinear ? from : null, message))
    return { head: await adopt(shared, spec, head), commit: head };
  const commit = await commitTree(git, { tree, parents, message });
  return { head: await adopt(shared, spec, commit), commit };
}

/** Done before, by a runner that died after it. */
async function isSealed(
  { git }: Shared,
  head: string,
  parent: string | null,
  message: string,
): Promise<boolean> {
  const { stdout } = await git(['show', '--no-patch', '--format=%P%n%B', head]);
  const [parents, ...body] = stdout.split('\n');
  if (body.join('\n').trim() !== message.trim()) return false;
  return parent === null ? !parents?.includes(' ') : parents === parent;
}
