/** What git answers alone, whatever the forge: questions about commits that are here. */
import type { Change } from '../core/change/change.ts';
import type { FilteredPaths } from '../core/words/words.ts';
import { diffs } from './diff.ts';
import { unsupportedFilters } from './filters.ts';
import { currentBranch, type Git } from './git.ts';
import { treeOf } from './objects.ts';

/** What only `doctor` and `init` ask: what the repository needs of the operator's own setup. */
export { mentionsFilters, unsupportedFilters } from './filters.ts';
export { submodulesOf } from './modules.ts';
export { trySignature, wantsSignatures } from './signing.ts';

export interface Repository {
  /** What `head` changes since it left `base`. */
  diff(base: string, head: string): Promise<Change>;
  /** The tree of a commit that is here. */
  treeOf(commit: string): Promise<string>;
  /** The text of a file as a commit has it; null when it has no such file. */
  fileAt(commit: string, path: string): Promise<string | null>;
  /** Switches the operator's checkout from one branch to another; or why it stays as it is. Nothing in it is ever overwritten. */
  switchTo(branch: string, from: string | null): Promise<string | null>;
  /** Tracked paths with a filter that is not applied here. */
  unsupportedFilters(commit: string): Promise<FilteredPaths[]>;
}

/** Idempotent. */
async function switchTo(git: Git, branch: string, from: string | null): Promise<string | null> {
  const current = await currentBranch(git);
  if (current === branch) return null;
  if (current !== from) return `${current ?? 'another commit'} is checked out meanwhile`;
  const dirty = await dirtyIn(git);
  if (dirty !== null) return dirty;
  const { exitCode, stderr } = await git(['switch', '--quiet', branch], { allow: [1, 128] });
  return exitCode === 0 ? null : stderr.trim().split('\n', 1)[0]!;
}

/** Why a checkout is not clean; null when it is. */
export async function dirtyIn(git: Git): Promise<string | null> {
  const { stdout } = await git(['status', '--porcelain', '--untracked-files=no']);
  const changed = stdout.split('\n').filter(Boolean);
  return changed.length === 0
    ? null
    : `${changed.length} uncommitted ${changed.length === 1 ? 'change' : 'changes'}, such as ${changed[0]!.slice(3)}`;
}

export function gitRepository(git: Git): Repository {
  return {
    diff: (base, head) => diffs(git, base, head),
    switchTo: (branch, from) => switchTo(git, branch, from),
    unsupportedFilters: (commit) => unsupportedFilters(git, commit),
    treeOf: (commit) => treeOf(git, commit),
    fileAt: (commit, path) => git.text(`${commit}:${path}`),
  };
}
