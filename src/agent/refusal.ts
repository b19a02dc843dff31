/**
 * What an agent may not do in a turn, whatever it was told: publish, talk to the forge, start another loop, change
 * files outside its workspace. The agent holds no credential for any of it, and only a sandbox can enforce it; this
 * tells an honest agent early, so that it does something else. Commands are refused by what runs: see stand-in-scripts.ts.
 */
import { realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type { Progress } from '../core/tell/progress.ts';

/** Why a command is refused, by its kind: what to do instead. */
export const REFUSALS = {
  publish: 'do not push: commit, end your turn, and the loop publishes what passes verification',
  history: 'do not change remotes, refs or history: work in files and commits on your branch',
  forge:
    'the forge is not for you: pull requests, comments and merges are made by the loop; issue_read and its like, where you have them, read it',
  loop: 'a loop is already running you; do not start or steer one',
} as const;
export type Refusal = keyof typeof REFUSALS;

/** Whoever asks a person is told at once: no turn waits for an answer that nobody gives. */
export const QUESTION_REFUSED = {
  kind: 'refused',
  code: 'input_requested',
  tool: 'question',
  detail: '',
  why: 'nobody will answer: choose the simplest reading, say so, and proceed',
} as const satisfies Progress;

/** Why writing this file is refused; null when it is not. `roots` are where the agent may write. */
export function refusedPath(path: string, cwd: string, roots: readonly string[]): string | null {
  const target = real(isAbsolute(path) ? path : resolve(cwd, path));
  const inside = roots.some((root) => {
    const way = relative(real(root), target);
    return way === '' || (!way.startsWith('..') && !isAbsolute(way));
  });
  if (!inside) return `${path} is outside your workspace; change only files below ${cwd}`;
  const git = relative(real(cwd), target).split('/');
  return git[0] === '.git' ? 'the .git directory is not for editing; use git' : null;
}

/** The real place of a path that may not exist yet: links on the way count. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(real(parent), path.slice(parent.length).replace(/^\/+/, ''));
  }
}
