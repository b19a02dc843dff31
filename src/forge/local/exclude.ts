/** Keeps what the loop writes out of everybody's `git status`, without touching a file that people track. */
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Git } from '../../git/git.ts';
import { readIfThere, replaceFile } from './file.ts';

/** Idempotent. The file is the repository's own, so it holds in every linked worktree. */
export function ensureExcluded(git: Git): void {
  const path = join(git.gitDir, 'info', 'exclude');
  const before = readIfThere(path) ?? '';
  if (before.split(/\r?\n/).some((line) => PATTERNS.includes(line.trim()))) return;
  mkdirSync(dirname(path), { recursive: true });
  const gap = before === '' || before.endsWith('\n') ? '' : '\n';
  replaceFile(path, `${before}${gap}/.forge/\n`);
}

const PATTERNS = ['/.forge/', '/.forge', '.forge/', '.forge'];
