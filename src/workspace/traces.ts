/** What the loop left outside its database: by it one knows that there was one. */
import { readdirSync } from 'node:fs';
import type { Git } from '../git/git.ts';

/** In words, one for each kind; `folders` hold one entry for each task. */
export async function tracesOfWork(git: Git, folders: readonly string[]): Promise<string[]> {
  const refs = await git(['for-each-ref', '--format=%(refname)', 'refs/forge']);
  // What is kept for replays is of work that is done.
  const ref =
    refs.stdout
      .trim()
      .split('\n')
      .find((name) => !/^refs\/forge\/[^/]+\/replay\//.test(name)) ?? '';
  const taken = folders.filter((folder) => entries(folder) > 0);
  return [
    ...(ref === '' ? [] : [`the repository has its refs (${ref})`]),
    ...taken.map((folder) => `${folder} has what tasks left`),
  ];
}

function entries(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}
