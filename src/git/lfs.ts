/** Git LFS from the host's side: pointers, the operator's store of objects, and fetching what is missing there. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { shortSha } from '../core/words/short-sha.ts';
import { FetchFailed, GitFailed } from '../errors.ts';
import { type Git, nulSeparated } from './git.ts';
import { operatorConfig } from './operator-config.ts';

const LONGEST_POINTER = 1024;
const POINTER =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:ext-\d+-\S+ \S+\n)*oid sha256:([0-9a-f]{64})\nsize \d+\n?$/;

/** Of each blob: the object it points to, `''` for an empty file (which is its own pointer), null for anything else. */
export async function pointersIn(git: Git, blobs: readonly string[]): Promise<Map<string, string | null>> {
  const unique = [...new Set(blobs)];
  const sizes = await git.sizes(unique);
  const found = new Map<string, string | null>();
  for (const [at, sha] of unique.entries()) {
    const size = sizes[at] ?? null;
    if (size === 0) found.set(sha, '');
    else if (size === null || size > LONGEST_POINTER) found.set(sha, null);
    else found.set(sha, POINTER.exec((await git.text(sha)) ?? '')?.[1] ?? null);
  }
  return found;
}

/** Those of these objects that the operator's store has. */
export async function storedObjects(git: Git, oids: readonly string[]): Promise<Set<string>> {
  if (oids.length === 0) return new Set();
  const storage = (await operatorConfig(git.ownDir, '^lfs\\.storage$')).get('lfs.storage') ?? 'lfs';
  const objects = join(resolve(git.gitDir, storage), 'objects');
  return new Set(oids.filter((oid) => existsSync(join(objects, oid.slice(0, 2), oid.slice(2, 4), oid))));
}

/** The filter of each of these paths, as the attributes in this index say; paths without one are absent. */
export async function filtersOf(
  git: Git,
  index: string,
  paths: readonly string[],
): Promise<Map<string, string>> {
  if (paths.length === 0) return new Map();
  const { stdout } = await git(['check-attr', '--cached', '-z', '--stdin', 'filter'], {
    env: { GIT_INDEX_FILE: index },
    input: paths.map((path) => `${path}\0`).join(''),
  });
  const fields = nulSeparated(stdout);
  const found = new Map<string, string>();
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [path, , value] = fields.slice(at) as [string, string, string];
    if (!['unspecified', 'unset', 'set'].includes(value)) found.set(path, value);
  }
  return found;
}

/** Writes files, and where objects for that are missing, fetches them once. `module` is the submodule they are of. */
export async function withObjects<T>(
  git: Git,
  treeish: string,
  write: () => Promise<T>,
  module: string | null = null,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!lacksObjects(git, error)) throw error;
    await fetchObjects(git, treeish, module);
    return write();
  }
}

/** git could not write a file because its object is not in the operator's store. */
const lacksObjects = (git: Git, error: unknown): boolean =>
  git.lfs && error instanceof GitFailed && /smudge filter lfs failed/.test(error.stderr);

/** From where the operator's own git would have them. */
async function fetchObjects(git: Git, treeish: string, module: string | null): Promise<void> {
  const config = await operatorConfig(git.ownDir, '^remote\\.(lfsdefault$|.*\\.url$)');
  const remotes = [...config.keys()].flatMap((key) => /^remote\.(.+)\.url$/.exec(key)?.[1] ?? []);
  const remote = config.get('remote.lfsdefault') ?? (remotes.length === 1 ? remotes[0]! : 'origin');
  try {
    await git(['lfs', 'fetch', remote, treeish], { online: true });
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error;
    const said = error.stderr.trim().split('\n').slice(0, 3).join(' ');
    throw new FetchFailed(
      `Git LFS objects of ${module === null ? '' : `the submodule ${module} at `}${shortSha(treeish)} are missing here and could not be fetched from ${remote}: ${said}`,
      `Fetch them with: git ${module === null ? '' : `-C ${module} `}lfs fetch ${remote} ${treeish}`,
      { cause: error },
    );
  }
}
