/**
 * The one way the loop runs git on the host.
 *
 * Hooks path empty, fsmonitor off, configured filters blanked, submodules ignored, no prompts, no pager, no inherited
 * GIT_* variables; the repository is always named explicitly and is never a directory an agent can write to.
 */
import { UserError } from '../errors.ts';
import { createStarter } from '../process/starter.ts';
import { builtEnvironment, protections } from './protection.ts';
import { type CommitObject, createReader } from './reader.ts';
import { createRefWriter, REF_WRITER, type RefMove } from './ref-writer.ts';
import { type Invocation, run, runPiped } from './run.ts';

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
  /** Where HEAD and the index of this checkout are: the same as gitDir, except in a linked worktree. */
  readonly ownDir: string;
  /** The operator's checkout; null for a bare repository. */
  readonly worktree: string | null;
  (args: readonly string[], options?: GitOptions): Promise<GitResult>;
  /** Feeds one git's output to another, byte for byte; answers with what the second one said. */
  pipe(from: GitCommand, to: GitCommand): Promise<GitResult>;
  /** The id of the object a full name (`refs/…`, an id, either with `^{tree}`) stands for now; null when there is none. */
  resolve(name: string): Promise<string | null>;
  resolveAll(names: readonly string[]): Promise<(string | null)[]>;
  /** Null when no commit of the repository has this id. */
  commit(sha: string): Promise<CommitObject | null>;
  /** The text of the file a name (`<commit>:<path>`) stands for; null when it is no file, or not there. */
  text(name: string): Promise<string | null>;
  /** How long each of these objects is; null for one that is not there. */
  sizes(shas: readonly string[]): Promise<(number | null)[]>;
  /** All or nothing, never through a symbolic ref. Throws GitFailed when one is not where it should be. */
  moveRefs(moves: readonly RefMove[]): Promise<void>;
  /** Ends the processes it keeps open and waits for them. They would end with this process anyway. */
  close(): Promise<void>;
}

/** Finds the repository around `cwd`. One without commits is fine; no repository is a UserError. */
export async function openGit(cwd: string): Promise<Git> {
  const found = await locate(cwd);
  const guard = await protections(found.ownDir);
  const base = { ...builtEnvironment(process.env), ...guard };

  const invocation = (args: readonly string[], options: GitOptions = {}): Invocation => {
    const worktree = options.env?.GIT_WORK_TREE ?? found.worktree;
    const env: Record<string, string> = { GIT_DIR: found.ownDir, ...options.env };
    if (worktree !== null) env.GIT_WORK_TREE = worktree;
    for (const name of Object.keys(guard)) delete env[name];
    return {
      args: withoutDiffPrograms(args),
      cwd: options.cwd ?? worktree ?? found.commonDir,
      base,
      env,
      input: options.input,
      allow: options.allow ?? [],
    };
  };
  const companion = (args: readonly string[]) => () => {
    const { cwd, env } = invocation(args);
    return { argv: ['git', ...args] as [string, ...string[]], cwd, env: { ...base, ...env } };
  };

  const starter = createStarter(() => base);
  const reader = createReader(companion(['cat-file', '--batch-command']), found.commonDir);
  const refs = createRefWriter(companion(REF_WRITER));
  const git = (args: readonly string[], options?: GitOptions) => run(invocation(args, options), starter);
  const pipe = (from: GitCommand, to: GitCommand) =>
    runPiped(invocation(from.args, from.options), invocation(to.args, to.options));
  return Object.assign(git, {
    gitDir: found.commonDir,
    ownDir: found.ownDir,
    worktree: found.worktree,
    pipe,
    resolve: reader.resolve,
    resolveAll: reader.resolveAll,
    commit: reader.commit,
    text: reader.text,
    sizes: reader.sizes,
    moveRefs: refs.move,
    close: async () => void (await Promise.all([starter.close(), reader.close(), refs.close()])),
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

export interface Identity {
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
    run(
      {
        args: ['rev-parse', '--path-format=absolute', ...names],
        cwd,
        base: builtEnvironment(process.env),
        env: {},
        input: undefined,
        allow: [128],
      },
      null,
    );
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
