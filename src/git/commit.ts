/** Makes a commit of a tree, in the operator's name. No ref, index or work tree is touched. */
import { GitFailed, SigningFailed, UserError } from '../errors.ts';
import { type Git, type GitResult, identity } from './git.ts';
import { learn } from './objects.ts';

interface NewCommit {
  tree: string;
  parents: readonly string[];
  message: string;
  author?: Record<string, string>;
  /** With the operator's key. Throws SigningFailed. */
  sign?: boolean;
  env?: Record<string, string>;
}

export async function commitTree(git: Git, commit: NewCommit): Promise<string> {
  const who = await identity(git);
  if (who === null) {
    throw new UserError(
      'git does not know who you are, so nothing can be committed.',
      'Set it with: git config user.name "Your Name" && git config user.email you@example.com',
    );
  }
  const env = {
    GIT_AUTHOR_NAME: who.name,
    GIT_AUTHOR_EMAIL: who.email,
    GIT_COMMITTER_NAME: who.name,
    GIT_COMMITTER_EMAIL: who.email,
    ...commit.author,
    ...commit.env,
  };
  const parents = commit.parents.flatMap((parent) => ['-p', parent]);
  const input = `${commit.message.trimEnd()}\n`;
  const made = commit.sign
    ? await signed(git, [commit.tree, ...parents], { env, input })
    : await git(['commit-tree', commit.tree, ...parents, '-F', '-'], { env, input });
  const sha = made.stdout.trim();
  learn(git, sha, commit);
  return sha;
}

const SIGNING_PATIENCE_MS = 60_000;

/** By the program and the key of the operator's configuration. Nobody is there to be asked for a passphrase. */
async function signed(
  git: Git,
  args: readonly string[],
  options: { env: Record<string, string>; input: string },
): Promise<GitResult> {
  try {
    return await git(['commit-tree', '-S', ...args, '-F', '-'], {
      ...options,
      timeoutMs: SIGNING_PATIENCE_MS,
    });
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error;
    const said = error.stderr.trim().split('\n').slice(0, 3).join(' ');
    const why =
      error.exitCode === null ? 'the program did not answer; it may be asking for a passphrase' : said;
    throw new SigningFailed(
      `commit.gpgsign is set, and git could not sign a commit without asking anybody: ${why}. Unlock the key in its agent, or use one without a passphrase; \`forge-loop doctor\` tries it.`,
      { cause: error },
    );
  }
}
