/**
 * The one way the loop runs git on the host.
 *
 * Hooks path empty, fsmonitor off, configured filters blanked (but that of Git LFS), submodules ignored, no prompts, no
 * pager, no inherited GIT_* variables; the repository is always named explicitly and is never a directory an agent can write to.
 */
import { UserError } from '../errors.ts';
import { builtEnvironment } from './environment.ts';
import { protections } from './protection.ts';
import { createReader, READER } from './reader.ts';
import { type RefMove, refUpdates } from './refs.ts';
import { type Invocation, run, runPiped } from './run.ts';

interface GitOptions {
  /** Extra environment: GIT_INDEX_FILE, GIT_WORK_TREE, GIT_ALTERNATE_OBJECT_DIRECTORIES, identities. */
  env?: Record<string, string>;
  input?: string | Buffer;
  /** Exit codes besides 0 that are answers, not failures. */
  allow?: readonly number[];
  cwd?: string;
  /** Git LFS may ask its server. Only ever in the operator's own checkout. */
  online?: boolean;
  /** Ends it, and what it started, when it takes longer. */
  timeoutMs?: number;
}

export interface GitResult {
  stdout: string;
  stderr: string;
  exitCode: number;
}

interface GitCommand {
  args: readonly string[];
  options?: GitOptions;
}

export interface Git {
  /** The repository's own directory (the common one, when the operator works in a linked worktree). */
  readonly gitDir: string;
  /** Where HEAD and the index of this checkout are: the same as gitDir, except in a linked worktree. */
  readonly ownDir: string;
  /** The operator's checkout; null for a bare repository. */
  readonly worktree: string | null;
  /** The operator has set Git LFS up, and its filter runs. */
  readonly lfs: boolean;
  (args: readonly string[], options?: GitOptions): Promise<GitResult>;
  /** Feeds one git's output to another, byte for byte; answers with what the second one said. */
  pipe(from: GitCommand, to: GitCommand): Promise<GitResult>;
  /** The id of the object a full name (`refs/…`, an id, either with `^{tree}`) stands for now; null when there is none. */
  resolve(name: string): Promise<string | null>;
  resolveAll(names: readonly string[]): Promise<(string | null)[]>;
  /** The text of the file (`<commit>:<path>`) or the commit a name stands for; null when it is none, or not there. */
  text(name: string, type?: 'blob' | 'commit'): Promise<string | null>;
  /** How long each of these objects is; null for one that is not there. */
  sizes(shas: readonly string[]): Promise<(number | null)[]>;
  /** All or nothing, never through a symbolic ref. Throws GitFailed when one is not where it should be. */
  moveRefs(moves: readonly RefMove[]): Promise<void>;
  /** Ends the one git it keeps open and waits for it. It would end with this process anyway. */
  close(): Promise<void>;
}

/** Finds the repository around `cwd`. One without commits is fine; no repository is a UserError. */
export async function openGit(cwd: string): Promise<Git> {
  return gitOf(await locate(cwd));
}

/** A repository by its git directory alone, wherever its own work tree is, if it has one: a submodule's, mostly. */
export async function openGitDirectory(path: string): Promise<Git> {
  return gitOf({ ownDir: path, commonDir: path, worktree: path });
}

