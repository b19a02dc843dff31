import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cloneWorkspaces } from './clone.ts';
import { makeScene, type Scene, workspaceContract } from './contract.ts';

workspaceContract('clone', cloneWorkspaces);

describe('a clone', () => {
  let scene: Scene;
  let path: string;

  beforeEach(async () => {
    scene = await makeScene(cloneWorkspaces);
    path = scene.workspaces.path(scene.spec);
  });
  afterEach(() => scene.dispose());

  it('has a git directory of its own, no remote, no hook and no template of the operator', async () => {
    await mkdir(join(scene.dir, 'template', 'hooks'), { recursive: true });
    await writeFile(join(scene.dir, 'template', 'hooks', 'pre-commit'), '#!/bin/sh\nexit 1\n', {
      mode: 0o755,
    });
    scene.run(['config', 'init.templateDir', join(scene.dir, 'template')]);
    scene.run(['remote', 'add', 'origin', scene.repo]);
    await scene.workspaces.prepare(scene.spec);
    expect(scene.run(['rev-parse', '--absolute-git-dir'], path).trim()).toBe(join(path, '.git'));
    expect(scene.run(['remote'], path)).toBe('');
    expect(existsSync(join(path, '.git', 'hooks', 'pre-commit'))).toBe(false);
    expect(() => scene.run(['push'], path)).toThrow();
    expect(scene.run(['fsck', '--strict'], path)).toBe('');
  });

  it('can be made from a shallow repository', async () => {
    const shallow = join(scene.dir, 'shallow');
    scene.run(['clone', '-q', '--depth', '1', `file://${scene.repo}`, shallow]);
    await rm(scene.repo, { recursive: true });
    scene.run(['clone', '-q', '--depth', '1', `file://${shallow}`, scene.repo], scene.dir);
    scene.run(['config', 'user.name', 'Ada']);
    scene.run(['config', 'user.email', 'ada@example.com']);
    const workspaces = await scene.reopen();
    await workspaces.prepare(scene.spec);
    await writeFile(join(path, 'new.txt'), 'new');
    scene.run(['add', '.'], path);
    scene.run(['commit', '-q', '-m', 'mine'], path);
    expect(scene.run(['log', '--format=%s'], path)).toBe('mine\ntwo\n');
    await workspaces.checkpoint(scene.spec, 'work');
    expect(scene.run(['log', '-1', '--format=%s', scene.spec.branch])).toBe('mine\n');
  });

  it('keeps files as committed whatever the operator prefers for their own checkout', async () => {
    scene.run(['config', 'core.autocrlf', 'true']);
    scene.run(['config', 'core.sparseCheckout', 'true']);
    await mkdir(join(scene.repo, '.git', 'info'), { recursive: true });
    await writeFile(join(scene.repo, '.git', 'info', 'sparse-checkout'), '/readme.md\n');
    await scene.workspaces.prepare(scene.spec);
    expect(await readFile(join(path, 'src', 'a.txt'), 'utf8')).toBe('a\n');
    expect((await scene.workspaces.checkpoint(scene.spec, 'work')).empty).toBe(true);
  });
});
