/** The change between two commits, from where they parted. */
import type { Change, ChangedBlob } from '../core/change.ts';
import { type Changed, changesBetween } from './changes.ts';
import { type Git, nulSeparated } from './git.ts';
import { mergeBase, straightLine, treeOf } from './objects.ts';
import { rememberRecent } from './recent.ts';

export async function diffs(git: Git, base: string, head: string): Promise<Change> {
  const from = (await mergeBase(git, base, head)) ?? base;
  const blobs = await blobsOf(git, await changesBetween(git, from, head));
  return {
    files: blobs.map(({ path }) => path),
    patch: await patchBetween(git, from, head),
    blobs,
    commits: await commitsBetween(git, from, head),
  };
}

const LONGEST = 4 * 1024 * 1024;
const recently = rememberRecent<string>((patch) => patch.length <= LONGEST);

/** Known by its trees: the commit that lands is another than the one that was reviewed, and often changes the same. */
async function patchBetween(git: Git, from: string, head: string): Promise<string> {
  const key = `${await treeOf(git, from)} ${await treeOf(git, head)}`;
  const shown = ['--no-color', '--find-renames', '--src-prefix=a/', '--dst-prefix=b/'];
  return recently(git, key, async () => {
    return (await git(['-c', 'core.quotePath=false', 'diff', ...shown, from, head])).stdout;
  });
}

async function blobsOf(git: Git, changed: readonly Changed[]): Promise<ChangedBlob[]> {
  const entries = changed.map(({ path, to }) => {
    const [mode, sha] = to?.split(' ') ?? [];
    return { path, sha: sha === undefined || mode === SUBMODULE ? null : sha };
  });
  const sizes = await git.sizes(entries.flatMap(({ sha }) => (sha === null ? [] : [sha])));
  return entries.map((entry) => ({ ...entry, bytes: entry.sha === null ? null : (sizes.shift() ?? null) }));
}

const SUBMODULE = '160000';

/** Oldest first. */
async function commitsBetween(git: Git, from: string, head: string): Promise<Change['commits']> {
  const line = await straightLine(git, head);
  const end = line.indexOf(from);
  if (end >= 0) {
    const shas = line.slice(0, end).reverse();
    const commits = await Promise.all(shas.map((sha) => git.commit(sha)));
    if (commits.every((commit) => commit !== null))
      return commits.map(({ message }, index) => ({ sha: shas[index]!, message: message.trim() }));
  }
  const log = await git(['log', '--reverse', '--format=%H%n%B', '-z', `${from}..${head}`]);
  return nulSeparated(log.stdout).map((entry) => {
    const first = entry.indexOf('\n');
    return { sha: entry.slice(0, first), message: entry.slice(first + 1).trim() };
  });
}
