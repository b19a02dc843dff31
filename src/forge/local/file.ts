/** Writing a file so that a reader, or a power cut, finds either nothing, the old one or the new one: never a part. */
import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** With `before`: only if the file still says that, for an editor may have saved it meanwhile; false when it did. */
export function replaceFile(path: string, content: string, before?: string): boolean {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  const fresh = besides(path);
  let isInPlace = false;
  try {
    writeFileSync(fresh, content, { flush: true, ...(mode === undefined ? {} : { mode }) });
    if (before !== undefined && readIfThere(path) !== before) return false;
    renameSync(fresh, path);
    isInPlace = true;
    return true;
  } finally {
    if (!isInPlace) rmSync(fresh, { force: true });
  }
}

/** Makes the file with this content in one step; false when there is one already. */
export function createFile(path: string, content: string): boolean {
  const fresh = besides(path);
  try {
    writeFileSync(fresh, content);
    linkSync(fresh, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(fresh, { force: true });
  }
}

export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function besides(path: string): string {
  return join(dirname(path), `.${randomBytes(8).toString('hex')}.tmp`);
}
