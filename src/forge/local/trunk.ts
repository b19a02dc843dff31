/** Which local branch is trunk, and where it is. A remote is never asked; only the name of its default branch counts. */
import { UserError } from '../../errors.ts';
import { currentBranch, type Git, remoteDefault } from '../../git/git.ts';
import { resolve } from '../../git/objects.ts';

/** `remembered` is what the loop worked with so far; without a setting it stays. */
export async function trunkName(
  git: Git,
  configured: string | null,
  remembered: string | null = null,
): Promise<string> {
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
      `Make it (git branch ${configured}) or name another as tracker.trunk in WORKFLOW.md.`,
    );
  }
  if (remembered !== null) {
    if (await exists(git, remembered)) return remembered;
    throw new UserError(
      `The branch ${remembered}, on which work landed so far, is gone.`,
      `Restore it (git branch ${remembered} <commit>). If it has another name now, set tracker.trunk to that in WORKFLOW.md, run, and accept it with \`forge-loop resume\`.`,
    );
  }
  for (const name of [
    await remoteDefault(git),
    await configuredDefault(git),
    'main',
    'master',
    await currentBranch(git),
  ]) {
    if (name !== null && (await exists(git, name))) return name;
  }
  throw new UserError(
    "Can't tell which branch is trunk: HEAD is detached and there is no main or master.",
    'Name the branch that merges should land on as tracker.trunk in WORKFLOW.md.',
  );
}

async function exists(git: Git, branch: string): Promise<boolean> {
  return (await resolve(git, `refs/heads/${branch}`)) !== null;
}

async function configuredDefault(git: Git): Promise<string | null> {
  return (await git(['config', '--get', 'init.defaultBranch'], { allow: [1] })).stdout.trim() || null;
}
