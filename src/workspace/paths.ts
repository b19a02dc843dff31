/**
 * Where a workspace is: `<root>/<repository key>/<issue>-<slug>-<task>`.
 *
 * The same task always gets the same path, and no two tasks or repositories share one: a name that had to be changed
 * to be safe carries a hash of what it was.
 */

import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { digestOf } from '../core/text/digest.ts';
import { UserError, WorkspaceRefused } from '../errors.ts';
import type { WorkspaceKey } from './workspace.ts';

export interface Site {
  root: string;
  repositoryKey: string;
}

export function workspacePath(site: Site, spec: Pick<WorkspaceKey, 'task' | 'issue' | 'slug'>): string {
  const parts = [spec.issue === null ? null : String(spec.issue), safeName(spec.slug), safeName(spec.task)];
  return join(site.root, site.repositoryKey, parts.filter((part) => part !== null).join('-'));
}

/** In the user's state directory: a temp directory loses work at the next reboot. */
export function defaultRoot(env: NodeJS.ProcessEnv = process.env): string {
  const state = env.XDG_STATE_HOME;
  const base = state && isAbsolute(state) ? state : join(homedir(), '.local', 'state');
  return join(base, 'forge-loop', 'workspaces');
}

/** Readable, and different for two checkouts of the same name; `times` says how often it was taken before. */
export function keyOfPath(topLevel: string, times = 0): string {
  const real = realpathSync.native(topLevel);
  const name = real.endsWith('.git') ? basename(real, '.git') || basename(dirname(real)) : basename(real);
  return `${plain(name)}-${shortHash(times === 0 ? real : `${real}\n${times}`)}`;
}

/** A single path component that is also a legal part of a ref. */
export function safeName(text: string): string {
  const safe = plain(text);
  return safe === text ? safe : `${safe}-${shortHash(text)}`;
}

/** The folder of this repository's workspaces, made when missing; never a link that leads out of the root. */
export function ensureHome(site: Site): string {
  const home = join(site.root, site.repositoryKey);
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new UserError(
      `The workspace folder ${home} can't be made: ${(error as Error).message}`,
      'Free that path or set workspace.root in WORKFLOW.md to a folder you can write to.',
      { cause: error },
    );
  }
  refuseDetour(site, home);
  return home;
}

/** Resolves every link and insists that a path is what it says, inside the root. */
export function refuseDetour(site: Site, path: string): void {
  const actual = realpathSync.native(path);
  if (actual !== path) {
    throw new WorkspaceRefused(
      `${path} leads to ${actual} through a link; a workspace stays inside ${site.root}.`,
    );
  }
}

/** The root with its own links resolved, as far as it exists: the operator may well keep it behind one. */
export function realRoot(root: string): string {
  const absolute = resolve(root);
  try {
    return realpathSync(absolute);
  } catch (error) {
    const parent = dirname(absolute);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === absolute) return absolute;
    return join(realRoot(parent), basename(absolute));
  }
}

/** A workspace being made or removed: nothing in it that the repository does not have. */
export function transientPath(path: string, what: 'making' | 'removing'): string {
  return join(dirname(path), `.${what}-${basename(path)}`);
}

export function isTransient(name: string): boolean {
  return name.startsWith('.making-') || name.startsWith('.removing-');
}

/** What is in the way of making a workspace. A file or link is somebody's: it is named, never removed. */
export function occupancy(path: string): 'free' | 'directory' {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 'free';
  if (found.isDirectory()) return 'directory';
  throw new WorkspaceRefused(
    `${path} should be the task's workspace but is ${found.isSymbolicLink() ? 'a link' : 'a file'}. Move it away and try again.`,
  );
}

function plain(text: string): string {
  const safe = text
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60);
  return safe || 'x';
}

const shortHash = (text: string): string => digestOf(text, 8);
