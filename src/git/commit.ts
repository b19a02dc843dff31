/** Makes a commit of a tree, in the operator's name. No ref, index or work tree is touched. */
import { UserError } from '../errors.ts';
import { type Git, identity } from './git.ts';

export async function commitTree(
  git: Git,
  commit: { tree: string; parents: readonly string[]; message: string; author?: Record<string, string> },
): Promise<string> {
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
  };
  const parents = commit.parents.flatMap((parent) => ['-p', parent]);
  const input = `${commit.message.trimEnd()}\n`;
  return (await git(['commit-tree', commit.tree, ...parents, '-F', '-'], { env, input })).stdout.trim();
}
