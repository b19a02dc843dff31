/** The operator's own git configuration, read as their git would read it: without what we lay over it. */
import { builtEnvironment } from './environment.ts';
import { run } from './run.ts';

export type Setting = readonly [key: string, value: string];

/** From key to its last value, which is the one that counts. `file` reads that file alone. */
export async function operatorConfig(
  gitDir: string,
  pattern: string,
  file: string | null = null,
): Promise<Map<string, string>> {
  const source = file === null ? [] : ['--file', file, '--no-includes'];
  const listed = await run({
    args: ['config', ...source, '-z', '--get-regexp', pattern],
    cwd: gitDir,
    env: { ...builtEnvironment(process.env), GIT_DIR: gitDir },
    allow: [1],
  });
  const found = new Map<string, string>();
  for (const entry of listed.stdout.split('\0')) {
    if (entry === '') continue;
    const [key, ...value] = entry.split('\n');
    // A key without a value is git's way to say true.
    found.set(key!, value.length === 0 ? 'true' : value.join('\n'));
  }
  return found;
}
