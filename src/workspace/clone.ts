/**
 * A workspace with a git directory of its own that borrows the repository's objects, as `git clone --shared` makes.
 *
 * It has no remote and shares no ref, hook or configuration with the operator, so nothing done inside moves anything
 * outside. It is written file by file: no template of the operator's ends up in it.
 */
import { copyFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WorkspaceRefused } from '../errors.ts';
import { type Git, nulSeparated } from '../git/git.ts';
import { type Bench, type Layout, seedOf, type WorkspacesOptions } from './bench.ts';
import { workspacesOf } from './lifecycle.ts';
import { transientPath } from './paths.ts';
import { type Place, settle } from './place.ts';
import { lstatOrNull, plainDirectories, readPlain, refuseOddFiles } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';
import { fillWorktree, withIndex } from './snapshot.ts';
import type { WorkspaceSpec, Workspaces } from './workspace.ts';

export function cloneWorkspaces(options: WorkspacesOptions): Workspaces {
  return workspacesOf(CLONE, options);
}

const CLONE: Layout = {
  kind: 'clone',

  async make(bench: Bench, spec: WorkspaceSpec, path: string, start: string): Promise<void> {
    const building = transientPath(path, 'making');
    await removeTree(building);
    mkdirSync(building, { mode: 0o700 });
    await layGitDirectory(bench, join(building, '.git'), start);
    await withIndex(bench.git, building, seedOf(bench, spec.task), async (index) => {
      await fillWorktree(index, start);
      await index.save();
      await settle(placeAt(building), { branch: spec.branch, sha: start, index: index.path, merging: null });
    });
    renameSync(building, path);
  },

  async inspect(bench: Bench, path: string): Promise<Place> {
    const place = placeAt(path);
    const objects = plainDirectories(path, ['.git', 'objects']);
    const info = objects && plainDirectories(objects, ['info']);
    if (objects === null || info === null)
      throw new WorkspaceRefused(`${place.dir} is not the git directory we made.`);
    if (lstatOrNull(join(place.dir, 'commondir')) !== null) {
      throw new WorkspaceRefused(`${place.dir} was redirected to another repository (commondir).`);
    }
    if (readPlain(join(info, 'alternates'), ALTERNATES_LIMIT) !== alternates(bench)) {
      throw new WorkspaceRefused(`${join(info, 'alternates')} is not as we wrote it.`);
    }
    await refuseOddFiles(objects);
    return place;
  },

  async forget(): Promise<void> {},
};

function placeAt(path: string): Place {
  const dir = join(path, '.git');
  return { worktree: path, dir, objects: join(dir, 'objects'), ownRefs: true };
}

async function layGitDirectory(bench: Bench, dir: string, start: string): Promise<void> {
  for (const folder of ['hooks', 'info', 'objects/info', 'objects/pack', 'refs/heads', 'refs/tags']) {
    mkdirSync(join(dir, folder), { recursive: true });
  }
  writeFileSync(join(dir, 'config'), await config(bench, start));
  writeFileSync(join(dir, 'info', 'exclude'), '.forge/\n');
  writeFileSync(join(dir, 'objects', 'info', 'alternates'), alternates(bench));
  const shallow = join(bench.git.gitDir, 'shallow');
  if (lstatOrNull(shallow)) copyFileSync(shallow, join(dir, 'shallow'));
}

/** Its object format is that of the commit it starts at. */
async function config(bench: Bench, start: string): Promise<string> {
  const isSha256 = start.length === 64;
  const lines = [
    '[core]',
    `\trepositoryformatversion = ${isSha256 ? 1 : 0}`,
    '\tbare = false',
    '\tlogallrefupdates = true',
    ...(await fileSystem(bench.git)),
  ];
  if (isSha256) lines.push('[extensions]', '\tobjectformat = sha256');
  return `${[...lines, '[gc]', '\tauto = 0'].join('\n')}\n`;
}

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

const ALTERNATES_LIMIT = 16 * 1024;

function alternates(bench: Bench): string {
  return `${join(bench.git.gitDir, 'objects')}\n`;
}
