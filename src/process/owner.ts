/**
 * Who holds a lease: this runner, named so that another runner on the same machine can tell whether it is dead.
 *
 * Dead must be provable. Another host, or a process we can't look at, may well be alive.
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { bootId, processAt } from './table.ts';

/** `pid@host/boot/start/nonce`; a new one on every call. */
export function ownerIdentity(): string {
  ourselves ??= `${process.pid}@${[hostname(), bootId(), startOf(process.pid)].map(encodeURIComponent).join('/')}`;
  return `${ourselves}/${randomBytes(4).toString('hex')}`;
}

let ourselves: string | null = null;
const startOf = (pid: number): string => processAt(pid)?.startTime ?? '';

export function isOwnerDead(owner: string): boolean {
  const [, pid, host, boot, startTime] = /^(\d+)@([^/]+)\/([^/]+)\/([^/]+)\/[^/]+$/.exec(owner) ?? [];
  if (!pid || !host || !boot || !startTime) return false;
  if (decodeURIComponent(host) !== hostname()) return false;
  if (decodeURIComponent(boot) !== bootId()) return true;
  const found = processAt(Number(pid));
  return found ? found.startTime !== decodeURIComponent(startTime) : !isHidden(Number(pid));
}

/** Another user's process may be there although the process table does not show it to us. */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
