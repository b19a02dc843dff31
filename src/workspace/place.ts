/**
 * The git directory a workspace's own git uses, read and written as files only.
 *
 * An agent can write here, so the host never runs git on it: HEAD and refs are parsed, and a checkpoint puts ref, HEAD
 * and index back by renaming plain files into place.
 */
import { join } from 'node:path';
import { shortSha } from '../core/words/short-sha.ts';
import { WorkspaceRefused } from '../errors.ts';
import type { Git } from '../git/git.ts';
import { plainDirectories, readPlain, replaceIndex, replacePlain } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';

export interface Place {
  worktree: string;
  /** HEAD, index and the state of a merge. */
  dir: string;
  /** Objects the repository does not have yet; null when the workspace shares the repository's. */
  objects: string | null;
  /** Refs of the workspace's own; false when they are the repository's. */
  ownRefs: boolean;
}

export interface Tips {
  /** The commit HEAD is at; null on a branch without commits. */
  head: string | null;
  onBranch: boolean;
  /** Where the workspace has the task's branch. */
  branch: string | null;
  /** The commit whose merge is under way. */
  merging: string | null;
}

export async function readTips(git: Git, place: Place, branch: string): Promise<Tips> {
  const ours = `refs/heads/${branch}`;
  const refAt = (name: string) => (place.ownRefs ? readRef(place.dir, name) : repositoryRef(git, name));
  const head = readPlain(join(place.dir, 'HEAD'), SMALL)?.trim();
  if (head === undefined) throw new WorkspaceRefused(`${place.dir} has no HEAD.`);

  const merging = asSha(readPlain(join(place.dir, 'MERGE_HEAD'), SMALL)?.trim());
  const branchTip = await refAt(ours);
  const detached = asSha(head);
  if (detached !== null) return { head: detached, onBranch: false, branch: branchTip, merging };

  const target = symbolic(head);
  if (target === null)
    throw new WorkspaceRefused(`HEAD in ${place.dir} names neither a commit nor a branch.`);
  const onBranch = target === ours;
  return { head: onBranch ? branchTip : await refAt(target), onBranch, branch: branchTip, merging };
}

/**
 * Whether the branch got to `sha` by the workspace's own git. Where refs are shared, somebody else can move the branch
 * under a workspace, and its files would then look like a revert of what they did; only its log tells.
 */
export function movedHere(place: Place, tips: Tips, sha: string): boolean {
  if (place.ownRefs) return tips.head === sha || tips.branch === sha;
  const log = readPlain(join(place.dir, 'logs', 'HEAD'), PACKED);
  return log?.split('\n').some((line) => line.split(' ')[1] === sha) ?? false;
}

/** Where a workspace has refs of its own, these are at `sha` from now on. */
export function pointRefs(place: Place, refs: readonly string[], sha: string): void {
  if (!place.ownRefs) return;
  for (const ref of refs) {
    const parts = ref.split('/');
    const folder = plainDirectories(place.dir, parts.slice(0, -1), 'make');
    replacePlain(join(folder!, parts.at(-1)!), `${sha}\n`);
  }
}

/** Leaves the workspace's own git at `sha` on the task's branch with this index, as after a checkout. */
export async function settle(
  place: Place,
  at: { branch: string; sha: string; index: string; merging: string | null },
): Promise<void> {
  pointRefs(place, [`refs/heads/${at.branch}`], at.sha);
  for (const leftover of LEFTOVERS) await removeTree(join(place.dir, leftover));
  replacePlain(join(place.dir, 'HEAD'), `ref: refs/heads/${at.branch}\n`);
  replaceIndex(join(place.dir, 'index'), at.index);
  if (at.merging !== null) {
    replacePlain(join(place.dir, 'MERGE_MSG'), `Merge ${shortSha(at.merging)} into ${at.branch}\n`);
    replacePlain(join(place.dir, 'MERGE_HEAD'), `${at.merging}\n`);
  }
}

/** What an unfinished merge, rebase or killed git leaves behind; the next commit would pick it up. */
const LEFTOVERS = [
  'MERGE_HEAD',
  'MERGE_MSG',
  'MERGE_MODE',
  'AUTO_MERGE',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'SQUASH_MSG',
  'rebase-merge',
  'rebase-apply',
  'sequencer',
  'index.lock',
  'HEAD.lock',
];

const SMALL = 4096;
const PACKED = 16 * 1024 * 1024;

function readRef(dir: string, name: string): string | null {
  if (!isPlainRefName(name))
    throw new WorkspaceRefused(`${dir} uses the ref name ${JSON.stringify(name)}, which is not a plain one.`);
  const parts = name.split('/');
  const loose = readLoose(dir, parts);
  if (loose !== null) return loose;
  for (const line of (readPlain(join(dir, 'packed-refs'), PACKED) ?? '').split('\n')) {
    if (line.slice(line.indexOf(' ') + 1) === name) return asSha(line.slice(0, line.indexOf(' ')));
  }
  return null;
}

function readLoose(dir: string, parts: readonly string[]): string | null {
  const folder = plainDirectories(dir, parts.slice(0, -1));
  if (folder === null) return null;
  return asSha(readPlain(join(folder, parts.at(-1)!), SMALL)?.trim());
}

async function repositoryRef(git: Git, name: string): Promise<string | null> {
  return git.resolve(name);
}

function symbolic(content: string): string | null {
  const match = /^ref:\s*(refs\/\S+)$/.exec(content);
  return match ? match[1]! : null;
}

function isPlainRefName(name: string): boolean {
  return /^refs(\/[^/\s\\~^:?*[\p{Cc}]+)+$/u.test(name) && !/(^|\/)\.|\.\.|@\{|\.lock(\/|$)/.test(name);
}

function asSha(text: string | undefined): string | null {
  return text !== undefined && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text) ? text : null;
}
