/**
 * The private index of a workspace as the last step left it, so that the next one reads only files that changed since.
 *
 * Its name says of which tree it is the index. Only its age is of value: it may go at any time.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { list, lstatOrNull, replaceIndex } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';

export interface KeptIndex {
  folder: string;
  /** A safe name, different for every task. */
  name: string;
}

export async function findIndex(place: KeptIndex): Promise<{ path: string; tree: string } | null> {
  const [found] = await keptOf(place);
  return found ?? null;
}

export async function keepIndex(place: KeptIndex, index: string, tree: string): Promise<void> {
  mkdirSync(place.folder, { recursive: true });
  const newest = join(place.folder, `${place.name}.${tree}.index`);
  replaceIndex(newest, index);
  for (const { path } of await keptOf(place)) if (path !== newest) await removeTree(path);
}

export async function dropIndex(place: KeptIndex): Promise<void> {
  for (const { path } of await keptOf(place)) await removeTree(path);
}

async function keptOf({ folder, name }: KeptIndex): Promise<{ path: string; tree: string }[]> {
  if (lstatOrNull(folder) === null) return [];
  return (await list(folder)).flatMap((entry) => {
    const [before, tree, ending] = entry.name.split('.');
    const isOurs = entry.isFile() && before === name && ending === 'index' && /^[0-9a-f]{40,64}$/.test(tree!);
    return isOurs ? [{ path: join(folder, entry.name), tree: tree! }] : [];
  });
}
