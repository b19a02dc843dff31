/** The commit that would land: a head on a trunk, by one of three methods, kept by a ref so that no clean-up drops it. */
import type { Candidate } from '../core/event.ts';
import { SigningFailed } from '../errors.ts';
import type { Git } from './git.ts';
import { mergeCommit, mergeTree, rebaseCommits, squashCommit } from './merge.ts';
import { isAncestor, treeOf } from './objects.ts';

export async function buildCandidate(
  git: Git,
  input: {
    headSha: string;
    /** What the head builds on. */
    baseSha: string;
    trunk: string;
    method: 'squash' | 'merge' | 'rebase';
    message: string;
    task: string;
    /** The operator asks for signed commits on trunk, and this may become one. */
    sign?: boolean;
  },
): Promise<
  | { kind: 'clean'; candidate: Candidate }
  | { kind: 'conflict'; files: string[]; trunk: string }
  | { kind: 'empty'; trunk: string }
  | { kind: 'rewritten'; trunk: string }
  | { kind: 'refused'; detail: string }
> {
  const { headSha, baseSha, trunk, method, message, task, sign = false } = input;
  if (baseSha !== trunk && !(await isAncestor(git, baseSha, trunk))) return { kind: 'rewritten', trunk };
  const merged = await mergeTree(git, trunk, headSha);
  if (!merged.clean) return { kind: 'conflict', files: merged.files, trunk };
  const trunkTree = await treeOf(git, trunk);
  if (merged.tree === trunkTree) return { kind: 'empty', trunk };
  const commit = { squash: squashCommit, merge: mergeCommit, rebase: rebaseCommits }[method];
  let sha: string;
  try {
    sha = await commit(git, { tree: merged.tree, trunk, head: headSha, message, sign });
  } catch (error) {
    if (error instanceof SigningFailed) return { kind: 'refused', detail: error.message };
    throw error;
  }
  await git.moveRefs([{ ref: `refs/forge/${task}/candidate`, to: sha }]);
  return { kind: 'clean', candidate: { sha, tree: merged.tree, trunk, trunkTree, headSha } };
}
