/** The change between two commits, from where they parted. */
import type { Change, ChangeCommit, ChangedBlob } from '../core/change/change.ts';
import { digestOf } from '../core/text/digest.ts';
import { type Changed, changesBetween } from './changes.ts';
import { type Git, nulSeparated } from './git.ts';
import { hiddenIn } from './hidden.ts';
import { isId, mergeBase, NEAR, readCommit } from './objects.ts';
import { rememberRecent } from './recent.ts';

export async function diffs(git: Git, base: string, head: string): Promise<Change> {
  const from = (await mergeBase(git, base, head)) ?? base;
  return isId(from) && isId(head)
    ? asBefore(git, `${from} ${head}`, () => change(git, from, head))
    : change(git, from, head);
}

async function change(git: Git, from: string, head: string): Promise<Change> {
  const changed = await changesBetween(git, from, head);
  const [patch, messages] = await Promise.all([
    patchBetween(git, from, head, changed),
    commitsBetween(git, from, head),
  ]);
  const blobs = await blobsOf(git, changed);
  const commits = await withPatches(git, from, head, messages);
  return {
    files: blobs.map(({ path }) => path),
    patch,
    blobs,
    commits,
    hidden: await hiddenIn(git, changed, patch, commits),
  };
}

const LONGEST = 4 * 1024 * 1024;

/** What two ids differ in never changes; but an object that is not there may yet arrive. */
const asBefore = rememberRecent<Change>(
  ({ patch, blobs, commits, hidden }) =>
    [patch, ...commits.map((commit) => commit.patch ?? '')].join('').length <= LONGEST &&
    blobs.length <= 5000 &&
    blobs.every(({ sha, bytes }) => sha === null || bytes !== null) &&
    hidden.length === 0,
);
const recently = rememberRecent<string>((patch) => patch.length <= LONGEST);

/** Known by what changed: the commit that lands is another than the one that was reviewed, and mostly changes the same. */
async function patchBetween(
  git: Git,
  from: string,
  head: string,
  changed: readonly Changed[],
): Promise<string> {
  const key = digestOf(JSON.stringify(changed), 64);
  const shown = ['--no-color', '--find-renames', '--src-prefix=a/', '--dst-prefix=b/'];
  return recently(git, key, async () => {
    return (await git(['-c', 'core.quotePath=false', 'diff', ...shown, from, head])).stdout;
  });
}

async function blobsOf(git: Git, changed: readonly Changed[]): Promise<ChangedBlob[]> {
  const entries = changed.map(({ path, from, to }) => ({ path, before: blobOf(from), sha: blobOf(to) }));
  const shas = [...new Set(entries.flatMap(({ before, sha }) => [before, sha]))].filter(
    (sha) => sha !== null,
  );
  const sizes = await git.sizes(shas);
  const known = new Map(shas.map((sha, index) => [sha, sizes[index] ?? null]));
  const size = (sha: string | null): number | null => (sha === null ? null : (known.get(sha) ?? null));
  return entries.map(({ path, before, sha }) => ({
    path,
    sha,
    bytes: size(sha),
    bytesBefore: size(before),
  }));
}

function blobOf(side: string | null): string | null {
  const [mode, sha] = side?.split(' ') ?? [];
  return sha === undefined || mode === SUBMODULE ? null : sha;
}

const SUBMODULE = '160000';

/** Of a merge, only what it has from neither side. */
async function withPatches(
  git: Git,
  from: string,
  head: string,
  commits: readonly Said[],
): Promise<ChangeCommit[]> {
  if (commits.length < 2) return commits.map((commit) => ({ ...commit, patch: null }));
  const shown = ['--patch', '--diff-merges=dense-combined', '--no-renames', '--no-color', '--full-index'];
  const log = await git([
    '-c',
    'core.quotePath=false',
    'log',
    ...shown,
    '--format=commit %H',
    `${from}..${head}`,
  ]);
  const patches = new Map(
    log.stdout.split(/^commit (?=[0-9a-f]+$)/m).map((part) => {
      const first = part.indexOf('\n');
      return [part.slice(0, first), part.slice(first + 1)];
    }),
  );
  return commits.map((commit) => ({ ...commit, patch: patches.get(commit.sha) ?? '' }));
}

interface Said {
  sha: string;
  message: string;
}

/** Oldest first. */
async function commitsBetween(git: Git, from: string, head: string): Promise<Said[]> {
  const line = await lineBetween(git, from, head);
  if (line) return line;
  const log = await git(['log', '--reverse', '--format=%H%n%B', '-z', `${from}..${head}`]);
  return nulSeparated(log.stdout).map((entry) => {
    const first = entry.indexOf('\n');
    return { sha: entry.slice(0, first), message: entry.slice(first + 1).trim() };
  });
}

/** A few commits, each with one parent; null where they are more, or otherwise, or speak another encoding. */
async function lineBetween(git: Git, from: string, head: string): Promise<Said[] | null> {
  if (!isId(head)) return null;
  const line: Said[] = [];
  for (let at = head; at !== from; ) {
    const commit = line.length < NEAR ? await readCommit(git, at) : null;
    if (commit?.parents.length !== 1 || /^encoding /m.test(commit.headers) || commit.message.includes('\0'))
      return null;
    line.unshift({ sha: at, message: commit.message.trim() });
    at = commit.parents[0]!;
  }
  return line;
}
