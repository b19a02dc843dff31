/**
 * The private index of a workspace as the last step left it, so that the next one reads only files that changed since.
 *
 * Its name says of which tree it is the index. Only its age is of value: it may go at any time.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { list, lstatOrNull, replaceIndex } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';

export interface Seed {
  folder: string;
  /** A safe name, different for every task. */
  name: string;
}

export async function findSeed(seed: Seed): Promise<{ path: string; tree: string } | null> {
  const [found] = await seedsOf(seed);
  return found ?? null;
}

export async function keepSeed(seed: Seed, index: string, tree: string): Promise<void> {
  mkdirSync(seed.folder, { recursive: true });
  const kept = join(seed.folder, `${seed.name}.${tree}.index`);
  replaceIndex(kept, index);
  for (const { path } of await seedsOf(seed)) if (path !== kept) await removeTree(path);
}

export async function dropSeed(seed: Seed): Promise<void> {
  for (const { path } of await seedsOf(seed)) await removeTree(path);
}

async function seedsOf({ folder, name }: Seed): Promise<{ path: string; tree: string }[]> {
  if (lstatOrNull(folder) === null) return [];
  return (await list(folder)).flatMap((entry) => {
    const [before, tree, ending] = entry.name.split('.');
    const isOurs = entry.isFile() && before === name && ending === 'index' && /^[0-9a-f]{40,64}$/.test(tree!);
    return isOurs ? [{ path: join(folder, entry.name), tree: tree! }] : [];
  });
}
