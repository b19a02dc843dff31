/** Small questions about commits and refs. What can never change (about commits named by their id) is asked once. */
import { baseKey, createFacts, type Facts } from './facts.ts';
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

/** Where each of these refs is; those that do not exist are absent. */
export async function readRefs(git: Git, refs: readonly string[]): Promise<Map<string, string>> {
  const found = await git.resolveAll(refs);
  return new Map(refs.flatMap((ref, at) => (found[at] ? [[ref, found[at]]] : [])));
}

/** More of them cost more than a git of its own. */
const MOST_ASKED = 16;

/** Where these branches are, by a git that reads all of them where they are many. */
export async function readHeads(git: Git, branches: readonly string[]): Promise<Map<string, string>> {
  const refs = branches.map((branch) => `refs/heads/${branch}`);
  const found = refs.length > MOST_ASKED ? await readBranches(git) : await readRefs(git, refs);
  return new Map([...found].map(([ref, sha]) => [ref.slice('refs/heads/'.length), sha]));
}

async function readBranches(git: Git): Promise<Map<string, string>> {
  const { stdout } = await git(['for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads']);
  const lines = stdout.split('\n').filter(Boolean);
  return new Map(lines.map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))]));
}

export async function isAncestor(git: Git, older: string, newer: string): Promise<boolean> {
  return (await mergeBase(git, older, newer)) === older;
}

export async function mergeBase(git: Git, one: string, other: string): Promise<string | null> {
  if (one === other) return one;
  return remembered(git, baseKey(one, other), [one, other], async () => {
    const known = factsOf(git);
    const base = inherited(known, one, other) ?? inherited(known, other, one);
    if (base !== null) return base;
    const at = known.next();
    for (const id of [one, other])
      if (!known.has(`since ${id}`)) known.set(`since ${id}`, { at, isMade: false });
    return (await git(['merge-base', one, other], { allow: [1] })).stdout.trim() || null;
  });
}

/** Null when it is not there. */
export async function readCommit(git: Git, commit: string): Promise<Commit | null> {
  const text = await git.text(commit, 'commit');
  if (text === null) return null;
  const end = text.indexOf('\n\n');
  const headers = end < 0 ? text : text.slice(0, end);
  // Where git looks for them: a line of that name further down is none.
  const [, listed = ''] = /^tree \w+((?:\nparent \w+)*)/.exec(headers) ?? [];
  const parents = listed.split('\nparent ').slice(1);
  return { parents, headers, message: end < 0 ? '' : text.slice(end + 2) };
}

interface Commit {
  parents: string[];
  headers: string;
  message: string;
}

/** The commits from `newest` back to `end`, which is not among them, along first parents. Newest first. */
export async function firstParents(git: Git, end: string, newest: string): Promise<string[]> {
  if (end === newest) return [];
  return remembered(git, `line ${end} ${newest}`, [end, newest], async () => {
    const near: string[] = [];
    for (let at: string | undefined = newest; at && near.length < NEAR; at = (await parentsOf(git, at))[0]) {
      if (!isId(at)) break;
      if (at === end) return near;
      near.push(at);
    }
    const listed = await git(['rev-list', '--first-parent', `${end}..${newest}`]);
    return listed.stdout.split('\n').filter((line) => line !== '');
  });
}

/** So many commits are asked for one by one before git is started to list them. */
export const NEAR = 20;

async function parentsOf(git: Git, commit: string): Promise<readonly string[]> {
  const known = await remembered(git, `parents ${commit}`, [commit], async () => {
    return (await readCommit(git, commit))?.parents ?? null;
  });
  return known ?? [];
}

/** A full id: it stands for one object for ever. */
export const isId = (text: string): boolean => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

/** What is known of a commit that was just made, without asking. */
export function learn(git: Git, sha: string, made: { tree: string; parents: readonly string[] }): void {
  const known = factsOf(git);
  if (!known.has(`tree ${sha}`)) known.set(`since ${sha}`, { at: known.next(), isMade: true });
  known.set(`tree ${sha}`, made.tree);
  known.set(`parents ${sha}`, made.parents);
  for (const parent of made.parents) known.set(baseKey(parent, sha), parent);
}

/**
 * What `commit` has in common with `young`, as it follows from what it has in common with those that `young` was made on, each
 * with one parent: what does not contain the parent does not contain the child. Null where git has to be asked.
 */
function inherited(known: Facts, commit: string, young: string): string | null {
  for (let child = young; ; ) {
    const parents = known.get(`parents ${child}`);
    if (!Array.isArray(parents) || parents.length !== 1) return null;
    const parent: string = parents[0];
    if (parent === commit) return commit;
    const base = known.get(baseKey(commit, parent));
    if (typeof base === 'string') return base !== parent || isOlder(known, commit, child) ? base : null;
    child = parent;
  }
}

/** It was there before the other was made here, and so it can't contain it. */
function isOlder(known: Facts, commit: string, made: string): boolean {
  const [first, second] = [commit, made].map((id) => known.get(`since ${id}`) as Since | undefined);
  return first !== undefined && second?.isMade === true && first.at < second.at;
}

/** When it was made here, or else was first asked about. */
interface Since {
  at: number;
  isMade: boolean;
}

/**
 * Only for what is given by its full id: names move. That there is nothing is not remembered: it may yet arrive. Who asks
 * while the answer is on its way gets the same one.
 */
export async function remembered<T>(
  git: Git,
  key: string,
  ids: readonly string[],
  ask: () => Promise<T>,
): Promise<T> {
  if (!ids.every(isId)) return ask();
  const known = factsOf(git);
  const asked = known.has(key) ? (known.get(key) as T | Promise<T>) : ask();
  known.set(key, asked);
  try {
    const answer = await asked;
    if (answer === null) known.delete(key);
    else known.set(key, answer);
    return answer;
  } catch (error) {
    known.delete(key);
    throw error;
  }
}

const memory = new WeakMap<Git, Facts>();

function factsOf(git: Git): Facts {
  const facts = memory.get(git) ?? createFacts();
  memory.set(git, facts);
  return facts;
}
