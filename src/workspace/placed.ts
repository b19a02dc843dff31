/**
 * Files of the operator's that lie in a workspace and are no part of the work: settings of tools, servers, skills. Which they
 * are is noted where nobody but the host writes, and no snapshot has them, whoever committed them.
 */
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { WorkspaceRefused } from '../errors.ts';
import { type Git, nulSeparated } from '../git/git.ts';
import type { KeptIndex } from './kept-index.ts';
import { readPins } from './pins.ts';
import { list, plainDirectories, readPlain, replacePlain } from './plain-files.ts';
import { keptIndexOf, pathOf, type Shared } from './shared.ts';
import type { PlacedFile, WorkspaceKey } from './workspace.ts';

/** Idempotent: what was placed before and is not among these is removed, the rest is as it is in its source now. */
export async function place(shared: Shared, spec: WorkspaceKey, files: readonly PlacedFile[]): Promise<void> {
  const kept = keptIndexOf(shared, spec.task);
  const before = placedIn(kept);
  if (before.length === 0 && files.length === 0) return;
  const worktree = pathOf(shared, spec);
  await shared.layout.inspect(shared, worktree);
  const paths = files.map(({ path }) => partsOf(path).join('/'));
  await refuseTracked(shared, spec, paths);
  // Both until it is done: a file that is half placed is no part of the work either.
  note(kept, [...new Set([...before, ...paths])]);
  for (const path of before.filter((one) => !paths.includes(one))) remove(worktree, path);
  for (const { path, from } of files) {
    const parts = partsOf(path);
    if (!existsSync(from))
      throw new WorkspaceRefused(`${from}, which is to be placed as ${path}, is missing.`);
    remove(worktree, path);
    const folder = plainDirectories(worktree, parts.slice(0, -1), 'make')!;
    const target = join(folder, parts.at(-1)!);
    cpSync(from, target, { recursive: true, dereference: true });
    await makeReadOnly(target);
  }
  note(kept, paths);
}

export function placedIn(kept: KeptIndex): string[] {
  const noted = readPlain(noteOf(kept), LONGEST_NOTE);
  return noted === null ? [] : noted.split('\0').filter((path) => path !== '');
}

export const forgetPlaced = (kept: KeptIndex): void => rmSync(noteOf(kept), { force: true });

export const isPlaced = (placed: readonly string[], path: string): boolean =>
  placed.some((one) => path === one || path.startsWith(`${one}/`));

/** A commit of the agent's own has one of them: its history can't be taken over. */
export async function hasPlaced(
  git: Git,
  placed: readonly string[],
  head: string,
  known: readonly (string | null)[],
): Promise<boolean> {
  if (placed.length === 0 || known.includes(head)) return false;
  const range = [head, ...known.flatMap((sha) => (sha === null ? [] : [`^${sha}`]))];
  const found = await git(['rev-list', '-1', '--full-history', ...range, '--', ...placed], {
    env: { GIT_LITERAL_PATHSPECS: '1' },
  });
  return found.stdout.trim() !== '';
}

async function refuseTracked(shared: Shared, spec: WorkspaceKey, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const { sha } = await shared.trunk();
  const { head } = await readPins(shared.git, spec);
  for (const commit of [sha, head ?? sha]) {
    const listed = await shared.git(['ls-tree', '-z', '--name-only', commit, '--', ...paths], {
      env: { GIT_LITERAL_PATHSPECS: '1' },
    });
    const first = nulSeparated(listed.stdout)[0];
    if (first !== undefined)
      throw new WorkspaceRefused(
        `${first} is tracked by git, so nothing of the operator's can be placed there (loop.worktree_files). Place it elsewhere, or commit it.`,
      );
  }
}

/** Of a path that stays below the workspace. */
function partsOf(path: string): string[] {
  const parts = path.split('/');
  if (parts.some((part) => ['', '.', '..'].includes(part) || part.toLowerCase() === '.git'))
    throw new WorkspaceRefused(`${path} is no path below the workspace, or one of git's own.`);
  return parts;
}

function remove(worktree: string, path: string): void {
  const parts = partsOf(path);
  const folder = plainDirectories(worktree, parts.slice(0, -1));
  if (folder !== null) rmSync(join(folder, parts.at(-1)!), { force: true, recursive: true });
}

async function makeReadOnly(path: string): Promise<void> {
  const found = lstatSync(path);
  if (found.isDirectory()) for (const { name } of await list(path)) await makeReadOnly(join(path, name));
  else chmodSync(path, found.mode & ~0o222);
}

function note(kept: KeptIndex, paths: readonly string[]): void {
  mkdirSync(kept.folder, { recursive: true });
  replacePlain(noteOf(kept), paths.join('\0'));
}

const noteOf = ({ folder, name }: KeptIndex): string => join(folder, `${name}.placed`);

const LONGEST_NOTE = 1024 * 1024;
