/** The change between two commits, from where they parted. Asked again for the same two commits, it is not computed again. */
import type { Change, ChangedBlob } from '../core/change.ts';
import { type Git, nulSeparated } from './git.ts';
import { mergeBase } from './objects.ts';

export async function diffs(git: Git, base: string, head: string): Promise<Change> {
  const from = (await mergeBase(git, base, head)) ?? base;
  const key = `${from} ${head}`;
  const last = latest.get(git);
  if (last?.key === key) return last.change;
  const change = await compute(git, from, head);
  latest.set(git, { key, change });
  return change;
}

/** Only the latest: patches are large, and a task asks for the same one several times in a row. */
const latest = new WeakMap<Git, { key: string; change: Change }>();

async function compute(git: Git, from: string, head: string): Promise<Change> {
  const raw = await git(['diff', '--raw', '--no-abbrev', '--no-renames', '-z', from, head]);
  const shown = ['--no-color', '--find-renames', '--src-prefix=a/', '--dst-prefix=b/'];
  const patch = await git(['-c', 'core.quotePath=false', 'diff', ...shown, from, head]);
  const blobs = await blobsOf(git, raw.stdout);
  return {
    files: blobs.map(({ path }) => path),
    patch: patch.stdout,
    blobs,
    commits: await commitsBetween(git, from, head),
  };
}

/** Each entry is `:mode mode sha sha status`, then the path. */
async function blobsOf(git: Git, raw: string): Promise<ChangedBlob[]> {
  const parts = nulSeparated(raw);
  const entries: { path: string; sha: string | null }[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, mode = '', , sha = ''] = parts[at]!.split(' ');
    const hasContent = mode !== '000000' && mode !== SUBMODULE;
    entries.push({ path: parts[at + 1]!, sha: hasContent ? sha : null });
  }
  const input = entries.flatMap(({ sha }) => (sha === null ? [] : [`${sha}\n`])).join('');
  if (input === '') return entries.map((entry) => ({ ...entry, bytes: null }));
  const sizes = (await git(['cat-file', '--batch-check=%(objectsize)'], { input })).stdout.split('\n');
  return entries.map((entry) => ({ ...entry, bytes: entry.sha === null ? null : Number(sizes.shift()) }));
}

const SUBMODULE = '160000';

async function commitsBetween(git: Git, from: string, head: string): Promise<Change['commits']> {
  const log = await git(['log', '--reverse', '--format=%H%n%B', '-z', `${from}..${head}`]);
  return nulSeparated(log.stdout).map((entry) => {
    const end = entry.indexOf('\n');
    return { sha: entry.slice(0, end), message: entry.slice(end + 1).trim() };
  });
}
