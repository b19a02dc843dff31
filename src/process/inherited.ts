/**
 * Files that whoever started the runner left open, and that a child would find open too: Node keeps only the first few from it. By one of
 * a folder, a confined child would leave its sandbox.
 */
import type { IOType } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';

/** With nothing in their place; what is given stays as it is, and so does its type. */
export function withoutInherited<T extends IOType | number>(stdio: readonly T[]): T[] {
  known ??= { files: inherited(), nothing: openSync('/dev/null', 'r+') };
  const { files, nothing } = known;
  const all: (IOType | number)[] = [...stdio];
  for (const fd of files.filter((one) => one >= stdio.length)) {
    while (all.length < fd) all.push('ignore');
    all[fd] = nothing;
  }
  return all as T[];
}

/** There are no more of them later: what the runner opens itself is its own. */
let known: { files: number[]; nothing: number } | null = null;

const CLOSED_BY_EXEC = 0o2000000;

function inherited(): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number).filter(isPassedOn);
  } catch {
    // The kernel does not tell.
    return [];
  }
}

function isPassedOn(fd: number): boolean {
  try {
    const [, flags = ''] = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? [];
    return fd > 2 && (Number.parseInt(flags, 8) & CLOSED_BY_EXEC) === 0;
  } catch {
    return false;
  }
}
