/**
 * What an agent may not do in a turn, whatever it was told: publish, talk to the forge, start another loop, change
 * files outside its workspace. The agent holds no credential for any of it, and only a sandbox can enforce it; this
 * tells an honest agent early, so that it does something else.
 */
import { realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';

/** Why this shell command is refused; null when it is not. */
export function refusedCommand(command: string): string | null {
  // Words in quotes are usually text (a commit message that mentions a push), and bare ones usually commands.
  const bare = command.replace(/'[^']*'|"(?:[^"\\]|\\.)*"/g, ' "" ');
  for (const part of bare.split(/[;&|\n()`]+|\$\(/)) {
    const words = part.trim().split(/\s+/).filter(Boolean);
    const at = words.findIndex((word) => !/^\w+=/.test(word) && !BEFORE.has(word));
    const program = words[at]?.split('/').at(-1) ?? '';
    const rest = words.slice(at + 1);
    const found = REFUSED.find((one) => one.program.test(program) && (one.when?.(rest) ?? true));
    if (found) return found.why;
  }
  return null;
}

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

interface Rule {
  program: RegExp;
  when?(rest: readonly string[]): boolean;
  why: string;
}

const BEFORE = new Set(['sudo', 'env', 'exec', 'command', 'nohup', 'time', 'then', 'do', 'else', '!', '{']);
const GIT_OPTIONS_WITH_VALUE = new Set(['-C', '-c', '--git-dir', '--work-tree', '--namespace']);

function gitVerb(rest: readonly string[]): string {
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] as string;
    if (GIT_OPTIONS_WITH_VALUE.has(word)) at += 1;
    else if (!word.startsWith('-')) return word;
  }
  return '';
}

const REFUSED: readonly Rule[] = [
  {
    program: /^git$/,
    when: (rest) => ['push', 'send-pack', 'request-pull', 'send-email'].includes(gitVerb(rest)),
    why: 'do not push: commit, end your turn, and the loop publishes what passes verification',
  },
  {
    program: /^git$/,
    when: (rest) =>
      ['remote', 'filter-branch', 'filter-repo', 'update-ref', 'replace'].includes(gitVerb(rest)),
    why: 'do not change remotes, refs or history: work in files and commits on your branch',
  },
  {
    program: /^(gh|glab|hub)$/,
    why: 'the forge is not for you: pull requests, comments and merges are made by the loop',
  },
  {
    program: /^forge-loop$/,
    why: 'a loop is already running you; do not start or steer one',
  },
  {
    program: /^(npx|pnpx|bunx)$/,
    when: (rest) => rest.some((word) => /^forge-loop(@|$)/.test(word)),
    why: 'a loop is already running you; do not start or steer one',
  },
];

/** The real place of a path that may not exist yet: links on the way count. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(real(parent), path.slice(parent.length).replace(/^\/+/, ''));
  }
}
