/** Small questions about commits and refs. What can never change (about commits named by their id) is asked once. */
import type { Git } from './git.ts';

/** The commit a name stands for; null when there is none. */
export async function resolve(git: Git, name: string): Promise<string | null> {
  return git.resolve(`${name}^{commit}`);
}

/** Null when there is no such commit. */
export async function treeIfThere(git: Git, commit: string): Promise<string | null> {
  return git.resolve(`${commit}^{tree}`);
}

export async function treeOf(git: Git, commit: string): Promise<string> {
  return remembered(git, `tree ${commit}`, [commit], async () => {
    const tree = await treeIfThere(git, commit);
    if (tree === null) throw new Error(`${commit} is not a commit of ${git.gitDir}`);
    return tree;
  });
}

/** The text of a file as a commit has it; null when it has no such file. */
export async function fileAt(git: Git, commit: string, path: string): Promise<string | null> {
  const shown = await git(['cat-file', 'blob', `${commit}:${path}`], { allow: [128] });
  return shown.exitCode === 0 ? shown.stdout : null;
}

/** Where each of these refs is; those that do not exist are absent. */
export async function readRefs(git: Git, refs: readonly string[]): Promise<Map<string, string>> {
  const found = await Promise.all(refs.map(async (ref) => [ref, await git.resolve(ref)] as const));
  return new Map(found.filter((entry): entry is [string, string] => entry[1] !== null));
}

export async function isAncestor(git: Git, older: string, newer: string): Promise<boolean> {
  if (older === newer) return true;
  return remembered(git, `ancestor ${older} ${newer}`, [older, newer], async () => {
    return (await git(['merge-base', '--is-ancestor', older, newer], { allow: [1] })).exitCode === 0;
  });
}

export async function mergeBase(git: Git, one: string, other: string): Promise<string | null> {
  if (one === other) return one;
  return remembered(git, `base ${one} ${other}`, [one, other], async () => {
    return (await git(['merge-base', one, other], { allow: [1] })).stdout.trim() || null;
  });
}

const MOST = 2000;
const memory = new WeakMap<Git, Map<string, unknown>>();

/** Only for commits given by their full id: names move. */
async function remembered<T>(
  git: Git,
  key: string,
  commits: readonly string[],
  ask: () => Promise<T>,
): Promise<T> {
  if (!commits.every((commit) => /^[0-9a-f]{40}$/.test(commit))) return ask();
  const known = memory.get(git) ?? new Map<string, unknown>();
  memory.set(git, known);
  if (known.has(key)) return known.get(key) as T;
  const answer = await ask();
  if (known.size >= MOST) known.clear();
  known.set(key, answer);
  return answer;
}
