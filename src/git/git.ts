/**
 * The one way the loop runs git on the host.
 *
 * Hooks path empty, fsmonitor off, configured filters blanked, submodules ignored, no prompts, no pager, no inherited
 * GIT_* variables; the repository is always named explicitly and is never a directory an agent can write to.
 */
import { UserError } from '../errors.ts';
import { builtEnvironment, protections } from './protection.ts';
import { createResolver } from './resolver.ts';
import { run, runPiped } from './run.ts';

export interface GitOptions {
  /** Extra environment: GIT_INDEX_FILE, GIT_WORK_TREE, GIT_ALTERNATE_OBJECT_DIRECTORIES, identities. */
  env?: Record<string, string>;
  input?: string | Buffer;
  /** Exit codes besides 0 that are answers, not failures. */
  allow?: readonly number[];
  cwd?: string;
}

export interface GitResult {
  stdout: string;
  stderr: string;
  exitCode: number;
}

export interface GitCommand {
  args: readonly string[];
  options?: GitOptions;
}

export interface Git {
  /** The repository's own directory (the common one, when the operator works in a linked worktree). */
  readonly gitDir: string;
  /** The operator's checkout; null for a bare repository. */
  readonly worktree: string | null;
  (args: readonly string[], options?: GitOptions): Promise<GitResult>;
  /** Feeds one git's output to another, byte for byte; answers with what the second one said. */
  pipe(from: GitCommand, to: GitCommand): Promise<GitResult>;
  /** The id of the object a full name (`refs/…`, an id, either with `^{tree}`) stands for now; null when there is none. */
  resolve(name: string): Promise<string | null>;
}

/** Finds the repository around `cwd`. One without commits is fine; no repository is a UserError. */
export async function openGit(cwd: string): Promise<Git> {
  const found = await locate(cwd);
  const guard = await protections(found.ownDir);

  const invocation = (args: readonly string[], options: GitOptions = {}) => {
    const worktree = options.env?.GIT_WORK_TREE ?? found.worktree;
    return {
      args: withoutDiffPrograms(args),
      cwd: options.cwd ?? worktree ?? found.commonDir,
      env: {
        ...builtEnvironment(process.env),
        GIT_DIR: found.ownDir,
        ...(worktree === null ? {} : { GIT_WORK_TREE: worktree }),
        ...options.env,
        ...guard,
      },
      input: options.input,
      allow: options.allow ?? [],
    };
  };

  const git = (args: readonly string[], options?: GitOptions) => run(invocation(args, options));
  const pipe = (from: GitCommand, to: GitCommand) =>
    runPiped(invocation(from.args, from.options), invocation(to.args, to.options));
  const resolve = createResolver(() => invocation(['cat-file', '--batch-check=%(objectname)']));
  return Object.assign(git, { gitDir: found.commonDir, worktree: found.worktree, pipe, resolve });
}

/**
 * The operator's identity, or null when none is configured. What git would guess from the login and the host name
 * does not count: nobody wants merged commits signed by root@localhost.
 */
export async function identity(git: Git): Promise<Identity | null> {
  const found = known.get(git) ?? (await readIdentity(git));
  if (found) known.set(git, found);
  return found;
}

export interface Identity {
  name: string;
  email: string;
}

/** Once known it holds for this process; an identity set later is found because absence is never remembered. */
const known = new WeakMap<Git, Identity>();

async function readIdentity(git: Git): Promise<Identity | null> {
  const env: Record<string, string> = {};
  for (const name of ['GIT_AUTHOR_NAME', 'GIT_AUTHOR_EMAIL']) {
    const value = process.env[name];
    if (value) env[name] = value;
  }
  const answer = await git(['-c', 'user.useConfigOnly=true', 'var', 'GIT_AUTHOR_IDENT'], {
    env,
    allow: [1, 128],
  });
  const match = /^(.+) <([^<>]+)> \d+ [+-]\d{4}$/.exec(answer.stdout.trim());
  return match ? { name: match[1]!, email: match[2]! } : null;
}

/** Splits what git prints with -z: the only form in which every path arrives as it is. */
export function nulSeparated(output: string): string[] {
  return output.split('\0').filter((part) => part !== '');
}

interface Located {
  /** Where HEAD and the index of this checkout are: the same as commonDir, except in a linked worktree. */
  ownDir: string;
  commonDir: string;
  worktree: string | null;
}

async function locate(cwd: string): Promise<Located> {
  const ask = (args: readonly string[], allow: readonly number[] = []) =>
    run({
      args: ['rev-parse', '--path-format=absolute', ...args],
      cwd,
      env: builtEnvironment(process.env),
      input: undefined,
      allow,
    });

  const own = await ask(['--git-dir'], [128]);
  if (own.exitCode !== 0) {
    if (/not a git repository/.test(own.stderr)) {
      throw new UserError(
        `${cwd} is not inside a git repository.`,
        'Change to the repository forge-loop should work on, or make one with: git init',
      );
    }
    throw new UserError(`git can't open the repository at ${cwd}: ${own.stderr.trim()}`);
  }
  const common = await ask(['--git-common-dir']);
  const top = await ask(['--show-toplevel'], [128]);
  return {
    ownDir: line(own.stdout),
    commonDir: line(common.stdout),
    worktree: top.exitCode === 0 ? line(top.stdout) : null,
  };
}

function line(output: string): string {
  return output.replace(/\n$/, '');
}

const SHOWS_DIFFS = new Set(['diff', 'diff-tree', 'diff-index', 'diff-files', 'log', 'show']);

/** External diff programs and textconv can't be blanked by configuration, only declined where a diff is shown. */
function withoutDiffPrograms(args: readonly string[]): readonly string[] {
  const at = args.findIndex((arg, index) => !arg.startsWith('-') && args[index - 1] !== '-c');
  if (at < 0 || !SHOWS_DIFFS.has(args[at]!)) return args;
  return [...args.slice(0, at + 1), '--no-ext-diff', '--no-textconv', ...args.slice(at + 1)];
}
