import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { refusedCommand, refusedPath } from './refusal.ts';

describe('a command', () => {
  test.each([
    'git push',
    'git push --force origin HEAD:main',
    'cd sub && git -C . push',
    'git -c user.name=x push -f',
    'npm test; git push',
    'npm test\ngit push',
    'FOO=1 git push',
    '(git push)',
    'echo $(git push)',
    'if true; then git push; fi',
    '/usr/bin/git push',
    'git remote add origin https://example.com/x',
    'git filter-branch --all',
    'git update-ref refs/heads/main HEAD',
    'gh pr create --fill',
    'gh api /repos',
    'forge-loop run',
    'npx forge-loop run',
    'npx -y forge-loop@latest run',
  ])('%s is refused', (command) => {
    expect(refusedCommand(command)).toMatch(/./);
  });

  test.each([
    'git status',
    'git commit -m "do not git push"',
    "git commit -m 'gh pr create'",
    'git log --oneline',
    'git stash push',
    'git diff HEAD~1 -- push.ts',
    'echo git push is refused',
    'grep -r "git push" src',
    'npm run push',
    './gh-pages.sh',
    'npx vitest run',
    'rm -rf dist',
  ])('%s is not', (command) => {
    expect(refusedCommand(command)).toBeNull();
  });
});

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