async function gitOf(found: Located): Promise<Git> {
  const guard = await protections(found.ownDir, found.worktree);
  const base: Record<string, string> = {
    ...builtEnvironment(process.env),
    GIT_DIR: found.ownDir,
    ...(found.worktree !== null && { GIT_WORK_TREE: found.worktree }),
  };
  // Made once: to put some ninety variables together for every git takes longer than all else that precedes its start.
  const plain = { offline: { ...base, ...guard.env }, online: { ...base, ...guard.online } };

  const invocation = (args: readonly string[], options: GitOptions = {}): Invocation => {
    const env = options.online ? plain.online : plain.offline;
    const guarded = options.online ? guard.online : guard.env;
    return {
      args: withoutDiffPrograms(args),
      cwd: options.cwd ?? options.env?.GIT_WORK_TREE ?? found.worktree ?? found.commonDir,
      env: options.env ? { ...env, ...options.env, ...guarded } : env,
      input: options.input,
      allow: options.allow,
      timeoutMs: options.timeoutMs,
    };
  };

  const reader = createReader(invocation(READER));
  const git = (args: readonly string[], options?: GitOptions) => run(invocation(args, options));
  const pipe = (from: GitCommand, to: GitCommand) =>
    runPiped(invocation(from.args, from.options), invocation(to.args, to.options));
  return Object.assign(git, {
    gitDir: found.commonDir,
    ownDir: found.ownDir,
    worktree: found.worktree,
    lfs: guard.lfs,
    pipe,
    resolve: async (name: string) => (await reader.resolveAll([name]))[0] ?? null,
    resolveAll: reader.resolveAll,
    text: reader.text,
    sizes: reader.sizes,
    moveRefs: async (moves: readonly RefMove[]) => {
      if (moves.length > 0) await git(['update-ref', '--no-deref', '--stdin'], { input: refUpdates(moves) });
    },
    close: reader.close,
  });
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

interface Identity {
  name: string;
  email: string;
}

/** Once known it holds for this process; an identity set later is found because absence is never remembered. */
const known = new WeakMap<Git, Identity>();

async function readIdentity(git: Git): Promise<Identity | null> {
  const env: Record<string, string> = {};
  for (const name of ['GIT_AUTHOR_NAME', 'GIT_AUTHOR_EMAIL', 'GIT_CONFIG_GLOBAL']) {
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
  ownDir: string;
  commonDir: string;
  worktree: string | null;
}

async function locate(cwd: string): Promise<Located> {
  const asked = ['--git-dir', '--git-common-dir', '--show-toplevel'];
  const ask = (names: readonly string[]) =>
    run({
      args: ['rev-parse', '--path-format=absolute', ...names],
      cwd,
      env: builtEnvironment(process.env),
      allow: [128],
    });
  const found = await ask(asked);
  if (found.stdout === '') {
    if (/not a git repository/.test(found.stderr)) {
      throw new UserError(
        `${cwd} is not inside a git repository.`,
        'Change to the repository forge-loop should work on, or make one with: git init',
      );
    }
    throw new UserError(`git can't open the repository at ${cwd}: ${found.stderr.trim()}`);
  }
  const lines = found.stdout.split('\n').slice(0, -1);
  // A bare repository has no top level; a name with a line break in it can only be told by asking for it alone.
  const isPlain = lines.length === asked.length - (found.exitCode === 0 ? 0 : 1);
  const one = async (name: string): Promise<string | null> => {
    const alone = await ask([name]);
    return alone.exitCode === 0 ? alone.stdout.replace(/\n$/, '') : null;
  };
  const [ownDir, commonDir, worktree] = isPlain ? lines : await Promise.all(asked.map(one));
  return { ownDir: ownDir!, commonDir: commonDir!, worktree: worktree ?? null };
}

const SHOWS_DIFFS = new Set(['diff', 'diff-tree', 'diff-index', 'diff-files', 'log', 'show']);

/** External diff programs and textconv can't be blanked by configuration, only declined where a diff is shown. */
function withoutDiffPrograms(args: readonly string[]): readonly string[] {
  const at = args.findIndex((arg, index) => !arg.startsWith('-') && args[index - 1] !== '-c');
  if (at < 0 || !SHOWS_DIFFS.has(args[at]!)) return args;
  return [...args.slice(0, at + 1), '--no-ext-diff', '--no-textconv', ...args.slice(at + 1)];
}

/** The default branch of `origin`, as it was when it was last asked. */
export async function remoteDefault(git: Git): Promise<string | null> {
  const answer = await git(['symbolic-ref', '--quiet', 'refs/remotes/origin/HEAD'], { allow: [1, 128] });
  return answer.stdout.trim().replace(/^refs\/remotes\/origin\//, '') || null;
}

/** Null when HEAD is detached. */
export async function currentBranch(git: Git): Promise<string | null> {
  const answer = await git(['symbolic-ref', '--quiet', '--short', 'HEAD'], { allow: [1] });
  return answer.stdout.trim() || null;
}
