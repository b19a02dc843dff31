/** Makes an empty repository with an identity of its own, whatever the user's configuration says or lacks. */

import { builtEnvironment } from './environment.ts';
import { type Git, openGit } from './git.ts';
import { run } from './run.ts';

export async function initRepository(
  folder: string,
  identity: { name: string; email: string },
): Promise<Git> {
  await run({
    args: ['init', '--quiet', '--template=', '--initial-branch=main', folder],
    cwd: folder,
    env: builtEnvironment(process.env),
  });
  const git = await openGit(folder);
  await git(['config', 'user.name', identity.name]);
  await git(['config', 'user.email', identity.email]);
  return git;
}
