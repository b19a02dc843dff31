/**
 * What `gate.setup` makes (an install, mostly), kept for other trees with the same lockfiles.
 *
 * Only what lies in folders that package managers own is kept, and only when setup changed no tracked file: anything
 * else depends on sources. It is used as a copy, at the very path it was made at, so that absolute paths inside stay
 * true and no later run can write to what is kept; what was touched all the same is thrown away.
 */
import { createHash } from 'node:crypto';
import { lstat, mkdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { type Git, nulSeparated } from '../git/git.ts';
import { copyTree } from './copy-tree.ts';
import { offersIn, takeBack } from './home.ts';
import { list, lstatOrNull, plainDirectories } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';
import { setupKey } from './setup-inputs.ts';
import type { Shared } from './shared.ts';
import { type PrivateIndex, withIndex } from './snapshot.ts';
import { openTree } from './tree.ts';
import { keptSetup } from './tree-slot.ts';
import type { Setup, Stage } from './workspace.ts';

export async function stageWithSetup(
  shared: Shared,
  commit: string,
  purpose: string,
  setup?: Setup,
): Promise<Stage> {
  const { git } = shared;
  const key = setup ? await setupKey(git, commit, setup) : null;
  const tree = await openTree(shared, commit, purpose, { setup: key });
  const { path, home, slot, dispose } = tree;
  if (key === null || slot === null) {
    const keep = async () => 'there is no lockfile to tell by, or every place to keep it is in use';
    return { path, home, key: null, ready: false, keep, dispose };
  }
  const { folder, index } = slot;
  const kept = keptSetup(folder, key);
  try {
    return { path, home, key, ready: await restored(), keep, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }

  async function restored(): Promise<boolean> {
    const known = await readKept(kept);
    if (known === null) return false;
    try {
      for (const product of known.tree) await putInto(path, product, join(kept, 'tree', product));
      for (const entry of known.home) await putInto(home, entry, join(kept, 'home', entry));
      const now = new Date();
      await utimes(kept, now, now);
      return true;
    } catch {
      // A tree with something in the way of what is kept is set up by itself.
      await tree.renew();
      return false;
    }
  }

  async function keep(): Promise<string | null> {
    const products = await productsOf(git, tree.commit, path);
    const foreign = products.find((product) => !isOwned(product));
    if (foreign !== undefined) return `setup also made ${foreign}, which may depend on sources`;
    if (products.length === 0) return 'setup made nothing in the tree';
    const changed = await withIndex(git, path, index, changedFile);
    if (changed !== null) return `setup changed ${changed}`;
    const fresh = join(folder, 'kept.new');
    await removeTree(fresh);
    const ofHome = (await list(home)).map(({ name }) => name).filter((name) => !DOWNLOADS.has(name));
    for (const product of products) await copyInto(join(fresh, 'tree'), product, join(path, product));
    for (const entry of ofHome) await copyInto(join(fresh, 'home'), entry, join(home, entry));
    // The operator's entries are offered anew each time, and are nothing that setup made.
    if (ofHome.length > 0) await takeBack(join(fresh, 'home'), offersIn(home));
    const left = ofHome.filter((entry) => lstatOrNull(join(fresh, 'home', entry)) !== null);
    const manifest = { tree: products, home: left, stamp: await stampOf(fresh) };
    await writeFile(join(fresh, MANIFEST), JSON.stringify(manifest));
    await removeTree(kept);
    await mkdir(dirname(kept), { recursive: true });
    await rename(fresh, kept);
    await removeOldest(dirname(kept));
    return null;
  }
}

/** In one place, since each is as large as what an install brings. */
const MAX_KEPT = 2;

async function removeOldest(folder: string): Promise<void> {
  const dated: { path: string; at: number }[] = [];
  for (const { name } of await list(folder)) {
    const path = join(folder, name);
    dated.push({ path, at: (await stat(path)).mtimeMs });
  }
  dated.sort((a, b) => b.at - a.at);
  for (const { path } of dated.slice(MAX_KEPT)) await removeTree(path);
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
type Manifest = z.infer<typeof manifestSchema>;

/** Null when there is nothing, or nothing that is still as it was when it was kept. */
async function readKept(kept: string): Promise<Manifest | null> {
  const text = await readFile(join(kept, MANIFEST), 'utf8').catch(() => null);
  if (text === null) return null;
  const manifest = asManifest(text);
  if (manifest !== null && manifest.stamp === (await stampOf(kept))) return manifest;
  await removeTree(kept);
  return null;
}

/** After a power loss a file may be there without what was written to it. */
function asManifest(text: string): Manifest | null {
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
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

/** The topmost paths that the commit does not have; its git directory is ours. */
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
      if (path === '.git') continue;
      if (entry.isDirectory() && folders.has(path)) await walk(path);
      else if (!tracked.has(path)) products.push(path);
    }
  };
  await walk('');
  return products;
}

/** The first tracked file that is not as it was committed. */
async function changedFile(index: PrivateIndex): Promise<string | null> {
  const options = ['--porcelain=v2', '-z', '--no-renames', '--untracked-files=no', '--ignore-submodules=all'];
  const { stdout } = await index.run(['status', ...options]);
  const changed = nulSeparated(stdout).find((line) => /^1 .[^.]/.test(line));
  return changed === undefined ? null : changed.split(' ').slice(8).join(' ');
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
