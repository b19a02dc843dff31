/** Tracked paths of a commit that have a filter nobody applies here: their files would be read and written wrongly. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { FilteredPaths } from '../core/words/words.ts';
import { changesBetween } from './changes.ts';
import { type Git, nulSeparated } from './git.ts';
import { filtersOf } from './lfs.ts';
import { remembered, resolve, treeOf } from './objects.ts';
import { inScratch } from './scratch.ts';

/** By filter. Empty for most repositories, which have none, or Git LFS alone. */
export async function unsupportedFilters(git: Git, commit: string): Promise<FilteredPaths[]> {
  const tree = await treeOf(git, commit);
  if (namesFilters(git)) return look(git, tree);
  return remembered(git, `filters ${tree}`, [tree], async () =>
    (await hasFilters(git, tree, await resolve(git, `${commit}^`))) ? look(git, tree) : [],
  );
}

/** May a path of this tree have a filter? `near` is a commit it differs little from: mostly not in attribute files. */
export async function mayFilter(git: Git, tree: string, near: string | null): Promise<boolean> {
  return namesFilters(git) || hasFilters(git, tree, near);
}

async function hasFilters(git: Git, tree: string, near: string | null): Promise<boolean> {
  const other = near === null ? tree : await treeOf(git, near);
  return remembered(git, `has filters ${tree}`, [tree], async () =>
    other !== tree && (await hasSameAttributes(git, other, tree))
      ? hasFilters(git, other, null)
      : mentionsFilters(git, tree),
  );
}

async function hasSameAttributes(git: Git, one: string, other: string): Promise<boolean> {
  const changes = await changesBetween(git, one, other);
  return changes.every(({ path }) => basename(path) !== '.gitattributes');
}

/** The operator's own attributes, which no commit has. */
function namesFilters({ gitDir }: Git): boolean {
  const own = join(gitDir, 'info', 'attributes');
  return existsSync(own) && readFileSync(own, 'utf8').includes('filter=');
}

/** Does any of its attribute files name a filter, or this one? */
export async function mentionsFilters(git: Git, tree: string, filter = ''): Promise<boolean> {
  const found = await git(
    ['grep', '-q', '-F', '-e', `filter=${filter}`, tree, '--', ':(glob)**/.gitattributes'],
    {
      allow: [1],
    },
  );
  return found.exitCode === 0;
}

async function look(git: Git, tree: string): Promise<FilteredPaths[]> {
  return inScratch(async (folder) => {
    const index = join(folder, 'index');
    await git(['read-tree', tree], { env: { GIT_INDEX_FILE: index } });
    const listed = await git(['ls-files', '-z'], { env: { GIT_INDEX_FILE: index } });
    const found = new Map<string, string[]>();
    for (const [path, filter] of await filtersOf(git, index, nulSeparated(listed.stdout))) {
      if (filter === 'lfs' && git.lfs) continue;
      found.set(filter, [...(found.get(filter) ?? []), path]);
    }
    return [...found].map(([filter, paths]) => ({ filter, paths }));
  });
}
