/** Commit statuses of ours: what the loop found out about one commit, where people and rules of a branch can see it. */
import { Refused } from './client.ts';
import { memo } from './memo.ts';
import type { Place } from './place.ts';
import { nothing, statusShape } from './shapes.ts';

const REMEMBERED = 500;

export interface Statuses {
  /**
   * Said once: a status that already stands is not repeated; `isNew` where none can stand. A commit GitHub does not know has none, and a token that
   * may not set any keeps nothing from going on.
   */
  set(
    sha: string,
    context: string,
    status: { state: 'success' | 'failure' | 'pending'; description: string },
    isNew: boolean,
  ): Promise<void>;
}

export function openStatuses({ client, at }: Place): Statuses {
  /** Commits and contexts for which one was set, or may have been. */
  const tried = memo<string, true>(REMEMBERED);
  /** A token that may write them need not be able to read them. */
  const standing = async (sha: string) => {
    try {
      const route = '/repos/{owner}/{repo}/commits/{ref}/status';
      return await client.list(route, { ...at, ref: sha }, statusShape, 'statuses');
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 403) return [];
      throw problem;
    }
  };

  return {
    async set(sha, context, { state, description }, isNew) {
      const said = description.slice(0, 140);
      const key = `${sha} ${context}`;
      const isFirst = isNew && !tried.get(key);
      tried.set(key, true);
      try {
        const before = isFirst ? null : (await standing(sha)).find((one) => one.context === context);
        if (before?.state === state && (before.description ?? '') === said) return;
        await client.write(
          'POST /repos/{owner}/{repo}/statuses/{sha}',
          { ...at, sha, context, state, description: said },
          nothing,
        );
      } catch (problem) {
        if (!(problem instanceof Refused)) throw problem;
        const isUnknown = problem.status === 422 && /No commit found/i.test(problem.message);
        if (isUnknown) return;
        if (problem.status !== 403 && problem.status !== 404) throw problem;
        client.warn(`The status ${context} can't be shown on GitHub: ${problem.message}`);
      }
    },
  };
}
