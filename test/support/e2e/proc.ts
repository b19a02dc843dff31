/** What the kernel knows, read without any code of ours: a test of the loop must not ask the loop. */
import { readdirSync, readFileSync } from 'node:fs';

/** Pids of living processes whose environment has exactly this entry. */
export function processesWith(entry: string): number[] {
  return living().filter((pid) => environmentOf(pid).includes(entry));
}

/** Pids of living processes whose environment mentions a text, such as a folder of ours. */
export function processesAbout(text: string): number[] {
  return living().filter((pid) => environmentOf(pid).some((entry) => entry.includes(text)));
}

export function isLiving(pid: number): boolean {
  const state = stateOf(pid);
  return state !== undefined && state !== 'Z' && state !== 'X';
}

export const isStopped = (pid: number): boolean => stateOf(pid) === 'T';

function living(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isLiving(pid));
}

const stateOf = (pid: number): string | undefined => /\) (\S)/.exec(read(`/proc/${pid}/stat`))?.[1];

const environmentOf = (pid: number): string[] => read(`/proc/${pid}/environ`).split('\0');

/** Empty when the process went away meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
