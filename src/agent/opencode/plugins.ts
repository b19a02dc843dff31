/**
 * Plugins that a workspace brings along. OpenCode runs them with its own rights whatever it is told: switching off the
 * project's settings and plugins keeps one half of it from them and not the other. A branch must not configure the agent
 * that works on it, so where there are any, OpenCode is not started.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { entriesBelow, textBelow } from '../stranger-files.ts';
import { readJsonc } from './jsonc.ts';

/** Why OpenCode must not be started here; null when it may. */
export async function refusedWorkspace(cwd: string): Promise<string | null> {
  const found = [...(await pluginFiles(cwd)), ...(await settingsWithPlugins(cwd))];
  return found.length === 0
    ? null
    : `the workspace has ${found.join(', ')}: OpenCode would run such plugins of the branch with its own rights, so it was not started. Take them out of the repository, or let another agent work on it`;
}

async function pluginFiles(cwd: string): Promise<string[]> {
  const folders = ['plugin', 'plugins'].map((name) => join('.opencode', name));
  const found = await Promise.all(
    folders.map(async (folder) => {
      // Of one that is a link OpenCode would take what it leads to.
      const entries = await entriesBelow(cwd, folder, 1).catch(() => null);
      if (entries === null) return [folder];
      return entries.flatMap(({ name }) => (/\.[jt]s$/.test(name) ? [name] : []));
    }),
  );
  return found.flat();
}

const NAMES = ['opencode.json', 'opencode.jsonc'];
const plain = z.object({ plugin: z.array(z.never()).optional(), plugins: z.array(z.never()).optional() });

/** What can't be read is taken for one that has some. */
async function settingsWithPlugins(cwd: string): Promise<string[]> {
  const found: string[] = [];
  for (const path of [...NAMES, ...NAMES.map((name) => join('.opencode', name))]) {
    const text = await textBelow(cwd, path).catch(() => '');
    if (text !== null && !plain.safeParse(readJsonc(text)).success) found.push(path);
  }
  return found;
}
