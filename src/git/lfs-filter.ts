/**
 * The one filter that host-side git runs: Git LFS, where the operator's configuration has it as `git lfs install` writes
 * it. A branch chooses which paths have the attribute, never a command.
 *
 * While it filters, Git LFS is offline: `.lfsconfig` of a workspace is an agent's to write, and what it says of servers
 * and of files to leave out is overridden.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { operatorConfig, type Setting } from './operator-config.ts';

const COMMANDS: Readonly<Record<string, RegExp>> = {
  'filter.lfs.clean': /^git-lfs clean -- %f$/,
  'filter.lfs.smudge': /^git-lfs smudge (--skip )?-- %f$/,
  'filter.lfs.process': /^git-lfs filter-process( --skip)?$/,
};

export function isStandardLfs(configured: ReadonlyMap<string, string>): boolean {
  return Object.entries(COMMANDS).every(([key, form]) => form.test(configured.get(key) ?? ''));
}

export const LFS_FILTER: readonly Setting[] = [
  ['filter.lfs.clean', 'git-lfs clean -- %f'],
  ['filter.lfs.smudge', 'git-lfs smudge -- %f'],
  ['filter.lfs.process', 'git-lfs filter-process'],
  ['filter.lfs.required', 'true'],
];

/** Which files are left as pointers is the operator's to say: in their configuration, or in the checkout they have. */
export async function offlineLfs(
  own: ReadonlyMap<string, string>,
  gitDir: string,
  worktree: string | null,
): Promise<Setting[]> {
  const file = worktree === null ? null : join(worktree, '.lfsconfig');
  const isThere = file !== null && lstatSync(file, { throwIfNoEntry: false })?.isFile();
  const shared = isThere ? await operatorConfig(gitDir, LFS_SCOPE, file) : new Map<string, string>();
  const scope = (key: string): Setting => [key, own.get(key) ?? shared.get(key) ?? ''];
  return [
    ['lfs.url', NOWHERE],
    ['lfs.pushurl', NOWHERE],
    ['lfs.skipdownloaderrors', 'false'],
    scope('lfs.fetchinclude'),
    scope('lfs.fetchexclude'),
  ];
}

export const LFS_SCOPE = '^lfs\\.fetch(include|exclude)$';
const NOWHERE = 'file:///dev/null/offline';
