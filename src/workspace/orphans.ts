/** Workspaces that no known task owns, and whether removing one would lose work. */
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { isTransient, safeName } from './paths.ts';
import { readTips } from './place.ts';
import { list } from './plain-files.ts';
import type { Shared } from './shared.ts';
import { findChanges, withIndex } from './snapshot.ts';
import { THROWAWAYS } from './tree.ts';
import { TREES } from './tree-slot.ts';

export async function findOrphans(
  shared: Shared,
  tasks: readonly string[],
): Promise<{ path: string; unsaved: boolean }[]> {
  const home = join(shared.root, shared.repositoryKey);
  const there = await lstat(home).catch(() => null);
  if (!there?.isDirectory()) return [];
  const endings = tasks.map((task) => `-${safeName(task)}`);
  const orphans: { path: string; unsaved: boolean }[] = [];
  for (const entry of await list(home)) {
    if (!entry.isDirectory() || entry.name === THROWAWAYS || entry.name === TREES) continue;
    if (endings.some((ending) => entry.name.endsWith(ending))) continue;
    const path = join(home, entry.name);
    orphans.push({ path, unsaved: !isTransient(entry.name) && (await holdsUnsavedWork(shared, path)) });
  }
  return orphans.sort((a, b) => a.path.localeCompare(b.path));
}

/** In doubt, yes. */
async function holdsUnsavedWork(shared: Shared, path: string): Promise<boolean> {
  const { git } = shared;
  try {
    const place = await shared.layout.inspect(shared, path);
    const { head } = await readTips(git, place, 'loop/none');
    if (head === null) return true;
    const containing = await git(['for-each-ref', '--count=1', '--contains', head], { allow: [128, 129] });
    if (containing.stdout === '') return true;
    const changes = await withIndex(git, path, null, (index) => findChanges(index, head));
    return changes.written.length + changes.removed.length > 0;
  } catch {
    return true;
  }
}
