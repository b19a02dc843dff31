/** Small questions about commits, asked of the repository alone. */
import type { Git } from '../git/git.ts';

export async function isAncestor(git: Git, older: string, newer: string): Promise<boolean> {
  if (older === newer) return true;
  return (await git(['merge-base', '--is-ancestor', older, newer], { allow: [1] })).exitCode === 0;
}

export async function treeOf(git: Git, commit: string): Promise<string> {
  return (
    await git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${commit}^{tree}`])
  ).stdout.trim();
}

export async function mergeBase(git: Git, one: string, other: string): Promise<string | null> {
  if (one === other) return one;
  return (await git(['merge-base', one, other], { allow: [1] })).stdout.trim() || null;
}

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
