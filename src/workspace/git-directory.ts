/**
 * A git directory of our making, for a tree that others run commands in. It borrows the repository's objects, as
 * `git clone --shared` makes.
 *
 * It has no remote and shares no ref, hook or configuration with the operator, so nothing done inside moves anything
 * outside. It is written file by file: no template of the operator's ends up in it.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Git, nulSeparated } from '../git/git.ts';
import { LFS_FILTER } from '../git/lfs-filter.ts';
import { submodulesOf } from '../git/modules.ts';
import { isAncestor } from '../git/objects.ts';
import { lstatOrNull } from './plain-files.ts';
import type { Shared, Trunk } from './shared.ts';

/** Learns what belongs into that of a tree of `commit`, and answers with what writes it; HEAD and index are the caller's. */
export async function gitDirectory(shared: Shared, commit: string): Promise<(dir: string) => void> {
  const files = {
    config: await configOf(shared.git, commit),
    'packed-refs': await refs(shared, commit),
    'info/exclude': '.forge/\n',
    'objects/info/alternates': alternates(shared.git.gitDir),
  };
  return (dir) => {
    for (const folder of FOLDERS) mkdirSync(join(dir, folder), { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
    const shallow = join(shared.git.gitDir, 'shallow');
    if (lstatOrNull(shallow)) copyFileSync(shallow, join(dir, 'shallow'));
  };
}

const FOLDERS = ['hooks', 'info', 'objects/info', 'objects/pack', 'refs/heads', 'refs/tags'];

export function alternates(gitDir: string): string {
  return `${join(gitDir, 'objects')}\n`;
}

/** Where trunk is found: as a branch, and where a remote's would be. */
export function trunkRefs({ branch }: Trunk): string[] {
  return [`refs/heads/${branch}`, `refs/remotes/origin/${branch}`];
}

/** The operator's tags, and trunk. What trunk already contains sees trunk as it was at that commit. */
async function refs(shared: Shared, commit: string): Promise<string> {
  const trunk = await shared.trunk();
  const at = (await isAncestor(shared.git, commit, trunk.sha)) ? commit : trunk.sha;
  const tags = await shared.git(['for-each-ref', '--format=%(objectname) %(refname)', 'refs/tags']);
  return trunkRefs(trunk).reduce((lines, ref) => `${lines}${at} ${ref}\n`, tags.stdout);
}

/** Its object format is that of the commit it starts at. */
export async function configOf(git: Git, commit: string): Promise<string> {
  const isSha256 = commit.length === 64;
  const lines = [
    '[core]',
    `\trepositoryformatversion = ${isSha256 ? 1 : 0}`,
    '\tbare = false',
    '\tlogallrefupdates = true',
    ...(await fileSystem(git)),
  ];
  if (isSha256) lines.push('[extensions]', '\tobjectformat = sha256');
  if (git.lfs) lines.push(...LARGE_FILES);
  for (const { name, module } of await submodulesOf(git, commit))
    if (module !== null) lines.push(`[submodule ${JSON.stringify(name)}]`, '\tactive = true');
  return `${[...lines, '[gc]', '\tauto = 0'].join('\n')}\n`;
}

/** Not required: where an agent has no git-lfs, its git still works, and the checkpoint makes the pointers. */
const LARGE_FILES = [
  '[filter "lfs"]',
  ...LFS_FILTER.map(([key, value]) => `\t${key.split('.')[2]} = ${value}`),
].map((line) => line.replace('required = true', 'required = false'));

/** These describe the file system, which is the same kind for both, and does not change. */
async function fileSystem(git: Git): Promise<string[]> {
  const known = described.get(git);
  if (known) return known;
  const lines: string[] = [];
  const { stdout } = await git(['config', '-z', '--get-regexp', FILE_SYSTEM], { allow: [1] });
  for (const entry of nulSeparated(stdout)) {
    const [key, value] = entry.split('\n');
    if (value === 'true' || value === 'false') lines.push(`\t${key!.slice('core.'.length)} = ${value}`);
  }
  described.set(git, lines);
  return lines;
}

const described = new WeakMap<Git, string[]>();
const FILE_SYSTEM = '^core\\.(filemode|ignorecase|precomposeunicode)$';
