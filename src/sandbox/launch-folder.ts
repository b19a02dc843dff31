/** What a sandbox keeps of one command: a folder that nothing confined can write to, and that ends with the command. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { entriesOf } from './machine.ts';

export const LAUNCH = 'launch-';

export function launchFolder(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return mkdtempSync(join(realpathSync(folder), `${LAUNCH}${process.pid}-`));
}

/** What a killed runner left. */
export function removeAbandoned(folder: string): void {
  for (const { name } of entriesOf(folder)) {
    const [, pid] = new RegExp(`^${LAUNCH}(\\d+)-`).exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid)))
      rmSync(join(folder, name), { recursive: true, force: true });
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
