/** A program of the operator's: where it is, and which version. */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile, realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { z } from 'zod';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The first of that name on the PATH; null when there is none. */
export async function onPath(name: string, operator: Environment): Promise<string | null> {
  for (const folder of (operator.PATH ?? '').split(delimiter)) {
    if (folder === '') continue;
    const path = join(folder, name);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return null;
}

/** As its package says, where it is of one, since that takes no time; else as it says itself. Null when neither does. */
export async function versionOf(argv: readonly string[]): Promise<string | null> {
  return (await packagedVersion(argv.at(-1) ?? '')) ?? (await toldVersion(argv));
}

const manifest = z.object({ version: z.string() });

async function packagedVersion(file: string): Promise<string | null> {
  const path = await realpath(file).catch(() => '');
  const [, home] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  if (home === undefined) return null;
  const { data } = manifest.safeParse(
    await readFile(join(home, 'package.json'), 'utf8')
      .then(JSON.parse)
      .catch(() => null),
  );
  return data?.version ?? null;
}

async function toldVersion([program, ...args]: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program ?? '', [...args, '--version'], { timeout: 30_000 }, (error, stdout) =>
      resolve(error ? null : (/\d+\.\d+\.\S+/.exec(stdout)?.[0] ?? null)),
    );
  });
}
