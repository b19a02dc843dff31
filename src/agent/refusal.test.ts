import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { refusedPath } from './refusal.ts';

describe('a path', () => {
  let dir: string;
  let cwd: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'forge-refusal-'));
    cwd = join(dir, 'work');
    mkdirSync(join(cwd, 'src'), { recursive: true });
    mkdirSync(join(dir, 'outside'));
    symlinkSync(join(dir, 'outside'), join(cwd, 'link'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  test.each([
    ['src/new.ts', null],
    ['new/deep/file.ts', null],
    ['.github/x.yml', null],
    ['../outside/x', /outside your workspace/],
    ['link/x', /outside your workspace/],
    ['/etc/passwd', /outside your workspace/],
    ['.git/config', /\.git/],
  ])('%s', (path, why) => {
    const said = refusedPath(path, cwd, [cwd]);
    if (why === null) expect(said).toBeNull();
    else expect(said).toMatch(why);
  });
});
