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
  return git.text(`${commit}:${path}`);
}

/** Where each of these refs is; those that do not exist are absent. */
export async function readRefs(git: Git, refs: readonly string[]): Promise<Map<string, string>> {
  const found = await git.resolveAll(refs);
  return new Map(refs.flatMap((ref, at) => (found[at] ? [[ref, found[at]]] : [])));
}

export async function isAncestor(git: Git, older: string, newer: string): Promise<boolean> {
  if (older === newer) return true;
  return remembered(git, `ancestor ${older} ${newer}`, [older, newer], async () => {
    return (await isNear(git, older, newer)) || (await mergeBase(git, older, newer)) === older;
  });
}

export async function mergeBase(git: Git, one: string, other: string): Promise<string | null> {
  if (one === other) return one;
  const pair = [one, other].sort();
  return remembered(git, `base ${pair.join(' ')}`, pair, async () => {
    const fork = await nearFork(git, one, other);
    return fork ?? ((await git(['merge-base', ...pair], { allow: [1] })).stdout.trim() || null);
  });
}

/** The commits from `newest` back to `end`, which is not among them, along first parents. Newest first. */
export async function firstParents(git: Git, end: string, newest: string): Promise<string[]> {
  const near: string[] = [];
  for (let at: string | undefined = newest; at !== undefined && near.length < STEPS; ) {
    if (at === end) return near;
    near.push(at);
    at = (await parentsOf(git, at))[0];
  }
  const listed = await git(['rev-list', '--first-parent', `${end}..${newest}`]);
  return listed.stdout.split('\n').filter((line) => line !== '');
}

/** Most commits we ask about are a few steps apart; a few commits are read sooner than a git is started. */
const STEPS = 32;

/** Whether `older` is found among the nearest ancestors of `newer`. False says nothing about those further back. */
async function isNear(git: Git, older: string, newer: string): Promise<boolean> {
  const seen = new Set<string>();
  let front = [newer];
  while (front.length > 0 && seen.size < STEPS) {
    const next: string[] = [];
    for (const sha of front) {
      if (seen.has(sha)) continue;
      seen.add(sha);
      const parents = await parentsOf(git, sha);
      if (parents.includes(older)) return true;
      next.push(...parents);
    }
    front = next;
  }
  return false;
}

/** Where two lines of commits without merges part. Null says nothing: they may part further back, or beyond a merge. */
async function nearFork(git: Git, one: string, other: string): Promise<string | null> {
  const [ours, theirs] = [await straightLine(git, one), await straightLine(git, other)];
  return ours.find((sha) => theirs.includes(sha)) ?? null;
}

/** The commit and those before it, newest first, as far as each has exactly one parent; at most a few. */
export async function straightLine(git: Git, newest: string): Promise<string[]> {
  const line = [newest];
  while (line.length < STEPS) {
    const parents = await parentsOf(git, line.at(-1)!);
    if (parents.length !== 1) break;
    line.push(parents[0]!);
  }
  return line;
}

async function parentsOf(git: Git, sha: string): Promise<readonly string[]> {
  const known = await remembered(git, `commit ${sha}`, [sha], () => git.commit(sha));
  return known?.parents ?? [];
}

const MOST = 2000;
const memory = new WeakMap<Git, Map<string, unknown>>();

/** Only for what is given by its full id: names move. That there is nothing is not remembered: it may yet arrive. */
export async function remembered<T>(
  git: Git,
  key: string,
  ids: readonly string[],
  ask: () => Promise<T>,
): Promise<T> {
  if (!ids.every((id) => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(id))) return ask();
  const known = memory.get(git) ?? new Map<string, unknown>();
  memory.set(git, known);
  if (known.has(key)) return known.get(key) as T;
  const answer = await ask();
  if (answer === null) return answer;
  if (known.size >= MOST) known.clear();
  known.set(key, answer);
  return answer;
}
