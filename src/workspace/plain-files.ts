/**
 * Files in a directory an agent can write to.
 *
 * Nothing here follows a link, waits on a pipe, reads without a limit, or writes through what it finds: new content is
 * put beside the old and renamed over it.
 *
 * The answers are small and at hand, so they are not waited for: a thread for each would cost ten times as much.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  type Dirent,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  type Stats,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import { WorkspaceRefused } from '../errors.ts';

/** The content of a regular file, or null when there is none. */
export function readPlain(path: string, limitBytes: number): string | null {
  const file = openPlain(path);
  if (file === null) return null;
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new WorkspaceRefused(`${path} is not a plain file.`);
    if (found.size > limitBytes)
      throw new WorkspaceRefused(`${path} is ${found.size} bytes long; ${limitBytes} is the most it can be.`);
    const content = Buffer.alloc(found.size);
    const length = readSync(file, content, 0, content.length, 0);
    return content.toString('utf8', 0, length);
  } finally {
    closeSync(file);
  }
}

function openPlain(path: string): number | null {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new WorkspaceRefused(`${path} can't be read as a plain file (${code}).`, { cause: error });
  }
}

/**
 * The innermost of these directories, one inside the other, each a real one and no link. Null when one is missing,
 * unless it is to be made.
 */
export function plainDirectories(
  start: string,
  parts: readonly string[],
  missing: 'make' | 'null' = 'null',
): string | null {
  let path = start;
  for (const part of parts) {
    path = join(path, part);
    let found = lstatOrNull(path);
    if (found === null) {
      if (missing === 'null') return null;
      mkdirSync(path);
      found = lstatOrNull(path);
    }
    if (!found?.isDirectory()) throw new WorkspaceRefused(`${path} is not a directory of its own.`);
  }
  return path;
}

/** Puts new content in place of whatever has that name, in one step. */
export function replacePlain(path: string, content: string): void {
  const beside = besides(path);
  writeFileSync(beside, content, { flag: 'wx' });
  renameSync(beside, path);
}

/**
 * Puts a copy of an index in place. It is dated no later than the original: git re-reads a file that is as young as
 * its index, and a younger copy would make it trust entries it should doubt.
 */
export function replaceIndex(path: string, from: string): void {
  const beside = besides(path);
  copyFileSync(from, beside, constants.COPYFILE_EXCL);
  const seconds = Math.floor(statSync(from).mtimeMs) / 1000;
  utimesSync(beside, seconds, seconds);
  renameSync(beside, path);
}

/** Every entry below must be a plain file or directory: a pipe would hang the git that opens it, a link leads away. */
export async function refuseOddFiles(directory: string): Promise<void> {
  for (const entry of await list(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await refuseOddFiles(path);
    else if (!entry.isFile()) throw new WorkspaceRefused(`${path} is neither a plain file nor a directory.`);
  }
}

export async function list(directory: string): Promise<Dirent[]> {
  return listed(directory, () => readdirSync(directory, { withFileTypes: true }));
}

/** Names as they are: not every one is text. */
export async function listBytes(directory: Buffer): Promise<Dirent<Buffer>[]> {
  return listed(directory, () => readdirSync(directory, { withFileTypes: true, encoding: 'buffer' }));
}

export function inside(directory: Buffer, name: Buffer): Buffer {
  return Buffer.concat([directory, SLASH, name]);
}

const SLASH = Buffer.from('/');

/** A walk through a large tree lets the others go on now and then. */
async function listed<T>(directory: string | Buffer, read: () => T): Promise<T> {
  if (++lists % BETWEEN_RESTS === 0) await others();
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new WorkspaceRefused(`${directory} can't be listed (${code}).`, { cause: error });
  }
}

const BETWEEN_RESTS = 100;
let lists = 0;

export function lstatOrNull(path: string | Buffer): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') return null;
    throw new WorkspaceRefused(`${path} can't be looked at (${code}).`, { cause: error });
  }
}

function besides(path: string): string {
  return `${path}.${randomBytes(6).toString('hex')}.new`;
}
