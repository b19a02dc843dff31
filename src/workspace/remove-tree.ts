/** Removes a tree without following links, also when directories in it were made read-only, whatever names are in it. */
import { chmodSync, unlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { inside, listBytes, lstatOrNull } from './plain-files.ts';

export async function removeTree(path: string | Buffer): Promise<void> {
  const found = lstatOrNull(path);
  if (found === null) return;
  if (!found.isDirectory()) return removeFile(path);
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    await openUp(Buffer.from(path));
    await rm(path, { recursive: true, force: true });
  }
}

/** Nothing stands between the look and the step but other processes: one of them may have been faster. */
function removeFile(path: string | Buffer): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function openUp(path: Buffer): Promise<void> {
  if (!lstatOrNull(path)?.isDirectory()) return;
  chmodSync(path, 0o700);
  for (const entry of await listBytes(path)) if (entry.isDirectory()) await openUp(inside(path, entry.name));
}
