/** The operator's files in a workspace, of either kind: there for the agent, and in no commit. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cloneWorkspaces } from './clone.ts';
import { makeScene, removeTemplate, type Scene } from './contract.ts';
import { worktreeWorkspaces } from './worktree.ts';

afterAll(removeTemplate);

describe.each([
  ['clone', cloneWorkspaces],
  ['worktree', worktreeWorkspaces],
] as const)('in a %s', (_, make) => {
  let scene: Scene;
  let path = '';
  const file = (name: string) => join(scene.dir, name);
  const inside = (name: string) => readFileSync(join(path, name), 'utf8');
  const place = (...files: [string, string][]) =>
    scene.workspaces.place(
      scene.spec,
      files.map(([at, name]) => ({ path: at, from: file(name) })),
    );
  const checkpoint = () => scene.workspaces.checkpoint(scene.spec, 'work');
  const changed = (head: string) => scene.run(['diff', '--name-only', scene.spec.baseSha, head]).trim();

  beforeEach(async () => {
    scene = await makeScene(make);
    path = scene.workspaces.path(scene.spec);
    await scene.workspaces.prepare(scene.spec);
    await writeFile(file('mcp.json'), 'TOKEN-1');
    await mkdir(file('skill/scripts'), { recursive: true });
    await writeFile(file('skill/SKILL.md'), 'do it');
    await writeFile(file('skill/scripts/run.sh'), 'echo', { mode: 0o755 });
  });
  afterEach(() => scene.dispose());

  test('a file and a folder are there, read-only, and nothing is unsaved by them', async () => {
    await checkpoint();
    await place(['.mcp.json', 'mcp.json'], ['.forge/skills/review', 'skill']);
    expect(inside('.mcp.json')).toBe('TOKEN-1');
    expect(inside('.forge/skills/review/scripts/run.sh')).toBe('echo');
    expect(statSync(join(path, '.mcp.json')).mode & 0o222).toBe(0);
    expect(statSync(join(path, '.forge/skills/review/scripts/run.sh')).mode & 0o777).toBe(0o555);
    expect((await scene.workspaces.probe(scene.spec)).dirty).toBe(false);
  });

  test('no checkpoint has them, whatever the agent made of them', async () => {
    await place(['.mcp.json', 'mcp.json'], ['.tool/settings.json', 'mcp.json']);
    await rm(join(path, '.mcp.json'));
    await mkdir(join(path, '.mcp.json'));
    await writeFile(join(path, '.mcp.json', 'inner'), 'x');
    await writeFile(join(path, 'real.txt'), 'real');
    expect(changed((await checkpoint()).head.sha)).toBe('real.txt');
  });

  test('nor has any commit of the branch, also when the agent committed them', async () => {
    await place(['.mcp.json', 'mcp.json']);
    scene.run(['add', '-f', '.mcp.json'], path);
    scene.run(['commit', '-q', '-m', 'all of it'], path);
    await writeFile(join(path, 'real.txt'), 'real');
    const { head } = await checkpoint();
    expect(changed(head.sha)).toBe('real.txt');
    const history = scene.run(['log', '-p', '--format=%s', `${scene.spec.baseSha}..${head.sha}`]);
    expect(history).not.toContain('TOKEN-1');
    expect(inside('.mcp.json')).toBe('TOKEN-1');
  });

  test('they are as their source is now, and go when they are not asked for any more', async () => {
    await place(['.mcp.json', 'mcp.json'], ['.forge/skills/review', 'skill']);
    await writeFile(file('mcp.json'), 'TOKEN-2');
    await place(['.mcp.json', 'mcp.json']);
    expect(inside('.mcp.json')).toBe('TOKEN-2');
    expect(existsSync(join(path, '.forge/skills/review'))).toBe(false);
    await place();
    expect(existsSync(join(path, '.mcp.json'))).toBe(false);
    await writeFile(join(path, '.mcp.json'), 'mine');
    expect(changed((await checkpoint()).head.sha)).toBe('.mcp.json');
  });

  test.each([
    ['readme.md', 'mcp.json', 'readme.md is tracked by git'],
    ['src', 'mcp.json', 'src is tracked by git'],
    ['../out', 'mcp.json', 'is no path below the workspace'],
    ['a/.git/config', 'mcp.json', 'is no path below the workspace'],
    ['.mcp.json', 'gone.json', 'gone.json, which is to be placed as .mcp.json, is missing'],
    ['readme.md/x', 'mcp.json', 'is not a directory of its own'],
  ])('%s from %s is refused', async (at, name, problem) => {
    await expect(place([at, name])).rejects.toThrow(problem);
  });

  test('no link of the agent’s is followed', async () => {
    await mkdir(file('elsewhere'));
    await symlink(file('elsewhere'), join(path, '.tool'));
    await expect(place(['.tool/settings.json', 'mcp.json'])).rejects.toThrow('is not a directory of its own');
    expect(existsSync(file('elsewhere/settings.json'))).toBe(false);
  });
});
