/** A request that an agent's program never answers would keep its turn until its time is up. */
import type { Failure } from './agent.ts';

class Unanswered extends Error {}

/** Long enough for a program that is loaded from a slow disk, or that reads a long conversation again. */
const PATIENCE_MS = 120_000;

export async function answered<T>(asked: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const said = `its program did not answer within ${PATIENCE_MS / 1000} s (${what})`;
    timer = setTimeout(() => reject(new Unanswered(said)), PATIENCE_MS);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Null for an error of another kind. */
export const failureOfSilence = (error: unknown): Failure | null =>
  error instanceof Unanswered ? { code: 'unanswered', message: error.message, retryAt: null } : null;
