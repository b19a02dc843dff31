/** Which local branch is trunk, and where it is. A remote is never asked; only the name of its default branch counts. */
import { UserError } from '../../errors.ts';
import type { Git } from '../../git/git.ts';
import { resolve } from '../../git/objects.ts';

export async function trunkName(git: Git, configured: string | null): Promise<string> {
  if (
    (await resolve(git, 'HEAD')) === null &&
    (await git(['rev-list', '-n', '1', '--branches'])).stdout === ''
  ) {
    throw new UserError(
      'The repository has no commits yet, so there is nothing to branch from.',
      'Make a first one: git commit --allow-empty -m "Start"',
    );
  }
  if (configured !== null) {
    if (await exists(git, configured)) return configured;
    throw new UserError(
      `There is no branch ${configured}.`,
      `Make it (git branch ${configured}) or name another as trunk.`,
    );
  }
  for (const name of [
    await remoteDefault(git),
    await configuredDefault(git),
    'main',
    'master',
    await current(git),
  ]) {
    if (name !== null && (await exists(git, name))) return name;
  }
  throw new UserError(
    "Can't tell which branch is trunk: HEAD is detached and there is no main or master.",
    'Check out the branch that merges should land on.',
  );
}

async function exists(git: Git, branch: string): Promise<boolean> {
  return (await resolve(git, `refs/heads/${branch}`)) !== null;
}

async function remoteDefault(git: Git): Promise<string | null> {
  const answer = await git(['symbolic-ref', '--quiet', 'refs/remotes/origin/HEAD'], { allow: [1, 128] });
  return answer.stdout.trim().replace(/^refs\/remotes\/origin\//, '') || null;
}

async function configuredDefault(git: Git): Promise<string | null> {
  return (await git(['config', '--get', 'init.defaultBranch'], { allow: [1] })).stdout.trim() || null;
}

async function current(git: Git): Promise<string | null> {
  const answer = await git(['symbolic-ref', '--quiet', '--short', 'HEAD'], { allow: [1] });
  return answer.stdout.trim() || null;
}
