import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withoutWrapper } from './program.ts';

let dir = '';
let wrapper = '';
let native = '';

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forge-codex-'));
  wrapper = join(dir, 'node_modules/@openai/codex/bin/codex.js');
  const platform = join(dir, `node_modules/@openai/codex-${process.platform}-${process.arch}`);
  native = join(platform, 'vendor/some-target/bin/codex');
  await put(wrapper, '');
  await put(join(platform, 'package.json'), '{}');
  await put(native, '#!/bin/sh\n');
  await chmod(native, 0o755);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

test('of what npm installed, the native program is started', async () => {
  expect(await withoutWrapper([process.execPath, wrapper])).toEqual([native]);
});

test('also where the PATH has a link to it', async () => {
  const link = join(dir, 'codex');
  await symlink(wrapper, link);
  expect(await withoutWrapper([link])).toEqual([native]);
});

test('a program that is not npm’s is started as it is', async () => {
  const other = join(dir, 'codex');
  await put(other, '');
  expect(await withoutWrapper([other])).toEqual([other]);
});

test.each([
  ['without the native program', () => rm(native)],
  ['with one that can’t be run', () => chmod(native, 0o644)],
  [
    'without the package of this machine',
    () => rm(dirname(dirname(dirname(dirname(native)))), { recursive: true }),
  ],
])('a package %s is started by its wrapper', async (_, spoil) => {
  await spoil();
  expect(await withoutWrapper([process.execPath, wrapper])).toEqual([process.execPath, wrapper]);
});
