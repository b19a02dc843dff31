import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openContext } from './main.ts';

let dir: string;
const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
  });

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'forge-main-')));
  const main = join(dir, 'main');
  await mkdir(join(main, 'deep'), { recursive: true });
  git(main, 'init', '-q', '-b', 'main');
  git(main, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'start');
  await writeFile(join(main, 'WORKFLOW.md'), '---\ngate: none\n---\n');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function placesFrom(cwd: string, config: string | null = null): Promise<string[]> {
  const context = await openContext(cwd, { config });
  await context.close();
  return [context.root, context.forgeDir, context.configPath];
}

describe('one loop per repository', () => {
  const ours = () => [join(dir, 'main'), join(dir, 'main', '.forge'), join(dir, 'main', 'WORKFLOW.md')];

  it('is found from a folder inside the main work tree', async () => {
    expect(await placesFrom(join(dir, 'main', 'deep'))).toEqual(ours());
  });

  it('is configured by WORKFLOW.md there, or by the file that is given (dispatch 1)', async () => {
    const deep = join(dir, 'main', 'deep');
    expect((await placesFrom(deep))[2]).toBe(join(dir, 'main', 'WORKFLOW.md'));
    expect((await placesFrom(deep, 'night.md'))[2]).toBe(join(deep, 'night.md'));
  });

  it('is the main work tree’s, also from a linked one', async () => {
    git(join(dir, 'main'), 'worktree', 'add', '-q', '-b', 'side', join(dir, 'linked'));
    expect(await placesFrom(join(dir, 'linked'))).toEqual(ours());
  });

  it('is the linked one’s own where the repository is bare', async () => {
    git(dir, 'clone', '-q', '--bare', join(dir, 'main'), join(dir, 'bare.git'));
    git(join(dir, 'bare.git'), 'worktree', 'add', '-q', join(dir, 'work'), 'main');
    expect((await placesFrom(join(dir, 'work')))[0]).toBe(join(dir, 'work'));
  });
});
