/**
 * Takes everything out of a used tree that its index does not have: files, folders, links, repositories, whatever their
 * names and modes. What is left is in real folders, never behind a link; whether it was changed, its index tells.
 */
import { chmodSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { nulSeparated } from '../git/git.ts';
import { rememberRecent } from '../git/recent.ts';
import { inside, listBytes, lstatOrNull } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';
import type { PrivateIndex } from './snapshot.ts';

export async function cleanTree(index: PrivateIndex): Promise<void> {
  const root = Buffer.from(index.worktree);
  if (!lstatOrNull(root)?.isDirectory()) {
    await removeTree(root);
    mkdirSync(root);
  }
  chmodSync(root, 0o700);
  const tracked = await trackedIn(index);
  const folders = foldersOf(tracked);
  const mode = 0o777 & ~process.umask();
  await clean(root, '');

  async function clean(folder: Buffer, below: string): Promise<void> {
    for (const entry of await listBytes(folder)) {
      const path = `${below}${entry.name}`;
      const at = inside(folder, entry.name);
      if (entry.isDirectory() && folders.has(path)) {
        if ((lstatOrNull(at)!.mode & 0o7777) !== mode) chmodSync(at, mode);
        await clean(at, `${path}/`);
      } else if (!isOfKind(entry, tracked.get(path))) await removeTree(at);
    }
  }
}

/** Paths and modes. One whose name is no text can't be told from another, so its file is written anew each time. */
async function trackedIn(index: PrivateIndex): Promise<Map<string, string>> {
  if (index.tree === null) return new Map();
  return recently(index.git, index.tree, async () => {
    const { stdout } = await index.run(['ls-files', '-z', '--stage']);
    const tracked = new Map<string, string>();
    for (const line of nulSeparated(stdout)) {
      const path = line.slice(line.indexOf('\t') + 1);
      if (!path.includes('\uFFFD')) tracked.set(path, line.slice(0, 6));
    }
    return tracked;
  });
}

const recently = rememberRecent<Map<string, string>>((tracked) => tracked.size <= 5000);

/** Also those of submodules, which are empty as far as this tree's index knows. */
function foldersOf(tracked: ReadonlyMap<string, string>): Set<string> {
  const folders = new Set<string>();
  for (const [path, mode] of tracked) {
    if (mode === SUBMODULE) folders.add(path);
    for (let up = dirname(path); up !== '.' && !folders.has(up); up = dirname(up)) folders.add(up);
  }
  return folders;
}

const SUBMODULE = '160000';
const LINK = '120000';

function isOfKind(
  entry: { isFile(): boolean; isSymbolicLink(): boolean },
  mode: string | undefined,
): boolean {
  if (mode === undefined || mode === SUBMODULE) return false;
  return mode === LINK ? entry.isSymbolicLink() : entry.isFile();
}
