/** Commit statuses of ours: what the loop found out about one commit, where people and rules of a branch can see it. */
import { Refused } from './client.ts';
import type { Place } from './place.ts';
import { nothing, statusShape } from './shapes.ts';

export interface Statuses {
  /** Said once: a status that already stands is not repeated. A commit GitHub does not know has none. */
  set(
    sha: string,
    context: string,
    status: { state: 'success' | 'failure' | 'pending'; description: string },
  ): Promise<void>;
}

export function openStatuses({ client, at }: Place): Statuses {
  return {
    async set(sha, context, { state, description }) {
      const said = description.slice(0, 140);
      try {
        const current = await client.get(
          '/repos/{owner}/{repo}/commits/{ref}/status',
          { ...at, ref: sha, per_page: 100 },
          statusShape,
        );
        const standing = current?.statuses.find((one) => one.context === context);
        if (standing?.state === state && (standing.description ?? '') === said) return;
        await client.write(
          'POST /repos/{owner}/{repo}/statuses/{sha}',
          { ...at, sha, context, state, description: said },
          nothing,
        );
      } catch (problem) {
        if (problem instanceof Refused && problem.status === 422 && /No commit found/i.test(problem.message))
          return;
        throw problem;
      }
    },
  };
}
