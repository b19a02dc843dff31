/** A git repository as far as the loop cares: commits with trees, branches moved by compare-and-swap, three-way merges. */
import { createHash } from 'node:crypto';
import type { ChangedBlob } from '../../src/core/change/change.ts';
import type { Repository } from '../../src/git/repository.ts';

export type Tree = Record<string, string>;

export interface SimCommit {
  sha: string;
  tree: string;
  files: Tree;
  parents: string[];
  message: string;
}

export interface SimRepository extends Repository {
  commit(files: Tree, parents: string[], message: string): SimCommit;
  get(sha: string): SimCommit;
  refs: Map<string, string>;
  isAncestor(old: string, young: string): boolean;
  mergeBase(a: string, b: string): string;
  /** The commits of `young` that `old` does not have, oldest first. */
  between(old: string, young: string): SimCommit[];
  merge(ours: string, theirs: string): { files: Tree; conflicts: string[] };
}

export const treeHash = (files: Tree): string =>
  digest(JSON.stringify(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))));

const digest = (text: string): string => createHash('sha1').update(text).digest('hex');

export function createRepository(): SimRepository {
  const commits = new Map<string, SimCommit>();
  const refs = new Map<string, string>();
  const get = (sha: string): SimCommit => {
    const found = commits.get(sha);
    if (!found) throw new Error(`no commit ${sha}`);
    return found;
  };
  const ancestors = (sha: string): Set<string> => {
    const seen = new Set<string>();
    const todo = [sha];
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      todo.push(...get(next).parents);
    }
    return seen;
  };
  const repository: SimRepository = {
    refs,
    get,
    commit(files, parents, message) {
      const tree = treeHash(files);
      const sha = digest(`${tree}\n${parents.join()}\n${message}`);
      const made = { sha, tree, files: { ...files }, parents, message };
      commits.set(sha, made);
      return made;
    },
    isAncestor: (old, young) => ancestors(young).has(old),
    mergeBase(a, b) {
      const of = ancestors(a);
      const todo = [b];
      const seen = new Set<string>();
      for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
        if (of.has(next)) return next;
        if (seen.has(next)) continue;
        seen.add(next);
        todo.push(...get(next).parents);
      }
      throw new Error('no merge base');
    },
    between(old, young) {
      const known = ancestors(old);
      return [...ancestors(young)]
        .filter((sha) => !known.has(sha))
        .map(get)
        .reverse();
    },
    merge(ours, theirs) {
      const base = get(repository.mergeBase(ours, theirs)).files;
      const [left, right] = [get(ours).files, get(theirs).files];
      const files: Tree = {};
      const conflicts: string[] = [];
      for (const path of new Set([...Object.keys(left), ...Object.keys(right)])) {
        const [b, l, r] = [base[path], left[path], right[path]];
        const merged = l === r || r === b ? l : l === b ? r : `conflict<${l}|${r}>`;
        if (l !== r && r !== b && l !== b) conflicts.push(path);
        if (merged !== undefined) files[path] = merged;
      }
      return { files, conflicts };
    },
    treeOf: async (sha) => get(sha).tree,
    diff: async (base, head) => {
      const from = get(repository.mergeBase(base, head));
      const to = get(head);
      const files = changedPaths(from.files, to.files);
      const between = repository.between(from.sha, head);
      return {
        files,
        patch: files.map((path) => filePatch(path, from.files[path], to.files[path])).join(''),
        blobs: files.map((path) => blobAt(path, from.files[path], to.files[path])),
        commits: between.map(({ sha, message, files: after, parents }) => {
          const before = get(parents[0]!).files;
          const changed = parents.length > 1 ? [] : changedPaths(before, after);
          const patch = changed.map((path) => filePatch(path, before[path], after[path])).join('');
          return { sha, message, patch: between.length === 1 ? null : patch };
        }),
        hidden: [],
      };
    },
    fileAt: async (commit, path) => get(commit).files[path] ?? null,
    unsupportedFilters: async () => [],
    switchTo: async () => null,
  };
  return repository;
}

function changedPaths(before: Tree, after: Tree): string[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return paths.filter((path) => before[path] !== after[path]).sort();
}

function filePatch(path: string, before: string | undefined, after: string | undefined): string {
  const lines = (sign: string, text: string | undefined) =>
    text === undefined ? [] : text.split('\n').map((line) => `${sign}${line}`);
  return [
    `diff --git a/${path} b/${path}`,
    ...(before === undefined ? ['new file mode 100644'] : []),
    ...(after === undefined ? ['deleted file mode 100644'] : []),
    before === undefined ? '--- /dev/null' : `--- a/${path}`,
    after === undefined ? '+++ /dev/null' : `+++ b/${path}`,
    `@@ -1,${lines('-', before).length} +1,${lines('+', after).length} @@`,
    ...lines('-', before),
    ...lines('+', after),
    '',
  ].join('\n');
}

function blobAt(path: string, before: string | undefined, content: string | undefined): ChangedBlob {
  const bytesBefore = before?.length ?? null;
  if (content === undefined) return { path, sha: null, bytes: null, bytesBefore };
  return { path, sha: digest(content), bytes: content.length, bytesBefore };
}

/** What the simulated tests find wrong in a tree: bad files, and any that clash, which are good as long as each is alone. */
export const redFiles = (files: Tree): string[] => {
  const clashes = Object.values(files).filter((content) => content.startsWith(CLASH));
  return Object.entries(files)
    .filter(
      ([, content]) =>
        (!content.startsWith('good') && content !== 'hello') ||
        clashes.indexOf(content) !== clashes.lastIndexOf(content),
    )
    .map(([path, content]) => `${path} ${content}`)
    .sort();
};

/** Two files with the same clash are red together. */
export const CLASH = 'good clash';
