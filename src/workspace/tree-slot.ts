/**
 * The few places where trees are kept warm. Whoever finds one taken goes on to the next: waiting is never worth it.
 *
 * To take one, say so and then look: of two who come at once, at least one sees the other, and both may step back. What
 * a killed runner had taken is free again, once all that it had started there has ended: a git that outlived it would go
 * on writing.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
export function slotFolders(site: Site, setup: string | null): string[] {
  const folders = SLOTS.map((name) => join(ensureHome(site), TREES, name));
  if (setup === null) return folders.reverse();
  const hasIt = (folder: string): boolean => lstatOrNull(keptSetup(folder, setup)) !== null;
  return [...folders.filter(hasIt), ...folders.filter((folder) => !hasIt(folder))];
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

async function othersIn(folder: string, own: string): Promise<boolean> {
  for (const { name } of await list(folder)) {
    if (name === own || !name.startsWith(BUSY)) continue;
    if (!isOwnerDead(decodeURIComponent(name.slice(BUSY.length)))) return true;
    rmSync(join(folder, name), { force: true });
  }
  return false;
}

const BUSY = 'busy.';
