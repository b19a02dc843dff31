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

/** The Node that its package asks for, where the one that runs us is older; else null. */
export async function newerNodeFor(
  argv: readonly string[],
  running = process.versions.node,
): Promise<string | null> {
  const wanted = (await packageOf(argv.at(-1) ?? ''))?.engines?.node ?? '';
  return isOlder(running, wanted) ? wanted : null;
}

/** Only of a range that is nothing but a lowest version: `>=22`, `>=20.19`. */
export function isOlder(version: string, range: string): boolean {
  const [, lowest] = /^>=\s*v?(\d+(?:\.\d+){0,2})$/.exec(range.trim()) ?? [];
  if (lowest === undefined) return false;
  const parts = (text: string): number[] => text.split('.').map(Number);
  const [have, want] = [parts(version), parts(lowest)];
  const differs = want.findIndex((part, index) => part !== (have[index] ?? 0));
  return differs >= 0 && (have[differs] ?? 0) < (want[differs] ?? 0);
}

const manifest = z.object({
  version: z.string(),
  engines: z.object({ node: z.string().optional() }).optional().catch(undefined),
});

async function packagedVersion(file: string): Promise<string | null> {
  return (await packageOf(file))?.version ?? null;
}

async function packageOf(file: string): Promise<z.output<typeof manifest> | null> {
  const path = await realpath(file).catch(() => '');
  const [, home] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  if (home === undefined) return null;
  const { data } = manifest.safeParse(
    await readFile(join(home, 'package.json'), 'utf8')
      .then(JSON.parse)
      .catch(() => null),
  );
  return data ?? null;
}

async function toldVersion([program, ...args]: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program ?? '', [...args, '--version'], { timeout: 30_000 }, (error, stdout) =>
      resolve(error ? null : (/\d+\.\d+\.\S+/.exec(stdout)?.[0] ?? null)),
    );
  });
}
