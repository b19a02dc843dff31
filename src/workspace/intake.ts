/**
 * Brings commits made in a workspace into the repository.
 *
 * The workspace's object directory is only ever the source of a pack. What arrives is hashed again and checked by
 * git's own strict rules, and every question about it is asked afterwards, of the repository alone: a forged pack
 * index or commit graph beside the agent's objects can say what it likes.
 */
import { shortSha } from '../core/words/short-sha.ts';
import { GitFailed, isDiskFault, WorkspaceRefused } from '../errors.ts';
import { changesBetween } from '../git/changes.ts';
import type { Git } from '../git/git.ts';
import { resolve } from '../git/objects.ts';
import type { Place } from './place.ts';

export async function takeIn(
  git: Git,
  place: Place,
  wanted: readonly (string | null)[],
  known: readonly (string | null)[],
): Promise<void> {
  const have = new Set(known.filter((sha) => sha !== null));
  const missing = [...new Set(wanted)].filter((sha) => sha !== null && !have.has(sha)) as string[];
  if (missing.length === 0) return;
  const range = `${[...missing, ...[...have].map((sha) => `^${sha}`)].join('\n')}\n`;
  const what = `${missing.join(' and ')} in ${place.worktree} is not a commit with its whole history`;
  await refusing(what, async () => {
    if (place.objects !== null) await transfer(git, place.objects, range);
    await git(['rev-list', '--objects', '--quiet', '--stdin'], { input: range });
  });
  for (const sha of missing)
    if ((await resolve(git, sha)) === null)
      throw new WorkspaceRefused(`${what}: ${shortSha(sha)} is something else`);
}

/** A commit of ours is sound by construction but for this one file, whose settings can be commands. */
export async function refuseUnsoundModules(
  git: Git,
  place: Place,
  sha: string,
  parent: string,
): Promise<void> {
  const changed = await changesBetween(git, parent, sha);
  if (!changed.some(({ path }) => path === '.gitmodules' || path.startsWith('.gitmodules/'))) return;
  await refusing(`.gitmodules in ${place.worktree} is refused by git`, () =>
    git.pipe(
      { args: ['pack-objects', '--revs', '--stdout', '-q'], options: { input: `${sha}\n^${parent}\n` } },
      { args: ['unpack-objects', '-q', '--strict'] },
    ),
  );
}

/** What git objects to is the workspace's fault; a full disk is not. */
async function refusing(what: string, step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof GitFailed) || isDiskFault(error)) throw error;
    throw new WorkspaceRefused(`${what}: ${error.stderr.trim().split('\n')[0]}`, { cause: error });
  }
}

const DISTRUST = [
  '-c',
  'core.commitGraph=false',
  '-c',
  'core.multiPackIndex=false',
  '-c',
  'pack.useBitmaps=false',
];

/** Few objects are better loose than as one more pack file per turn. */
const UNPACK_LIMIT = 100;

async function transfer(git: Git, objects: string, range: string): Promise<void> {
  const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(objects) };
  const counted = await git([...DISTRUST, 'rev-list', '--objects', '--count', '--stdin'], {
    env,
    input: range,
  });
  const count = Number(counted.stdout.trim());
  if (count === 0) return;
  await git.pipe(
    { args: [...DISTRUST, 'pack-objects', '--revs', '--stdout', '-q'], options: { env, input: range } },
    {
      args:
        count < UNPACK_LIMIT ? ['unpack-objects', '-q', '--strict'] : ['index-pack', '--stdin', '--strict'],
    },
  );
}

/** The variable is a list: a path with a colon would be taken for two. */
function quoted(path: string): string {
  return `"${path.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n')}"`;
}
