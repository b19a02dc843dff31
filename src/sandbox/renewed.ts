/** An answer that is looked up anew now and then, beside whoever asks: only who finds none, or one that is too old, waits. */
export function renewed<T>(
  { everyMs, atMostMs }: Record<'everyMs' | 'atMostMs', number>,
  look: () => Promise<T>,
  now: () => number = () => performance.now(),
): () => Promise<T> {
  let last: { at: number; found: T } | null = null;
  let looking: Promise<T> | null = null;
  const lookAgain = async (at: number): Promise<T> => {
    try {
      const found = await look();
      last = { at, found };
      return found;
    } finally {
      looking = null;
    }
  };
  return async () => {
    const at = now();
    if (last !== null && at - last.at <= everyMs) return last.found;
    looking ??= lookAgain(at);
    if (last === null || at - last.at > atMostMs) return looking;
    // One that failed leaves the last answer, and whoever asks next looks again.
    looking.catch(() => {});
    return last.found;
  };
}
