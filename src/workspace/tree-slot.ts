/**
 * The few places where trees are kept warm. Whoever finds one taken goes on to the next; only who worked in one before,
 * in a session that goes on, waits for it a while. Where such a visitor is awaited, others go last.
 *
 * To take one, say so and then look: of two who come at once, at least one sees the other, and both may step back. What
 * a killed runner had taken is free again, once all that it had started there has ended: a git that outlived it would go
 * on writing.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isOwnerDead, ownerIdentity } from '../process/owner.ts';
import { isInhabited } from '../process/table.ts';
import { ensureHome, type Site } from './paths.ts';
import { list, lstatOrNull } from './plain-files.ts';

export const TREES = 'trees';

/** Each is as large as the repository's files and what is kept of its setups. */
const SLOTS = ['1', '2', '3', '4'];

interface Slot {
  folder: string;
  free(): void;
}

/** Best first: those where this setup is kept. Who needs no setup begins at the other end, out of the way. */
export function slotFolders(site: Site, setup: string | null, visitor: string): string[] {
  const folders = SLOTS.map((name) => join(ensureHome(site), TREES, name));
  if (setup === null) return freeFirst(folders.reverse(), visitor);
  const hasIt = (folder: string): boolean => lstatOrNull(keptSetup(folder, setup)) !== null;
  return [
    ...freeFirst(folders.filter(hasIt), visitor),
    ...freeFirst(
      folders.filter((folder) => !hasIt(folder)),
      visitor,
    ),
  ];
}

function freeFirst(folders: readonly string[], visitor: string): string[] {
  const isKept = (folder: string): boolean => awaitedIn(folder) !== null && awaitedIn(folder) !== visitor;
  return [...folders.filter((folder) => !isKept(folder)), ...folders.filter(isKept)];
}

/** As long as a session is warm: after that nobody comes back to it. */
const AWAITED_MS = 5 * 60_000;

/** Who may come back to the tree in this place. */
export const awaitBack = (folder: string, visitor: string): void =>
  writeFileSync(join(folder, AWAITED), visitor);

function awaitedIn(folder: string): string | null {
  const file = join(folder, AWAITED);
  const left = lstatOrNull(file);
  return left?.isFile() && Date.now() - left.mtimeMs < AWAITED_MS ? readFileSync(file, 'utf8') : null;
}

/** Where what a setup made in this slot is kept. */
export function keptSetup(folder: string, setup: string): string {
  return join(folder, 'kept', setup);
}

export async function takeSlot(folder: string): Promise<Slot | null> {
  const own = `${BUSY}${encodeURIComponent(ownerIdentity())}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, own), '');
  const free = (): void => rmSync(join(folder, own), { force: true });
  if (!(await othersIn(folder, own)) && !isInhabited(folder)) return { folder, free };
  free();
  return null;
}

/** Waits for one that somebody else has; null when that takes long. */
export async function awaitSlot(folder: string, signal: AbortSignal): Promise<Slot | null> {
  const begun = performance.now();
  for (;;) {
    const slot = await takeSlot(folder);
    if (slot || signal.aborted || performance.now() - begun > LONGEST_WAIT_MS) return slot;
    await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

/** Worth a session that need not be told everything again; a gate may take much longer. */
const LONGEST_WAIT_MS = 60_000;
const LOOK_EVERY_MS = 100;

async function othersIn(folder: string, own: string): Promise<boolean> {
  for (const { name } of await list(folder)) {
    if (name === own || !name.startsWith(BUSY)) continue;
    if (!isOwnerDead(decodeURIComponent(name.slice(BUSY.length)))) return true;
    rmSync(join(folder, name), { force: true });
  }
  return false;
}

const BUSY = 'busy.';
const AWAITED = 'awaited';
