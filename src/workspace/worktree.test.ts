import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeScene, type Scene, workspaceContract } from './contract.ts';
import { worktreeWorkspaces } from './worktree.ts';

workspaceContract('worktree', worktreeWorkspaces);

describe('a linked worktree', () => {
  let scene: Scene;
  let path: string;

  beforeEach(async () => {
    scene = await makeScene(worktreeWorkspaces);
    path = scene.workspaces.path(scene.spec);
  });
  afterEach(() => scene.dispose());

  it('is registered with git, and a stale registration is repaired (dispatch 16)', async () => {
    await scene.workspaces.prepare(scene.spec);
    expect(scene.run(['worktree', 'list'])).toContain(path);
    await rm(path, { recursive: true });
    expect((await scene.workspaces.prepare(scene.spec)).created).toBe(true);
    expect(scene.run(['worktree', 'list']).trim().split('\n')).toHaveLength(2);
    expect(scene.run(['status', '--porcelain'], path)).toBe('');
  });

  it('leaves stale registrations of the operator alone (dispatch 16)', async () => {
    scene.run(['worktree', 'add', '-q', '-b', 'side', join(scene.dir, 'usb stick')]);
    await rename(join(scene.dir, 'usb stick'), join(scene.dir, 'unplugged'));
    await scene.workspaces.prepare(scene.spec);
    await scene.workspaces.reap(scene.spec);
    await rename(join(scene.dir, 'unplugged'), join(scene.dir, 'usb stick'));
    expect(scene.run(['status', '--porcelain'], join(scene.dir, 'usb stick'))).toBe('');
  });

  it('finishes one that was moved into place by a runner that died', async () => {
    await scene.workspaces.prepare(scene.spec);
    const dir = scene.run(['rev-parse', '--absolute-git-dir'], path).trim();
    await writeFile(join(dir, 'gitdir'), `${join(path, '..', '.making-7-add-thing-t1', '.git')}\n`);
    expect((await scene.workspaces.prepare(scene.spec)).created).toBe(false);
    expect(scene.run(['worktree', 'list'])).toContain(`${path} `);
  });

  it('refuses a link that points at another worktree (dispatch 14)', async () => {
    await scene.workspaces.prepare(scene.spec);
    scene.run(['worktree', 'add', '-q', '-b', 'side', join(scene.dir, 'side')]);
    const other = scene.run(['rev-parse', '--absolute-git-dir'], join(scene.dir, 'side')).trim();
    await writeFile(join(path, '.git'), `gitdir: ${other}\n`);
    await expect(scene.workspaces.checkpoint(scene.spec, 'work')).rejects.toThrow(/belongs to/);
    await writeFile(join(path, '.git'), `gitdir: ${join(scene.repo, '.git')}\n`);
    await expect(scene.workspaces.verify(scene.spec)).rejects.toThrow(/not the link/);
  });
});
