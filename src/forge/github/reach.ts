/** Why the repository itself can't be worked with any more, in words a person can act on; null when it can. */
import type { Place } from './place.ts';
import { type RepositoryRow, repositoryShape } from './shapes.ts';

type Asking = Pick<Place, 'client' | 'at' | 'self'>;

export async function whyOutOfReach(place: Asking): Promise<string | null> {
  const { client, at } = place;
  const name = `${at.owner}/${at.repo}`;
  const repository = await client.get('/repos/{owner}/{repo}', at, repositoryShape);
  if (repository === null)
    return `GitHub shows this token no repository ${name} any more: it was deleted, transferred or made private, or the token lost its rights.`;
  if (repository.archived)
    return `${name} is archived: nothing can be pushed or merged until it is unarchived.`;
  if (await isReader(place, repository))
    return `This token may not push to ${name} any more: give its account the role Write again.`;
  return null;
}

/** The permissions are those of a person's account: of an App, which has none, they say nothing. */
export async function isReader(
  { self }: Pick<Place, 'self'>,
  { permissions }: RepositoryRow,
): Promise<boolean> {
  return permissions !== undefined && !permissions.push && !(await self()).endsWith('[bot]');
}
