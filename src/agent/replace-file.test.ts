import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ownFolder, removeLeft, removePlanted, replaceFile } from './replace-file.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'forge-replace-'));
  mkdirSync(join(root, 'operator'));
  writeFileSync(join(root, 'operator', 'auth.json'), 'of the operator');
});
// A tree may be too deep for us.
afterEach(() => void execFileSync('rm', ['-rf', root]));

test('a file is written in place of a link, never through it', () => {
  const path = join(root, 'config');
  symlinkSync(join(root, 'operator', 'auth.json'), path);
  symlinkSync(join(root, 'operator', 'auth.json'), `${path}.new`);
  replaceFile(path, 'ours');
  expect(lstatSync(path).isFile()).toBe(true);
  expect(readFileSync(path, 'utf8')).toBe('ours');
  expect(readFileSync(join(root, 'operator', 'auth.json'), 'utf8')).toBe('of the operator');
  expect(readdirSync(root).sort()).toEqual(['config', 'config.new', 'operator']);
});

test('a file is written in place of a folder with whatever is in it', () => {
  mkdirSync(join(root, 'config', 'full'), { recursive: true });
  replaceFile(join(root, 'config'), 'ours');
  expect(readFileSync(join(root, 'config'), 'utf8')).toBe('ours');
  expect(readdirSync(root).sort()).toEqual(['config', 'operator']);
});

test('a tree that is too deep to be removed is out of the way', () => {
  const path = join(root, 'notes');
  mkdirSync(path);
  execFileSync('perl', ['-e', 'for (1..1500) { mkdir "ddd"; chdir "ddd" or die }'], { cwd: path });
  removeLeft(path);
  removeLeft(path);
  expect(readdirSync(root)).toEqual([expect.stringMatching(/^notes-left-/), 'operator']);
});

test('a folder is made in place of a link, and one that is there is kept', () => {
  const path = join(root, 'codex');
  symlinkSync(join(root, 'operator'), path);
  ownFolder(path);
  expect(lstatSync(path).isDirectory()).toBe(true);
  expect(existsSync(join(path, 'auth.json'))).toBe(false);
  writeFileSync(join(path, 'kept'), '');
  ownFolder(path);
  expect(readdirSync(path)).toEqual(['kept']);
  expect(readdirSync(join(root, 'operator'))).toEqual(['auth.json']);
});

test('what was planted goes, also behind a link, and nothing that a link leads to', () => {
  const elsewhere = join(root, 'elsewhere');
  const home = join(root, 'home');
  for (const path of ['home/.config/tool/plugin', 'elsewhere/tool'])
    mkdirSync(join(root, path), { recursive: true });
  writeFileSync(join(elsewhere, 'tool/kept'), '');
  removePlanted(home, ['.config/tool', '.missing/tool']);
  expect(readdirSync(join(home, '.config'))).toEqual([]);
  rmSync(join(home, '.config'), { recursive: true });
  symlinkSync(elsewhere, join(home, '.config'));
  removePlanted(home, ['.config/tool'], ['.config']);
  expect(existsSync(join(home, '.config/tool/kept'))).toBe(true);
  removePlanted(home, ['.config/tool']);
  expect(existsSync(join(home, '.config'))).toBe(false);
  expect(existsSync(join(elsewhere, 'tool/kept'))).toBe(true);
});
