/**
 * A ref as the file git keeps it in while it is not packed: what it says holds, whatever the packed ones say.
 *
 * Null says nothing: the ref may be packed, symbolic, kept in a table, or not there. Only git knows then.
 */
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** `gitDir` is the repository's own directory. Refs that each work tree has for itself are not in it. */
export function looseRef(gitDir: string, name: string): string | null {
  if (!SHARED.test(name) || /\.\.|\.lock(\/|$)/.test(name)) return null;
  const content = Buffer.alloc(LONGEST);
  let length: number;
  try {
    const file = openSync(join(gitDir, name), constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      length = readSync(file, content, 0, LONGEST, null);
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
  return /^([0-9a-f]{40}|[0-9a-f]{64})\n$/.exec(content.toString('latin1', 0, length))?.[1] ?? null;
}

const SHARED = /^refs\/(heads|tags|remotes|forge)(\/\w[\w.-]*)+$/;
const LONGEST = 128;
