import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { objectStores } from './object-stores.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'forge-objects-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));
const at = (path: string): string => join(root, path);

test('a repository has its own objects, what those borrow, those of Git LFS and of its submodules', () => {
  for (const name of ['lender', 'second']) execFileSync('git', ['init', '-q', at(name)]);
  execFileSync('git', ['clone', '-q', '--shared', at('lender'), at('mine')], { stdio: 'ignore' });
  writeFileSync(at('lender/.git/objects/info/alternates'), `# a comment\n${at('second/.git/objects')}\n`);
  writeFileSync(at('second/.git/objects/info/alternates'), `${at('lender/.git/objects')}\n${at('gone')}\n`);
  mkdirSync(at('mine/.git/lfs/objects'), { recursive: true });
  execFileSync('git', ['init', '-q', '--bare', at('mine/.git/modules/lib/deep')]);
  expect(objectStores(at('mine/.git'))).toEqual(
    [
      'mine/.git/objects',
      'lender/.git/objects',
      'second/.git/objects',
      'mine/.git/lfs/objects',
      'mine/.git/modules/lib/deep/objects',
    ].map(at),
  );
});
