/**
 * Files in a directory an agent can write to.
 *
 * Nothing here follows a link, waits on a pipe, reads without a limit, or writes through what it finds: new content is
 * put beside the old and renamed over it.
 */
import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { WorkspaceRefused } from '../errors.ts';

/** The content of a regular file, or null when there is none. */
export async function readPlain(path: string, limitBytes: number): Promise<string | null> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new WorkspaceRefused(`${path} can't be read as a plain file (${error.code}).`, { cause: error });
  });
  if (file === null) return null;
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new WorkspaceRefused(`${path} is not a plain file.`);
    if (found.size > limitBytes)
      throw new WorkspaceRefused(`${path} is ${found.size} bytes long; ${limitBytes} is the most it can be.`);
    const content = Buffer.alloc(found.size);
    const { bytesRead } = await file.read(content, 0, content.length, 0);
    return content.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * The innermost of these directories, one inside the other, each a real one and no link. Null when one is missing,
 * unless it is to be made.
 */
export async function plainDirectories(
  start: string,
  parts: readonly string[],
  missing: 'make' | 'null' = 'null',
): Promise<string | null> {
  let path = start;
  for (const part of parts) {
    path = join(path, part);
    if ((await lstatOrNull(path)) === null) {
      if (missing === 'null') return null;
      await mkdir(path);
    }
    if (!(await lstatOrNull(path))?.isDirectory()) {
      throw new WorkspaceRefused(`${path} is not a directory of its own.`);
    }
  }
  return path;
}

/** Puts new content in place of whatever has that name, in one step. */
export async function replacePlain(path: string, content: string): Promise<void> {
  const beside = besides(path);
  await writeFile(beside, content, { flag: 'wx' });
  await rename(beside, path);
}

/**
 * Puts a copy of an index in place. It is dated no later than the original: git re-reads a file that is as young as
 * its index, and a younger copy would make it trust entries it should doubt.
 */
export async function replaceIndex(path: string, from: string): Promise<void> {
  const beside = besides(path);
  await copyFile(from, beside, constants.COPYFILE_EXCL);
  const seconds = Math.floor((await stat(from)).mtimeMs) / 1000;
  await utimes(beside, seconds, seconds);
  await rename(beside, path);
}

/** Every entry below must be a plain file or directory: a pipe would hang the git that opens it, a link leads away. */
export async function refuseOddFiles(directory: string): Promise<void> {
  for (const entry of await list(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await refuseOddFiles(path);
    else if (!entry.isFile()) throw new WorkspaceRefused(`${path} is neither a plain file nor a directory.`);
  }
}

export async function list(directory: string) {
  return readdir(directory, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw new WorkspaceRefused(`${directory} can't be listed (${error.code}).`, { cause: error });
  });
}

export async function lstatOrNull(path: string): Promise<Stats | null> {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw new WorkspaceRefused(`${path} can't be looked at (${error.code}).`, { cause: error });
  });
}

/** Removes a tree without following links, also when directories in it were made read-only. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    await openUp(path);
    await rm(path, { recursive: true, force: true });
  }
}

async function openUp(path: string): Promise<void> {
  if (!(await lstatOrNull(path))?.isDirectory()) return;
  await chmod(path, 0o700);
  for (const entry of await list(path)) if (entry.isDirectory()) await openUp(join(path, entry.name));
}

function besides(path: string): string {
  return `${path}.${randomBytes(6).toString('hex')}.new`;
}
