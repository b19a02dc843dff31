/** The last few answers per repository, for what is asked again soon but is too large to keep for long. */
import type { Git } from './git.ts';

const MOST = 8;

export function rememberRecent<T>(
  isWorthKeeping: (answer: T) => boolean,
): (git: Git, key: string, ask: () => Promise<T>) => Promise<T> {
  const known = new WeakMap<Git, Map<string, T>>();
  return async (git, key, ask) => {
    const ours = known.get(git) ?? new Map<string, T>();
    known.set(git, ours);
    const answer = ours.get(key) ?? (await ask());
    ours.delete(key);
    if (isWorthKeeping(answer)) ours.set(key, answer);
    for (const oldest of ours.keys()) if (ours.size > MOST) ours.delete(oldest);
    return answer;
  };
}
