/** Kept setups on real trees: what is used again, what is not kept, and what can't poison the next. */
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cloneWorkspaces } from './clone.ts';
import { makeScene, removeTemplate, type Scene } from './contract.ts';
import { prepareHome } from './home.ts';
import type { Setup, Stage } from './workspace.ts';

const SETUP: Setup = { commands: ['npm ci'], env: 'e1' };
let scene: Scene;

beforeEach(async () => {
  scene = await makeScene(cloneWorkspaces);
  await commit({ 'package-lock.json': '{}', 'package.json': '{}' });
});
afterEach(() => scene.dispose());
afterAll(removeTemplate);

async function commit(files: Record<string, string>): Promise<string> {
  for (const [path, text] of Object.entries(files)) await writeFile(join(scene.repo, path), text);
  scene.run(['add', '--all']);
  scene.run(['commit', '-q', '-m', 'x']);
  return scene.run(['rev-parse', 'HEAD']).trim();
}

const stage = (at = 'HEAD', setup = SETUP): Promise<Stage> => scene.workspaces.stage(at, 'gate', setup);

/** What an install does: a folder of its own, an absolute path inside, something in its home. */
async function install(place: Stage): Promise<void> {
  await mkdir(join(place.path, 'node_modules', '.bin'), { recursive: true });
  await writeFile(join(place.path, 'node_modules', 'lib.js'), 'good');
  await writeFile(join(place.path, 'node_modules', '.bin', 'tool'), `#!${place.path}/node_modules/lib.js`, {
    mode: 0o755,
  });
  await symlink('../lib.js', join(place.path, 'node_modules', '.bin', 'lib'));
  await mkdir(join(place.home, '.npm'));
  await writeFile(join(place.home, '.toolrc'), 'x');
}

async function kept(): Promise<string> {
  const place = await stage();
  await install(place);
  expect(await place.keep()).toBeNull();
  await place.dispose();
  return place.path;
}

test('the next tree with the same lockfiles has it, at the same path, in a home of its own', async () => {
  const path = await kept();
  await commit({ 'src/a.txt': 'another source\n' });
  const next = await stage();
  expect([next.ready, next.path]).toEqual([true, path]);
  const tool = await readFile(join(next.path, 'node_modules', '.bin', 'tool'), 'utf8');
  expect(tool, 'the path inside is still true').toBe(`#!${next.path}/node_modules/lib.js`);
  expect(await readFile(join(next.path, 'node_modules', '.bin', 'lib'), 'utf8')).toBe('good');
  expect(await readFile(join(next.path, 'src', 'a.txt'), 'utf8')).toBe('another source\n');
  expect(readdirSync(next.home), 'downloads are not kept').toEqual(['.toolrc']);
  await next.dispose();
  expect(readdirSync(next.path).sort(), 'nothing of it lies about').toEqual([
    '.gitignore',
    'package-lock.json',
    'package.json',
    'readme.md',
    'src',
  ]);
  expect(existsSync(next.home)).toBe(false);
});

test('what was offered of the operator’s home is not kept', async () => {
  const operator = join(scene.dir, 'operator');
  await mkdir(join(operator, '.rustup'), { recursive: true });
  await mkdir(join(operator, '.cargo'));
  await writeFile(join(operator, '.npmrc'), 'token');
  await writeFile(join(operator, '.cargo', 'config.toml'), '[net]');
  const offers = { home: 'private' as const, homeEntries: ['.rustup', '.npmrc', '.cargo/config.toml'] };
  const place = await stage();
  await prepareHome(place.home, offers, operator, () => true);
  await install(place);
  await writeFile(join(place.home, '.cargo', 'downloaded'), 'x');
  expect(await place.keep()).toBeNull();
  await place.dispose();
  const next = await stage();
  expect(next.ready).toBe(true);
  expect(readdirSync(next.home).sort()).toEqual(['.cargo', '.toolrc']);
  expect(readdirSync(join(next.home, '.cargo'))).toEqual(['downloaded']);
  await next.dispose();
});

