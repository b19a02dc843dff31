import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultRoot, keyOfPath, realRoot, safeName, workspacePath } from './paths.ts';

let dir: string;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'forge-paths-')));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('workspacePath', () => {
  const site = { root: '/state', repositoryKey: 'app-1234' };

  it('is one folder below the repository’s, whatever the names contain (dispatch 15)', () => {
    for (const name of [
      '../../etc',
      '/abs',
      'a/b',
      '.',
      '..',
      '',
      'ü né\n',
      '-rf',
      'x'.repeat(500),
      '.git',
      'a.lock',
    ]) {
      const path = workspacePath(site, { task: name, issue: 3, slug: name });
      expect(dirname(path)).toBe('/state/app-1234');
      expect(basename(path)).toMatch(/^3-[A-Za-z0-9_-]+$/);
      expect(basename(path).length).toBeLessThan(200);
    }
  });

  it('keeps names that sanitise alike different (dispatch 15)', () => {
    const alike = ['a b', 'a/b', 'a.b', 'a  b', 'a-b', 'a-b-', 'ä-b'];
    const paths = alike.map((slug) => workspacePath(site, { task: 't', issue: 1, slug }));
    expect(new Set(paths).size).toBe(alike.length);
    const tasks = alike.map((task) => workspacePath(site, { task, issue: 1, slug: 's' }));
    expect(new Set(tasks).size).toBe(alike.length);
  });

  it('reads well for ordinary names, with and without an issue (dispatch 14)', () => {
    expect(workspacePath(site, { task: 'k3j', issue: 12, slug: 'add-login' })).toBe(
      '/state/app-1234/12-add-login-k3j',
    );
    expect(workspacePath(site, { task: 'k3j', issue: null, slug: 'plan' })).toBe('/state/app-1234/plan-k3j');
    expect(safeName('plain_name-1')).toBe('plain_name-1');
  });
});

describe('keyOfPath', () => {
  it('is the same for a repository however it is reached, and differs between equal names (dispatch 14) (loops 65)', async () => {
    const [one, two] = [join(dir, 'one', 'my app'), join(dir, 'two', 'my app')];
    await mkdir(one, { recursive: true });
    await mkdir(two, { recursive: true });
    await symlink(one, join(dir, 'link'));
    expect(keyOfPath(one)).toMatch(/^my-app-[0-9a-f]{8}$/);
    expect(keyOfPath(join(dir, 'link'))).toBe(keyOfPath(one));
    expect(keyOfPath(two)).not.toBe(keyOfPath(one));
  });
});

describe('the root', () => {
  it('is in the state directory by default', () => {
    expect(defaultRoot({ XDG_STATE_HOME: '/x/state' })).toBe('/x/state/forge-loop/workspaces');
    expect(defaultRoot({ XDG_STATE_HOME: 'relative' })).toBe(
      join(homedir(), '.local/state/forge-loop/workspaces'),
    );
    expect(defaultRoot({})).toBe(join(homedir(), '.local/state/forge-loop/workspaces'));
  });

  it('may itself be behind a link, also before it exists', async () => {
    await mkdir(join(dir, 'real'));
    await symlink(join(dir, 'real'), join(dir, 'link'));
    expect(realRoot(join(dir, 'link', 'not', 'yet'))).toBe(join(dir, 'real', 'not', 'yet'));
  });
});
