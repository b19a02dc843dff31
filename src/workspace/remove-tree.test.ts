import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { removeTree } from './remove-tree.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'forge-remove-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function treeAt(path: string): void {
  mkdirSync(join(path, 'a', 'b'), { recursive: true });
  writeFileSync(join(path, 'a', 'b', 'file'), 'x');
  symlinkSync(join(dir, 'outside'), join(path, 'a', 'link'));
  symlinkSync(join(dir, 'nowhere'), join(path, 'dangling'));
}

describe('removeTree', () => {
  beforeEach(() => {
    mkdirSync(join(dir, 'outside'));
    writeFileSync(join(dir, 'outside', 'kept'), 'x');
  });
  afterEach(() => expect(existsSync(join(dir, 'outside', 'kept'))).toBe(true));

  test.each(['tree', 'line\nbreak', '-rf', '$(id) *'])(
    'removes %j and follows no link in it',
    async (name) => {
      const path = join(dir, name);
      treeAt(path);
      await removeTree(path);
      expect(existsSync(path)).toBe(false);
    },
  );

  it('takes a link for itself, not for what it leads to', async () => {
    symlinkSync(join(dir, 'outside'), join(dir, 'link'));
    await removeTree(join(dir, 'link'));
    expect(existsSync(join(dir, 'link'))).toBe(false);
  });

  it('removes a file, and is content when nothing is there', async () => {
    writeFileSync(join(dir, 'file'), 'x');
    for (const name of ['file', 'file', 'outside/kept/below']) await removeTree(join(dir, name));
    expect(existsSync(join(dir, 'file'))).toBe(false);
  });

  it('removes directories that were made read-only', async () => {
    const path = join(dir, 'tree');
    treeAt(path);
    for (const locked of ['a/b', 'a', '.']) chmodSync(join(path, locked), 0o500);
    await removeTree(path);
    expect(existsSync(path)).toBe(false);
  });
});
