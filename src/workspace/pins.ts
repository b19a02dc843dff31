/**
 * What the repository remembers about a task's work, as refs.
 *
 *   refs/heads/<branch>            the work itself, as a person or a pull request sees it
 *   refs/forge/<task>/base         the commit it started from, so that no clean-up drops it
 *   refs/forge/<task>/head         the branch as the loop left it: where it differs, somebody else moved it
 *   refs/forge/<task>/laying       a commit of trunk whose merge is being written into the workspace
 *   refs/forge/<task>/merging      a commit of trunk whose merge the agent was given to finish
 *   refs/forge/<task>/kept/<sha>   former work that the branch does not contain any more
 *   refs/forge/<task>/replay/<sha> what a replay shows, once the workspace is gone and its branch may go
 */

import { shortSha } from '../core/words/short-sha.ts';
import { GitFailed, WorkspaceRefused } from '../errors.ts';
import type { Git } from '../git/git.ts';
import { readRefs } from '../git/objects.ts';
import type { RefMove } from '../git/refs.ts';
import { safeName } from './paths.ts';
import type { WorkspaceKey } from './workspace.ts';

export interface Pins {
  branch: string | null;
  base: string | null;
  head: string | null;
  laying: string | null;
  merging: string | null;
}

export async function readPins(git: Git, spec: Pick<WorkspaceKey, 'task' | 'branch'>): Promise<Pins> {
  const names = ['base', 'head', 'laying', 'merging'].map((name) => pinRef(spec.task, name));
  const refs = await readRefs(git, [branchRef(spec), ...names]);
  return {
    branch: refs.get(branchRef(spec)) ?? null,
    base: refs.get(pinRef(spec.task, 'base')) ?? null,
    head: refs.get(pinRef(spec.task, 'head')) ?? null,
    laying: refs.get(pinRef(spec.task, 'laying')) ?? null,
    merging: refs.get(pinRef(spec.task, 'merging')) ?? null,
  };
}

interface PinUpdate {
  /** Moves the branch from exactly `from` (null: it must not exist). */
  branch?: { from: string | null; to: string };
  base?: string;
  head?: string;
  laying?: string | null;
  merging?: string | null;
  keep?: readonly string[];
}

/** All or nothing. Throws WorkspaceRefused when the branch is not where it was. */
export async function updatePins(
  git: Git,
  spec: Pick<WorkspaceKey, 'task' | 'branch'>,
  update: PinUpdate,
): Promise<void> {
  const moves: RefMove[] = [];
  for (const sha of update.keep ?? []) moves.push({ ref: pinRef(spec.task, `kept/${sha}`), to: sha });
  for (const name of ['base', 'head', 'laying', 'merging'] as const) {
    const to = update[name];
    if (to !== undefined) moves.push({ ref: pinRef(spec.task, name), to });
  }
  const move = update.branch;
  if (move) moves.push({ ref: branchRef(spec), ...move });
  try {
    await git.moveRefs(moves);
  } catch (error) {
    const now = move ? (await readPins(git, spec)).branch : null;
    if (error instanceof GitFailed && move && now !== move.from) throw branchMoved(spec, now);
    throw error;
  }
}

export function branchMoved(spec: Pick<WorkspaceKey, 'branch'>, to: string | null): WorkspaceRefused {
  return new WorkspaceRefused(
    `Branch moved: ${spec.branch} is now at ${shortSha(to, 'no commit')}, which is not where the loop left it. Adopt it first.`,
  );
}

/** With `keepsFormer`, what the branch does not contain any more stays until `forget`. */
export async function dropPins(git: Git, task: string, keepsFormer: boolean): Promise<void> {
  const pins = await pinsBelow(git, task);
  const base = pins.find(({ name }) => name === 'base')?.sha;
  const isFormer = (name: string): boolean => name.startsWith('kept/');
  const stays = (name: string): boolean => name.startsWith('replay/') || (keepsFormer && isFormer(name));
  const isWork = (name: string): boolean => !stays(name) && (name === 'head' || isFormer(name));
  const work = new Set(pins.filter(({ name, sha }) => isWork(name) && sha !== base).map(({ sha }) => sha));
  await git.moveRefs([
    ...[...work].map((sha) => ({ ref: pinRef(task, `replay/${sha}`), to: sha })),
    ...pins.filter(({ name }) => !stays(name)).map(({ name }) => ({ ref: pinRef(task, name), to: null })),
  ]);
}

/** What a replay shows needs its commits no longer. */
export async function dropReplay(git: Git, task: string): Promise<void> {
  const pins = (await pinsBelow(git, task)).filter(({ name }) => name.startsWith('replay/'));
  await git.moveRefs(pins.map(({ name }) => ({ ref: pinRef(task, name), to: null })));
}

async function pinsBelow(git: Git, task: string): Promise<{ name: string; sha: string }[]> {
  const { stdout } = await git(['for-each-ref', '--format=%(objectname) %(refname)', pinRef(task)]);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [sha, ref] = line.split(' ') as [string, string];
      return { sha, name: ref.slice(pinRef(task).length + 1) };
    });
}

/** What the branch does not contain any more; false when nothing of that kind was kept. */
export async function forget(git: Git, task: string): Promise<boolean> {
  const listed = await git(['for-each-ref', '--format=%(refname)', pinRef(task, 'kept')]);
  const refs = listed.stdout.split('\n').filter((ref) => ref !== '');
  if (refs.length === 0) return false;
  await git.moveRefs(refs.map((ref) => ({ ref, to: null })));
  return true;
}

/** Every ref but those that other tasks and fetches move. */
export async function refsAround(git: Git, spec: WorkspaceKey): Promise<Map<string, string>> {
  const { stdout } = await git(['for-each-ref', '--format=%(objectname) %(refname)']);
  const own = [branchRef(spec), `${pinRef(spec.task)}/`];
  const found = new Map<string, string>();
  for (const line of stdout.split('\n')) {
    const [, sha, ref] = /^(\S+) (.+)$/.exec(line) ?? [];
    if (sha === undefined || ref === undefined) continue;
    const others = /^refs\/(heads\/loop|forge|forge-loop|remotes)\//.test(ref);
    if (!others || own.some((start) => ref.startsWith(start))) found.set(ref, sha);
  }
  return found;
}

/** The loop moves branches of its own only, and only ones git itself would accept. */
export function refuseForeignBranch(branch: string): void {
  const legal =
    /^loop(\/[\p{L}\p{N}_][\p{L}\p{N}_.-]*)+$/u.test(branch) && !/\.\.|\.(lock)?(\/|$)/.test(branch);
  if (!legal) {
    throw new WorkspaceRefused(
      `${JSON.stringify(branch)} is not a branch of the loop's: those are named loop/<issue>-<slug>.`,
    );
  }
}

function branchRef(spec: Pick<WorkspaceKey, 'branch'>): string {
  return `refs/heads/${spec.branch}`;
}

function pinRef(task: string, name?: string): string {
  return name === undefined ? `refs/forge/${safeName(task)}` : `refs/forge/${safeName(task)}/${name}`;
}
