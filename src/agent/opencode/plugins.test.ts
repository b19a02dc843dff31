import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { refusedWorkspace } from './plugins.ts';

let cwd = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'forge-plugins-'));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const put = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(join(cwd, path)), { recursive: true });
  await writeFile(join(cwd, path), text);
};

test.each([
  ['.opencode/plugin/a.js', ''],
  ['.opencode/plugins/a.ts', ''],
  ['opencode.json', '{"plugin": ["./a.js"]}'],
  ['opencode.jsonc', '{ // ours\n "plugins": ["a",], }'],
  ['.opencode/opencode.json', '{"\\u0070lugin": ["a"]}'],
  ['opencode.json', 'not to be read'],
  ['opencode.json', ''],
])('a workspace with %s %j is refused, by name', async (path, text) => {
  await put(path, text);
  expect(await refusedWorkspace(cwd)).toContain(path);
});

test.each([
  ['.opencode/agent/a.md', ''],
  ['.opencode/plugin/README.md', ''],
  ['opencode.json', '{"model": "m", "plugin": []}'],
])('one with %s is not', async (path, text) => {
  await put(path, text);
  expect(await refusedWorkspace(cwd)).toBeNull();
});
