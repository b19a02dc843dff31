/**
 * A throwaway tree of exactly one commit, with no git directory in it.
 *
 * Its name says which process of which host made it, so that what a killed runner left is known to be nobody's.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Git } from '../git/git.ts';
import { ensureHome, type Site, safeName } from './paths.ts';
import { list } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';
import { fillWorktree, withIndex } from './snapshot.ts';
import type { Stage } from './workspace.ts';

export async function exportCommit(
  git: Git,
  site: Site,
  commit: string,
  purpose: string,
): Promise<{ path: string; dispose(): Promise<void> }> {
  const path = await newFolder(site, commit, purpose);
  return filled(git, commit, path, { path });
}

/** The same with an empty home beside it, for commands that must find nothing an agent could have written. */
export async function stageCommit(git: Git, site: Site, commit: string, purpose: string): Promise<Stage> {
  const folder = await newFolder(site, commit, purpose);
  const stage = { path: join(folder, 'tree'), home: join(folder, 'home') };
  for (const path of [stage.path, stage.home]) mkdirSync(path, { mode: 0o700 });
  const place = await filled(git, commit, folder, stage);
  const keep = async () => 'there is no lockfile to tell by, or what is kept for it is in use';
  return { ...place, key: null, ready: false, keep };
}

async function newFolder(site: Site, commit: string, purpose: string): Promise<string> {
  const folder = join(ensureHome(site), EXPORTS);
  mkdirSync(folder, { recursive: true });
  await removeAbandoned(folder);
  return mkdtempSync(join(folder, `${safeName(purpose)}.${commit.slice(0, 12)}.${host()}.${process.pid}.`));
}

async function filled<T extends { path: string }>(
  git: Git,
  commit: string,
  folder: string,
  place: T,
): Promise<T & { dispose(): Promise<void> }> {
  try {
    await withIndex(git, place.path, null, (index) => fillWorktree(index, commit));
  } catch (error) {
    await removeTree(folder);
    throw error;
  }
  return { ...place, dispose: () => removeTree(folder) };
}

export const EXPORTS = 'exports';

async function removeAbandoned(folder: string): Promise<void> {
  for (const entry of await list(folder)) {
    const [, , madeOn, pid] = entry.name.split('.');
    if (madeOn === host() && !isAlive(Number(pid))) await removeTree(join(folder, entry.name));
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export function host(): string {
  return createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
}
