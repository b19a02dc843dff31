/** Repositories as people have them: what is missing is named, with the way to mend it; what can work, works. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { startProgram } from '../support/e2e/program.ts';
import { test, type World } from '../support/e2e/world.ts';

interface Diagnosis {
  failed: number;
  checks: { name: string; level: string; what: string; fix: string | null }[];
}

/** `doctor` exits with 1 when something failed, and answers all the same. */
async function doctor(world: World): Promise<Diagnosis> {
  const { stdout, stderr } = await world.cli('doctor', '--json');
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Diagnosis;
}

describe('what is missing is named before any work is begun', () => {
  test('a git identity', async ({ world }) => {
    const issue = await world.issue({});
    world.git('config', '--unset', 'user.name');
    world.git('config', '--unset', 'user.email');
    const ended = await world.cli('run', '--until-idle');
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toContain('git does not know who you are');
    expect(ended.stderr).toContain('git config --global user.name');
    const { checks, failed } = await doctor(world);
    expect(failed).toBe(1);
    expect(checks.find((check) => check.level === 'fail')).toMatchObject({ name: 'identity' });
    expect(await world.labels(issue), 'the issue was not touched').toEqual(['loop:ready']);
  });

  test('a first commit', async ({ world }) => {
    rmSync(join(world.root, '.git'), { recursive: true });
    world.git('init', '--quiet', '--initial-branch=main');
    world.git('config', 'user.name', 'O');
    world.git('config', 'user.email', 'o@example.com');
    const { code, stderr } = await world.cli('run', '--until-idle');
    expect(code).toBe(1);
    expect(stderr).toContain('no commits yet');
    expect(stderr).toContain('git commit --allow-empty');
    expect((await doctor(world)).checks.find((check) => check.level === 'fail')).toMatchObject({
      name: 'repository',
      what: expect.stringContaining('no commits yet'),
    });
  });

  test('a repository, or a checkout of it', async ({ world }) => {
    const nowhere = join(world.folder, 'no where');
    const bare = join(world.folder, 'bare one.git');
    mkdirSync(nowhere);
    execFileSync('git', ['init', '--quiet', '--bare', bare], { env: world.env });
    for (const [cwd, says] of [
      [nowhere, 'is not inside a git repository'],
      [bare, 'is a bare repository'],
    ] as const) {
      const { code, stderr } = await startProgram(['run'], { cwd, env: world.env }).ended;
      expect(code).toBe(1);
      expect(stderr).toContain(says);
      expect(stderr).toMatch(/hint: /);
      expect(existsSync(join(cwd, '.forge'))).toBe(false);
    }
  });

  test('settings, or settings that can be used', async ({ world }) => {
    world.write('WORKFLOW.md', '---\nagent: {kind: scripted\n---\n');
    const broken = await world.cli('run', '--until-idle');
    expect(broken).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/WORKFLOW\.md.*line \d|WORKFLOW\.md:\d/),
    });
    rmSync(join(world.root, 'WORKFLOW.md'));
    const missing = await world.cli('run', '--until-idle');
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('forge-loop init') });
  });

  test('an agent', async ({ world }) => {
    world.settings({ agent: { script: join(world.folder, 'not there.json') } });
    const { code, stderr } = await world.cli('run', '--until-idle');
    expect(code).toBe(1);
    expect(stderr).toContain('not there.json');
  });
});

describe('it works all the same', () => {
  test('on a detached HEAD: trunk moves, the checkout stays', async ({ world }) => {
    const before = world.git('rev-parse', 'HEAD').trim();
    world.git('switch', '--quiet', '--detach');
    world.write('unfinished.txt', 'mine\n');
    const issue = await world.issue({});
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    expect(world.git('rev-parse', 'HEAD').trim()).toBe(before);
    expect(world.git('rev-parse', 'main^').trim()).toBe(before);
    expect(world.git('status', '--porcelain').trim()).toBe('?? unfinished.txt');
    expect((await doctor(world)).checks).toContainEqual(
      expect.objectContaining({ name: 'checkout', level: 'warn', fix: 'git switch main' }),
    );
  });

  test('from a folder below, with an origin, and with hooks of the operator that must not run', async ({
    world,
  }) => {
    const origin = join(world.folder, 'origin.git');
    execFileSync('git', ['init', '--quiet', '--bare', origin], { env: world.env });
    world.git('remote', 'add', 'origin', origin);
    world.git('push', '--quiet', 'origin', 'main');
    const ran = join(world.folder, 'hook ran');
    for (const hook of ['pre-commit', 'post-checkout', 'reference-transaction', 'post-merge']) {
      const path = join(world.root, '.git', 'hooks', hook);
      mkdirSync(join(path, '..'), { recursive: true });
      writeFileSync(path, `#!/bin/sh\necho ${hook} >> '${ran}'\nexit 1\n`, { mode: 0o755 });
    }
    const issue = await world.issue({});
    mkdirSync(join(world.root, 'deep', 'er'), { recursive: true });
    const runner = startProgram(['run', '--until-idle'], {
      cwd: join(world.root, 'deep', 'er'),
      env: world.env,
    });
    await world.finished(runner);
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    expect(world.read(`done-${issue}.txt`)).toBe('done\n');
    expect(existsSync(ran)).toBe(false);
    expect(world.git('ls-remote', '--heads', 'origin').trim(), 'nothing was pushed').not.toContain('loop/');
  });

  test('with worktree workspaces', async ({ world }) => {
    world.settings({ workspace: { kind: 'worktree' } });
    const issue = await world.issue({});
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged', workspace: null });
    expect(world.git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1);
  });
});
