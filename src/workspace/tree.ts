/**
 * A tree of exactly one commit with a repository of its own around it, and an empty home beside it.
 *
 * A few are kept warm. Their index is kept where only the host writes: on the next use everything it does not have is
 * removed, and every file that is not as it was written is written anew. A file's time of change can't be set back, so a
 * touched one shows. The git directory is laid anew each time. So a tree that was left in any state, by a gate or by a
 * runner killed in the middle of preparing it, is like a new one.
 *
 * When all are in use, a throwaway is made. Its name says which process of which host made it, so that what a killed
 * runner left is known to be nobody's.
 */

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { digestOf } from '../core/text/digest.ts';
import { FetchFailed, isDiskFault } from '../errors.ts';
import { resolve } from '../git/objects.ts';
import { cleanTree } from './clean-tree.ts';
import { gitDirectory } from './git-directory.ts';
import { dropIndex, type KeptIndex } from './kept-index.ts';
import { ensureHome, type Site, safeName } from './paths.ts';
import { list, lstatOrNull, replaceIndex } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';
import { indexFolder, type Shared } from './shared.ts';
import { fillWorktree, withIndex } from './snapshot.ts';
import { awaitBack, awaitSlot, slotFolders, takeSlot } from './tree-slot.ts';

interface Tree {
  path: string;
  home: string;
  commit: string;
  /** What it is kept warm by; null for a throwaway. */
  slot: { folder: string; index: KeptIndex } | null;
  /** Puts it back to how it was when it was opened. */
  renew(): Promise<void>;
  dispose(): Promise<void>;
}

interface TreeWish {
  /** The key of what will be set up in it, if anything. */
  setup?: string | null;
  /** The path it should have: waited for a while with a `signal`, else only if it is free. */
  near?: string | null | undefined;
  signal?: AbortSignal | undefined;
  /** Whoever has it may come back to the same path. */
  returns?: boolean;
}

export async function openTree(
  shared: Shared,
  name: string,
  purpose: string,
  { setup = null, near = null, signal, returns = false }: TreeWish = {},
): Promise<Tree> {
  const commit = await resolve(shared.git, name);
  if (commit === null) throw new Error(`${name} is not a commit of ${shared.git.gitDir}`);
  const layGitDirectory = await gitDirectory(shared, commit);
  const at = (folder: string) => ({ path: join(folder, 'tree'), home: join(folder, 'home'), commit });
  return (await warmTree()) ?? throwaway();

  async function warmTree(): Promise<Tree | null> {
    const folders = slotFolders(shared, setup, purpose);
    const wanted = folders.filter((folder) => at(folder).path === near);
    for (const folder of new Set([...wanted, ...folders])) {
      const isWaitedFor = signal !== undefined && wanted.includes(folder);
      const slot = await (isWaitedFor ? awaitSlot(folder, signal) : takeSlot(folder));
      if (slot === null) continue;
      if (returns) awaitBack(folder, purpose);
      const index = { folder: indexFolder(shared), name: safeName(folder) };
      const place = at(folder);
      const renew = () => fill(place, index);
      let gone: Promise<void> | null = null;
      // Once: it may be somebody else's afterwards.
      const dispose = () =>
        (gone ??= putAway(place, index).finally(() => {
          if (returns) awaitBack(folder, purpose);
          slot.free();
        }));
      try {
        await renew();
        return { ...place, slot: { folder, index }, renew, dispose };
      } catch (error) {
        if (isNoFaultOfTrees(error)) {
          slot.free();
          throw error;
        }
        // What can't be made clean is begun anew, or left to whom its files belong. What is wrong besides shows in the end.
        await dropIndex(index);
        await removeTree(place.path).catch(() => {});
        slot.free();
      }
    }
    return null;
  }

  async function throwaway(): Promise<Tree> {
    const folder = await newFolder(shared, commit!, purpose);
    const place = at(folder);
    const renew = () => fill(place, null);
    const dispose = () => removeTree(folder);
    try {
      await renew();
      return { ...place, slot: null, renew, dispose };
    } catch (error) {
      await dispose();
      throw error;
    }
  }

  async function fill({ path, home }: Pick<Tree, 'path' | 'home'>, kept: KeptIndex | null): Promise<void> {
    await removeTree(home);
    mkdirSync(home, { mode: 0o700 });
    await withIndex(shared.git, path, kept, async (index) => {
      await cleanTree(index);
      await fillWorktree(index, commit!);
      await index.save();
      const git = join(path, '.git');
      layGitDirectory(git);
      writeFileSync(join(git, 'HEAD'), `${commit}\n`);
      replaceIndex(join(git, 'index'), index.path);
    });
  }

  /** For the sake of space and secrets. The next one to use it makes sure of it anyway. */
  async function putAway({ path, home }: Pick<Tree, 'path' | 'home'>, kept: KeptIndex): Promise<void> {
    try {
      await removeTree(home);
      await withIndex(shared.git, path, kept, cleanTree);
    } catch {}
  }
}

/** Another tree would fail by it as well, and this one is as good as before. */
const isNoFaultOfTrees = (error: unknown): boolean => error instanceof FetchFailed || isDiskFault(error);

export const THROWAWAYS = 'exports';

async function newFolder(site: Site, commit: string, purpose: string): Promise<string> {
  const folder = join(ensureHome(site), THROWAWAYS);
  mkdirSync(folder, { recursive: true });
  await removeAbandoned(site);
  return mkdtempSync(join(folder, `${safeName(purpose)}.${commit.slice(0, 12)}.${host()}.${process.pid}.`));
}

/** What a killed runner of this host left. */
export async function removeAbandoned(site: Site, preview = false): Promise<string[]> {
  const folder = join(ensureHome(site), THROWAWAYS);
  if (!lstatOrNull(folder)?.isDirectory()) return [];
  const left = (await list(folder)).filter(({ name }) => {
    const [, , madeOn, pid] = name.split('.');
    return madeOn === host() && !isAlive(Number(pid));
  });
  const paths = left.map(({ name }) => join(folder, name));
  if (!preview) for (const path of paths) await removeTree(path);
  return paths;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const host = (): string => digestOf(hostname(), 8);
