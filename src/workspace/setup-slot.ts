/**
 * The one place where a kept setup is made and used. Whoever finds it taken does without: waiting is never worth it.
 *
 * To take it, say so and then look: of two who come at once, at least one sees the other, and both may step back.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { host, isAlive } from './export.ts';
import { ensureHome, type Site } from './paths.ts';
import { list } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';

export const SETUPS = 'setups';

/** Each is as large as what an install brings. */
const MAX_KEPT = 4;

export interface Slot {
  folder: string;
  free(): Promise<void>;
}

export async function takeSlot(site: Site, key: string): Promise<Slot | null> {
  const folder = join(ensureHome(site), SETUPS, key);
  const own = `busy.${host()}.${process.pid}.${randomBytes(6).toString('hex')}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, own), '');
  const free = async (): Promise<void> => rmSync(join(folder, own), { force: true });
  for (const { name } of await list(folder)) {
    if (name === own || !name.startsWith('busy.')) continue;
    const [, madeOn, pid] = name.split('.');
    if (madeOn === host() && !isAlive(Number(pid))) rmSync(join(folder, name), { force: true });
    else {
      await free();
      return null;
    }
  }
  const now = new Date();
  utimesSync(folder, now, now);
  return { folder, free };
}

/** The oldest go when there are too many; one that is in use stays. */
export async function sweepSlots(site: Site, lastUse: (folder: string) => Promise<number>): Promise<void> {
  const home = join(ensureHome(site), SETUPS);
  const keys = (await list(home)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const dated = await Promise.all(keys.map(async (key) => ({ key, at: await lastUse(join(home, key)) })));
  dated.sort((a, b) => b.at - a.at);
  for (const { key } of dated.slice(MAX_KEPT)) {
    const slot = await takeSlot(site, key);
    if (slot) await removeTree(slot.folder);
  }
}
