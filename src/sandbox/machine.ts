/** What is where on this machine. */
import {
  accessSync,
  closeSync,
  constants,
  type Dirent,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
} from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { SandboxFailed } from '../errors.ts';

export function realOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}

/** Null of what is no link. */
export function linkAt(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

export function mustBeItself(path: string): void {
  const real = realOf(path);
  if (real === path) return;
  throw new SandboxFailed(
    real === null ? `${path} is not there` : `${path} leads to ${real}, which it was not given`,
  );
}

/** Of the machine, and by its path: it is not confined itself, and the command's own PATH may lead anywhere. */
export function programOf(name: string, from: string): string {
  const found = findProgram(name);
  if (found === null) throw new SandboxFailed(`${name} is not installed: install the package ${from}`);
  return found;
}

export function findProgram(name: string): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find(mayRun) ?? null;
}

function mayRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Of a file that confined code can write to: it may have put something else there, or more than there is memory. */
export function beginningOf(path: string, bytes: number): string {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const piece = Buffer.alloc(bytes);
      return piece.toString('utf8', 0, readSync(file, piece));
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}

export function textIn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
