/**
 * What of /proc is the machine's and not a process's: to a runner that is root the kernel shows all of it, whatever number it
 * has inside, and lets it be changed.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

interface OfMachine {
  /** What is nobody's business: what not everybody may read, and folders of hardware and file systems. */
  closed: { path: string; isFolder: boolean }[];
  /** What may be read and not written. */
  fixed: string[];
}

/** Read as they are; the rest of the folders is hidden. Those of `bus` and `irq` bubblewrap shows read-only itself. */
const FIXED = ['sys', 'pressure'];
const HARMLESS = ['bus', 'irq', 'sysvipc', 'tty', 'net'];

export function ofMachine(proc = '/proc'): OfMachine {
  const closed: OfMachine['closed'] = [];
  const fixed: string[] = [];
  for (const name of readdirSync(proc)) {
    const path = join(proc, name);
    const found = /^\d/.test(name) ? undefined : lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) {
      if (FIXED.includes(name)) fixed.push(path);
      else if (!HARMLESS.includes(name)) closed.push({ path, isFolder: true });
    } else if (found?.isFile()) {
      if ((found.mode & 0o004) === 0) closed.push({ path, isFolder: false });
      else if ((found.mode & 0o222) !== 0) fixed.push(path);
    }
  }
  return { closed, fixed };
}
