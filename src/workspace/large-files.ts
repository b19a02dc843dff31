/**
 * Files that git keeps as pointers (Git LFS). The snapshot makes pointers of what lies in the work tree; here is what it
 * can't see: pointers without an object, and raw bytes in the agent's own commits.
 */
import { WorkspaceRefused } from '../errors.ts';
import { changesBetween } from '../git/changes.ts';
import { mayFilter } from '../git/filters.ts';
import { nulSeparated } from '../git/git.ts';
import { filtersOf, pointersIn, storedObjects } from '../git/lfs.ts';
import type { PrivateIndex } from './snapshot.ts';

/** What the work brings (compared with each of these commits) must be readable by those who check it out. */
export async function refuseHollowPointers(
  index: PrivateIndex,
  trusted: readonly (string | null)[],
  tree: string,
): Promise<void> {
  const { git } = index;
  if (!(await mayFilter(git, tree, trusted[0] ?? null))) return;
  const brought = await newFiles(index, trusted, tree);
  const large = await largeOf(index, [...brought.keys()]);
  const pointers = await pointersIn(
    git,
    large.map((path) => brought.get(path)!),
  );
  const stored = await storedObjects(
    git,
    [...pointers.values()].filter((oid) => oid !== null),
  );
  for (const path of large) {
    const oid = pointers.get(brought.get(path)!) ?? null;
    if (oid === '' || (oid !== null && stored.has(oid))) continue;
    throw new WorkspaceRefused(
      oid === null
        ? `${path} has the attribute filter=lfs, and Git LFS is not set up here: its content would be committed whole. Take the attribute or the file back.`
        : `${path} is a Git LFS pointer to an object that is not here. Put the file's real content in its place.`,
    );
  }
}

/** Files, with their blobs, that none of these commits has so. */
async function newFiles(
  { git }: PrivateIndex,
  trusted: readonly (string | null)[],
  tree: string,
): Promise<Map<string, string>> {
  const changes = trusted.flatMap((commit) => (commit === null ? [] : [changesBetween(git, commit, tree)]));
  const [first = [], ...others] = (await Promise.all(changes)).map((changed) =>
    changed.flatMap(({ path, to }) => (to?.startsWith('100') ? [[path, to.split(' ')[1]!] as const] : [])),
  );
  const inAll = others.map((changed) => new Set(changed.map(([path]) => path)));
  return new Map(first.filter(([path]) => inAll.every((paths) => paths.has(path))));
}

async function largeOf({ git, path }: PrivateIndex, files: readonly string[]): Promise<string[]> {
  return [...(await filtersOf(git, path, files))].flatMap(([file, filter]) =>
    filter === 'lfs' ? [file] : [],
  );
}

/** Whether a commit of the agent's own, on the way from `known` to `head`, has a file whole that should be a pointer. */
export async function hasRawFiles(
  index: PrivateIndex,
  head: string,
  known: readonly (string | null)[],
): Promise<boolean> {
  const { git } = index;
  if (!git.lfs || known.includes(head)) return false;
  const range = [head, ...known.flatMap((sha) => (sha === null ? [] : [`^${sha}`]))];
  const shown = ['--raw', '-z', '--format=', '--no-renames', '--no-abbrev', '--diff-merges=first-parent'];
  const fields = nulSeparated((await git(['log', ...shown, ...range])).stdout);
  const blobs: { path: string; blob: string }[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode, , blob] = fields[at]!.split(' ');
    if (mode?.startsWith('100')) blobs.push({ path: fields[at + 1]!, blob: blob! });
  }
  const large = new Set(await largeOf(index, [...new Set(blobs.map(({ path }) => path))]));
  const kept = blobs.filter(({ path }) => large.has(path)).map(({ blob }) => blob);
  return [...(await pointersIn(git, kept)).values()].includes(null);
}
