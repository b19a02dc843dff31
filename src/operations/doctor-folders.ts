/** Whether the loop can write where it has to, and how much room is left there. */
import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Context } from '../context.ts';
import type { Check } from './doctor.ts';

const GIB = 1024 ** 3;
/** Where even a small commit may fail. */
const NEARLY_NONE_BYTES = 64 * 1024 ** 2;

export async function folders(context: Context): Promise<Check[]> {
  const { problem } = await context.settings();
  const state = dirname((await context.places()).log('task', ''));
  const places = [
    context.root,
    context.git.gitDir,
    context.forgeDir,
    state,
    // Without settings nobody knows where workspaces will be.
    ...(!problem || problem.kind === 'missing' ? [(await context.tools()).workspaceRoot] : []),
  ];
  // Of a folder that is not there yet, the nearest one above it tells: the first run makes it.
  const there = [...new Set(await Promise.all(places.map(nearest)))];
  const refused = (await Promise.all(there.map(writeCheck))).flatMap((check) => check ?? []);
  const writable: Check = {
    name: 'folders',
    level: 'ok',
    what: 'repository, .forge, state and worktrees can be written',
    fix: null,
  };
  return [...(refused.length > 0 ? refused : [writable]), ...(await spaceChecks(there))];
}

export async function writeCheck(folder: string): Promise<Check | null> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    const { why, fix } = REFUSALS[(error as NodeJS.ErrnoException).code ?? ''] ?? {
      why: 'this user may not write there',
      fix: `Make it writable: chown or chmod u+w ${folder}`,
    };
    return { name: 'folders', level: 'fail', what: `${folder} can't be written: ${why}`, fix };
  }
}

const REFUSALS: Record<string, { why: string; fix: string }> = {
  EROFS: { why: 'its file system is read-only', fix: 'Mount it writable.' },
  ENOTDIR: { why: 'a file is in its place', fix: 'Move that file away.' },
};

/** Folders of one disk have one line. */
async function spaceChecks(there: readonly string[]): Promise<Check[]> {
  const checks = new Map<number, Check>();
  for (const folder of there) {
    // What can't even be looked at has its line.
    const found = await stat(folder).catch(() => null);
    if (!found || checks.has(found.dev)) continue;
    const { bavail, bsize } = await statfs(folder);
    checks.set(found.dev, spaceCheck(folder, bavail * bsize));
  }
  return [...checks.values()];
}

export function spaceCheck(folder: string, bytes: number): Check {
  const left = bytes < GIB ? `${Math.floor(bytes / 1024 ** 2)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`;
  const what = `${left} free at ${folder}`;
  if (bytes >= GIB) return { name: 'disk', level: 'ok', what, fix: null };
  const level = bytes < NEARLY_NONE_BYTES ? 'fail' : 'warn';
  return { name: 'disk', level, what: `only ${what}`, fix: 'Free some space.' };
}

async function nearest(path: string): Promise<string> {
  try {
    await access(path, constants.F_OK);
    return path;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) return path;
    return nearest(dirname(path));
  }
}
