/** What git answers alone, whatever the forge: questions about commits that are here. */
import type { Change } from '../core/change/change.ts';
import type { FilteredPaths } from '../core/words/words.ts';
import { diffs } from './diff.ts';
import { unsupportedFilters } from './filters.ts';
import type { Git } from './git.ts';
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
  /** Tracked paths with a filter that is not applied here. */
  unsupportedFilters(commit: string): Promise<FilteredPaths[]>;
}

export function gitRepository(git: Git): Repository {
  return {
    diff: (base, head) => diffs(git, base, head),
    unsupportedFilters: (commit) => unsupportedFilters(git, commit),
    treeOf: (commit) => treeOf(git, commit),
    fileAt: (commit, path) => git.text(`${commit}:${path}`),
  };
}
