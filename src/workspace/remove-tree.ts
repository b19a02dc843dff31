/**
 * Removes a tree without following links, also when directories in it were made read-only.
 *
 * A file costs two calls of the system, and node sends each of them through a thread: a tree of fifty files took longer
 * than a process that removes them. What `rm` can't remove is tried once more in node, which also says why.
 */
import { chmodSync, unlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hostStarter } from '../process/host-starter.ts';
import { list, lstatOrNull } from './plain-files.ts';

export async function removeTree(path: string): Promise<void> {
  const found = lstatOrNull(path);
  if (found === null) return;
  if (!found.isDirectory()) return removeFile(path);
  if (await removedByProgram(path)) return;
  await openUp(path);
  await rm(path, { recursive: true, force: true });
}

/** Nothing stands between the look and the step but other processes: one of them may have been faster. */
function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function removedByProgram(path: string): Promise<boolean> {
  const program = { argv: ['rm', '-rf', '--', path], cwd: '/', env: {}, input: undefined };
  if (!hostStarter.canStart(program)) return false;
  return hostStarter.run(program).then(
    ({ code }) => code === 0,
    () => false,
  );
}

async function openUp(path: string): Promise<void> {
  if (!lstatOrNull(path)?.isDirectory()) return;
  chmodSync(path, 0o700);
  for (const entry of await list(path)) if (entry.isDirectory()) await openUp(join(path, entry.name));
}
