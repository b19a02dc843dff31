/** What landed, seen as a stranger sees it: in a fresh clone of trunk, with the commands run by hand. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { World } from './world.ts';

export interface Trunk {
  readonly path: string;
  git(...args: string[]): string;
  read(file: string): string;
  files(): string[];
  /** What each of these commands said that did not pass. Empty: trunk is green. */
  red(...commands: string[]): string[];
}

/** `more`: further arguments of the clone, as for submodules. */
export function cloneOfTrunk(world: World, branch = 'main', ...more: string[]): Trunk {
  const path = mkdtempSync(join(world.folder, 'by hand '));
  const { env } = world;
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: path, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  git('clone', '--quiet', '--branch', branch, ...more, pathToFileURL(world.root).href, '.');
  return {
    path,
    git,
    read: (file) => readFileSync(join(path, file), 'utf8'),
    files: () => git('-c', 'core.quotePath=false', 'ls-files').trim().split('\n'),
    red: (...commands) =>
      commands.flatMap((command) => {
        const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', command], {
          cwd: path,
          env,
          encoding: 'utf8',
        });
        return status === 0 ? [] : [`${command} exited with ${status}: ${stdout}${stderr}`];
      }),
  };
}

/** The subjects of trunk's commits, the oldest first, without those the test itself made before. */
export function landedOn(world: World, since: string, branch = 'main'): string[] {
  const subjects = world.git('log', '--reverse', '--format=%s', `${since}..${branch}`).trim();
  return subjects === '' ? [] : subjects.split('\n');
}

/** Turns that were asked of an agent, and so were paid for: by role, in all tasks. */
export async function paid(world: World): Promise<{ coder: number; critic: number }> {
  const started = (await world.events()).flatMap((one) =>
    one.type === 'turn_started' ? [one.data.role] : [],
  );
  const count = (role: string): number => started.filter((one) => one === role).length;
  return { coder: count('coder'), critic: count('critic') };
}
