/** The last few answers per repository, for what is asked again soon but is too large to keep for long. */
import type { Git } from './git.ts';

const MOST = 8;

export function rememberRecent<T>(
  isWorthKeeping: (answer: T) => boolean,
): (git: Git, key: string, ask: () => Promise<T>) => Promise<T> {
  const known = new WeakMap<Git, Map<string, Promise<T>>>();
  return async (git, key, ask) => {
    const ours = known.get(git) ?? new Map<string, Promise<T>>();
    known.set(git, ours);
    const asked = ours.get(key) ?? ask();
    ours.delete(key);
    ours.set(key, asked);
    for (const oldest of ours.keys()) if (ours.size > MOST) ours.delete(oldest);
    try {
      const answer = await asked;
      if (!isWorthKeeping(answer)) ours.delete(key);
      return answer;
    } catch (error) {
      ours.delete(key);
      throw error;
    }
  };
}
