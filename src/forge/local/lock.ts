/**
 * One writer at a time, among all processes on a folder.
 *
 * The lock is a file made by `link`, so it never exists without its owner's name in it. A living owner is waited for; a
 * dead one's lock is removed by whoever holds the lock *on that lock*, and only after reading it again: two processes
 * that both saw the dead owner can't remove each other's fresh lock.
 */
import { randomInt } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ForgeUnavailable } from '../../errors.ts';
import { isOwnerDead, ownerIdentity } from '../../process/owner.ts';
import { createFile, readIfThere } from './file.ts';

/** Runs a section while holding the lock of this name. */
export type Exclusively = <T>(name: string, section: () => T | Promise<T>) => Promise<T>;

const PATIENCE_MS = 30_000;

export async function withLock<T>(path: string, section: () => T | Promise<T>): Promise<T> {
  await acquire(path);
  try {
    return await section();
  } finally {
    rmSync(path, { force: true });
  }
}

async function acquire(path: string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  const mine = ownerIdentity();
  const deadline = performance.now() + PATIENCE_MS;
  while (!createFile(path, mine)) {
    const holder = readIfThere(path);
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
    if (readIfThere(path) === dead) rmSync(path, { force: true });
  });
}
