/**
 * One writer at a time, among all processes on a folder.
 *
 * The lock is a symbolic link to nowhere that says its owner's name: it is made in one step, so it never exists without
 * the name. A living owner is waited for; a dead one's lock is removed by whoever holds the lock *on that lock*, and only
 * after reading it again: two processes that both saw the dead owner can't remove each other's fresh lock.
 */
import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ForgeUnavailable } from '../../errors.ts';
import { isOwnerDead, ownerIdentity } from '../../process/owner.ts';

/** Runs a section while holding the lock of this name. */
export type Exclusively = <T>(name: string, section: () => T | Promise<T>) => Promise<T>;

const PATIENCE_MS = 30_000;

export async function withLock<T>(path: string, section: () => T | Promise<T>): Promise<T> {
  await acquire(path);
  try {
    return await section();
  } finally {
    letGo(path);
  }
}

async function acquire(path: string): Promise<void> {
  const mine = ownerIdentity();
  const deadline = performance.now() + PATIENCE_MS;
  while (!take(path, mine)) {
    const holder = holderOf(path);
    if (holder !== null && isOwnerDead(holder)) {
      await removeDead(path, holder);
      continue;
    }
    if (performance.now() > deadline) {
      throw new ForgeUnavailable(
        `${path} is still held by ${holder ?? 'another process'}. If that process is gone, delete the file.`,
      );
    }
    await pause(randomInt(1, 10));
  }
}

async function removeDead(path: string, dead: string): Promise<void> {
  const nonce = dead.slice(dead.lastIndexOf('/') + 1);
  await withLock(`${path}.${nonce}`, () => {
    if (holderOf(path) === dead) letGo(path);
  });
}

function take(path: string, owner: string): boolean {
  try {
    symlinkSync(owner, path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (code !== 'ENOENT') throw error;
    mkdirSync(dirname(path), { recursive: true });
    return take(path, owner);
  }
}

function letGo(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Null when it was let go of meanwhile. */
function holderOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Earlier versions made it a file.
    if (code === 'EINVAL') return readFileSync(path, 'utf8');
    if (code === 'ENOENT') return null;
    throw error;
  }
}
