/**
 * Our own files and folders in places that an agent can write to: a session, a home. Nothing is reached through a link that
 * it may have left there, and whoever dies meanwhile leaves the file before, or this one, never half of it.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

export function replaceFile(path: string, text: string, mode = 0o600): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, text, { flag: 'wx', flush: true, mode });
  // A folder that it may have made there would be in the way for ever.
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) removeLeft(path);
  renameSync(draft, path);
}

/** What is no folder goes. */
export function ownFolder(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found && !found.isDirectory()) rmSync(path);
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** Takes away a folder that it could write to. What can't be removed, since it is too deep or locked, goes out of the way. */
export function removeLeft(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    renameSync(path, `${path}-left-${randomBytes(6).toString('hex')}`);
  }
}

/**
 * Takes away what an agent may have planted for its next turn, by paths below `root`. A link on the way goes in its place, but
 * for those that lead to entries of the operator's home that were offered by name.
 */
export function removePlanted(root: string, paths: readonly string[], offered: readonly string[] = []): void {
  for (const path of paths) {
    const steps = path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'));
    const isOffered = (step: string): boolean => offered.includes(step) && isLink(join(root, step));
    if (steps.some(isOffered)) continue;
    const first = steps.find((step) => isLink(join(root, step))) ?? path;
    removeLeft(join(root, first));
  }
}

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

const LONGEST_TEXT = 64 * 1024;

/** Null where there is nothing; of what is no plain file, nothing. */
export function plainText(path: string): string | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : '';
  }
  try {
    if (!fstatSync(file).isFile()) return '';
    const piece = Buffer.alloc(LONGEST_TEXT);
    return piece.toString('utf8', 0, readSync(file, piece, 0, piece.length, 0));
  } finally {
    closeSync(file);
  }
}