describe('is not used for', () => {
  const other: [string, () => Promise<Stage>][] = [
    ['another lockfile', async () => stage(await commit({ 'package-lock.json': '{"a": 1}' }))],
    [
      'another manifest, whose scripts an install runs',
      async () => stage(await commit({ 'package.json': '{"a": 1}' })),
    ],
    ['another setup', () => stage('HEAD', { ...SETUP, commands: ['npm ci --omit=dev'] })],
    ['another environment', () => stage('HEAD', { ...SETUP, env: 'e2' })],
  ];
  test.each(other)('%s', async (_what, open) => {
    await kept();
    const next = await open();
    expect([next.ready, existsSync(join(next.path, 'node_modules'))]).toEqual([false, false]);
    await next.dispose();
  });

  test.each(['', '{"tree": ["node_mod', '{"stamp": 1}'])(
    'anybody when its manifest is %j: it goes',
    async (left) => {
      const path = await kept();
      const folder = join(path, '..', 'kept');
      await writeFile(join(folder, readdirSync(folder)[0]!, 'manifest.json'), left);
      const next = await stage();
      expect([next.ready, next.path]).toEqual([false, path]);
      expect(readdirSync(folder)).toEqual([]);
      await install(next);
      expect(await next.keep()).toBeNull();
      await next.dispose();
    },
  );

  test('a setup whose own script changed', async () => {
    await commit({ 'install.sh': 'one' });
    const setup = { ...SETUP, commands: ['sh ./install.sh'] };
    const keys = [await scene.workspaces.setupKey('HEAD', setup)];
    await commit({ 'install.sh': 'two' });
    keys.push(await scene.workspaces.setupKey('HEAD', setup));
    expect(new Set(keys).size).toBe(2);
  });

  test('a tree that has a file of its own there: it is left as it is', async () => {
    await kept();
    await mkdir(join(scene.repo, 'node_modules'));
    const next = await stage(await commit({ 'node_modules/mine.js': 'tracked' }));
    expect([next.ready, readdirSync(join(next.path, 'node_modules'))]).toEqual([false, ['mine.js']]);
    await next.dispose();
  });

  test('a tree with a link in the way: nothing is written through it', async () => {
    await kept();
    await symlink(scene.dir, join(scene.repo, 'node_modules'));
    const next = await stage(await commit({}));
    expect(next.ready).toBe(false);
    expect(existsSync(join(scene.dir, 'lib.js'))).toBe(false);
    await next.dispose();
  });

  test('whoever comes while it is in use: another tree, where it is set up and kept as well', async () => {
    const path = await kept();
    const first = await stage();
    const second = await stage();
    expect([first.ready, second.ready, second.key]).toEqual([true, false, first.key]);
    expect(second.path).not.toBe(first.path);
    await install(second);
    expect(await second.keep()).toBeNull();
    await second.dispose();
    const third = await stage();
    expect([third.ready, third.path]).toEqual([true, second.path]);
    await third.dispose();
    await first.dispose();
    const fourth = await stage();
    expect([fourth.ready, fourth.path]).toEqual([true, path]);
    await fourth.dispose();
  });
});

describe('is not kept when', () => {
  const TABLE: [string, (place: Stage) => Promise<void>, string][] = [
    [
      'setup made something from sources',
      (place) => writeFile(join(place.path, 'dist.js'), ''),
      'setup also made dist.js, which may depend on sources',
    ],
    [
      'setup changed a tracked file',
      (place) => writeFile(join(place.path, 'package-lock.json'), '{"changed": true}'),
      'setup changed package-lock.json',
    ],
  ];
  test.each(TABLE)('%s', async (_what, also, why) => {
    const place = await stage();
    await install(place);
    await also(place);
    expect(await place.keep()).toBe(why);
    await place.dispose();
    const next = await stage();
    expect(next.ready).toBe(false);
    await next.dispose();
  });

  test('setup made nothing in the tree', async () => {
    const place = await stage();
    expect(await place.keep()).toBe('setup made nothing in the tree');
    await place.dispose();
  });

  test('the tree has no lockfile', async () => {
    scene.run(['rm', '-q', 'package-lock.json']);
    const place = await stage(await commit({}));
    expect([place.key, place.ready]).toEqual([null, false]);
    expect(await place.keep()).toMatch(/no lockfile/);
    await place.dispose();
  });
});

describe('is not poisoned', () => {
  test('by what a gate writes into its copy', async () => {
    await kept();
    const bad = await stage();
    await writeFile(join(bad.path, 'node_modules', 'lib.js'), 'evil');
    await bad.dispose();
    const next = await stage();
    expect(await readFile(join(next.path, 'node_modules', 'lib.js'), 'utf8')).toBe('good');
    await next.dispose();
  });

  test('by what somebody writes into what is kept: it is thrown away', async () => {
    const path = await kept();
    const kinds = join(path, '..', 'kept');
    await writeFile(join(kinds, readdirSync(kinds)[0]!, 'tree', 'node_modules', 'lib.js'), 'evil');
    const next = await stage();
    expect([next.ready, existsSync(join(next.path, 'node_modules'))]).toEqual([false, false]);
    await next.dispose();
  });
});

test('only a few are kept, and they are nobody’s orphans', async () => {
  let path = '';
  for (let version = 0; version < 4; version++) {
    await commit({ 'package-lock.json': `{"version": ${version}}` });
    path = await kept();
  }
  expect(readdirSync(join(path, '..', 'kept'))).toHaveLength(2);
  expect(await scene.workspaces.orphans([])).toEqual([]);
  const newest = await stage();
  expect(newest.ready).toBe(true);
  await newest.dispose();
});
