/** Small questions about commits, asked of the repository alone. */
import type { Git } from '../git/git.ts';
import { isAncestor, mergeBase } from '../git/objects.ts';

/** What the work is measured against: where it started, or the newest commit of trunk it has taken in since. */
export async function measuredFrom(git: Git, start: string, head: string, trunk: string): Promise<string> {
  const shared = await mergeBase(git, head, trunk);
  return shared !== null && (await isAncestor(git, start, shared)) ? shared : start;
}

/** Those that `head` does not contain, each once. */
export async function notContained(
  git: Git,
  shas: readonly (string | null)[],
  head: string,
): Promise<string[]> {
  const loose: string[] = [];
  for (const sha of new Set(shas)) {
    if (sha !== null && !(await isAncestor(git, sha, head))) loose.push(sha);
  }
  return loose;
}
