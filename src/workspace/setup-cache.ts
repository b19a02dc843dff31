/**
 * What `gate.setup` makes (an install, mostly), kept for other trees with the same lockfiles.
 *
 * Only what lies in folders that package managers own is kept, and only when setup changed no tracked file: anything
 * else depends on sources. It is used as a copy, at the very path it was made at, so that absolute paths inside stay
 * true and no later run can write to what is kept; what was touched all the same is thrown away.
 */
import { createHash } from 'node:crypto';
import { lstat, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { type Git, nulSeparated } from '../git/git.ts';
import { copyTree } from './copy-tree.ts';
import { stageCommit } from './export.ts';
import type { Site } from './paths.ts';
import { list, lstatOrNull, plainDirectories } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';
import { setupKey } from './setup-inputs.ts';
import { sweepSlots, takeSlot } from './setup-slot.ts';
import { fillWorktree, withIndex } from './snapshot.ts';
import type { Stage } from './workspace.ts';

export async function stageWithSetup(
  git: Git,
  site: Site,
  commit: string,
  purpose: string,
  setup: readonly string[],
): Promise<Stage> {
  const key = await setupKey(git, commit, setup);
  const slot = key === null ? null : await takeSlot(site, key);
  if (key === null || slot === null) return stageCommit(git, site, commit, purpose);
  const { folder } = slot;
  const [path, home, kept] = [
    join(folder, 'place', 'tree'),
    join(folder, 'place', 'home'),
    join(folder, 'kept'),
  ];
  const dispose = async (): Promise<void> => {
    await removeTree(join(folder, 'place'));
    await slot.free();
  };
  try {
    await fill();
    const ready = await restored();
    return { path, home, key, ready, keep, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }

  async function fill(): Promise<void> {
    await removeTree(join(folder, 'place'));
    for (const made of [path, home]) await mkdir(made, { recursive: true, mode: 0o700 });
    await withIndex(git, path, null, (index) => fillWorktree(index, commit));
  }

  async function restored(): Promise<boolean> {
    const known = await readKept(kept);
    if (known === null) return false;
    try {
      for (const product of known.tree) await putInto(path, product, join(kept, 'tree', product));
      for (const entry of known.home) await putInto(home, entry, join(kept, 'home', entry));
      return true;
    } catch {
      // A tree with something in the way of what is kept is set up by itself.
      await fill();
      return false;
    }
  }

  async function keep(): Promise<string | null> {
    const products = await productsOf(git, commit, path);
    const foreign = products.find((product) => !isOwned(product));
    if (foreign !== undefined) return `setup also made ${foreign}, which may depend on sources`;
    if (products.length === 0) return 'setup made nothing in the tree';
    const changed = await changedFile(git, path, commit);
    if (changed !== null) return `setup changed ${changed}`;
    const fresh = join(folder, 'kept.new');
    await removeTree(fresh);
    const ofHome = (await list(home)).map(({ name }) => name).filter((name) => !DOWNLOADS.has(name));
    for (const product of products) await copyInto(join(fresh, 'tree'), product, join(path, product));
    for (const entry of ofHome) await copyInto(join(fresh, 'home'), entry, join(home, entry));
    const manifest = { tree: products, home: ofHome, stamp: await stampOf(fresh) };
    await writeFile(join(fresh, MANIFEST), JSON.stringify(manifest));
    await removeTree(kept);
    await rename(fresh, kept);
    await sweepSlots(site, async (used) => (await stat(used)).mtimeMs);
    return null;
  }
}

/** npm's downloads: needed to install, not to run. */
const DOWNLOADS = new Set(['.npm']);

const OWNED = new Set([
  'node_modules',
  '.venv',
  'venv',
  'vendor',
  '.yarn',
  '.pnp.cjs',
  '.pnp.loader.mjs',
  '.bundle',
  'Pods',
  'deps',
]);
const isOwned = (path: string): boolean =>
  path.endsWith('.egg-info') || path.split('/').some((part) => OWNED.has(part));

const MANIFEST = 'manifest.json';
const manifestSchema = z.object({ tree: z.array(z.string()), home: z.array(z.string()), stamp: z.string() });

/** Null when there is nothing, or nothing that is still as it was when it was kept. */
async function readKept(kept: string): Promise<z.infer<typeof manifestSchema> | null> {
  const text = await readFile(join(kept, MANIFEST), 'utf8').catch(() => null);
  if (text === null) return null;
  const manifest = manifestSchema.parse(JSON.parse(text));
  if (manifest.stamp === (await stampOf(kept))) return manifest;
  await removeTree(kept);
  return null;
}

/** Everything the file system tells about it. A time of change can't be set back, so a touched file shows. */
async function stampOf(kept: string): Promise<string> {
  const hash = createHash('sha256');
  const walk = async (path: string): Promise<void> => {
    const { mode, size, mtimeMs, ctimeMs } = await lstat(path);
    hash.update(JSON.stringify([path.slice(kept.length), mode, size, mtimeMs, ctimeMs]));
    const entries = (await lstat(path)).isDirectory() ? await list(path) : [];
    for (const name of entries.map((entry) => entry.name).sort()) await walk(join(path, name));
  };
  for (const part of ['tree', 'home']) if (lstatOrNull(join(kept, part))) await walk(join(kept, part));
  return hash.digest('hex');
}

/** The topmost paths that the commit does not have. */
async function productsOf(git: Git, commit: string, tree: string): Promise<string[]> {
  const { stdout } = await git(['ls-tree', '-r', '-z', '--name-only', '--full-tree', commit]);
  const tracked = new Set(nulSeparated(stdout));
  const folders = new Set<string>();
  for (const path of tracked)
    for (let up = dirname(path); up !== '.' && !folders.has(up); up = dirname(up)) folders.add(up);
  const products: string[] = [];
  const walk = async (below: string): Promise<void> => {
    for (const entry of await list(join(tree, below))) {
      const path = join(below, entry.name);
      if (entry.isDirectory() && folders.has(path)) await walk(path);
      else if (!tracked.has(path)) products.push(path);
    }
  };
  await walk('');
  return products;
}

/** The first tracked file that is not as it was committed. */
async function changedFile(git: Git, tree: string, commit: string): Promise<string | null> {
  return withIndex(git, tree, null, async (index) => {
    await index.run(['read-tree', commit]);
    const options = [
      '--porcelain=v2',
      '-z',
      '--no-renames',
      '--untracked-files=no',
      '--ignore-submodules=all',
    ];
    const { stdout } = await index.run(['status', ...options]);
    const changed = nulSeparated(stdout).find((line) => /^1 .[^.]/.test(line));
    return changed === undefined ? null : changed.split(' ').slice(8).join(' ');
  });
}

async function copyInto(root: string, path: string, from: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await copyTree(from, join(root, path));
}

/** Never through a link that the tree brought, and never over a file of its own. */
async function putInto(root: string, path: string, from: string): Promise<void> {
  const parts = dirname(path)
    .split('/')
    .filter((part) => part !== '.');
  plainDirectories(root, parts, 'make');
  if (lstatOrNull(join(root, path))) throw new Error(`${path} is in the way`);
  await copyTree(from, join(root, path));
}
