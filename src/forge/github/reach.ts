/** Why the repository itself can't be worked with any more, in words a person can act on; null when it can. */
import type { Place } from './place.ts';
import { repositoryShape } from './shapes.ts';

export async function whyOutOfReach({ client, at }: Pick<Place, 'client' | 'at'>): Promise<string | null> {
  const name = `${at.owner}/${at.repo}`;
  const repository = await client.get('/repos/{owner}/{repo}', at, repositoryShape);
  if (repository === null)
    return `GitHub shows this token no repository ${name} any more: it was deleted, transferred or made private, or the token lost its rights.`;
  if (repository.archived)
    return `${name} is archived: nothing can be pushed or merged until it is unarchived.`;
  if (repository.permissions && !repository.permissions.push)
    return `This token may not push to ${name} any more: give its account the role Write again.`;
  return null;
}
