/** The change between two commits, from where they parted. Asked again for the same two commits, it is not computed again. */
import { type Git, nulSeparated } from './git.ts';
import { mergeBase } from './objects.ts';

export interface Diff {
  files: string[];
  patch: string;
}

export async function diffs(git: Git, base: string, head: string): Promise<Diff> {
  const from = (await mergeBase(git, base, head)) ?? base;
  const key = `${from} ${head}`;
  const last = latest.get(git);
  if (last?.key === key) return last.diff;
  const diff = await compute(git, from, head);
  latest.set(git, { key, diff });
  return diff;
}

/** Only the latest: patches are large, and a task asks for the same one several times in a row. */
const latest = new WeakMap<Git, { key: string; diff: Diff }>();

async function compute(git: Git, from: string, head: string): Promise<Diff> {
  const files = await git(['diff', '--name-only', '--no-renames', '-z', from, head]);
  const shown = ['--no-color', '--find-renames', '--src-prefix=a/', '--dst-prefix=b/'];
  const patch = await git(['-c', 'core.quotePath=false', 'diff', ...shown, from, head]);
  return { files: nulSeparated(files.stdout), patch: patch.stdout };
}
