/** The repository's webhooks, as far as the token may see them. */
import type { ForgeHook } from '../forge.ts';
import { Refused } from './client.ts';
import type { Place } from './place.ts';
import { hookShape } from './shapes.ts';

/** Null when it may not. */
export async function hooksOf({ client, at }: Place): Promise<ForgeHook[] | null> {
  try {
    const listed = await client.list('/repos/{owner}/{repo}/hooks', at, hookShape);
    return listed.map(({ active, events, config, last_response: last }) => ({
      url: config.url ?? '',
      active,
      events,
      last:
        last?.status && last.status !== 'unused'
          ? { status: last.code ?? 0, message: last.message ?? '' }
          : null,
    }));
  } catch (problem) {
    if (problem instanceof Refused && (problem.status === 403 || problem.status === 404)) return null;
    throw problem;
  }
}
