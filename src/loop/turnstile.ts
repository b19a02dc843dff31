/** Lets so many through at a time: who ranks highest, and of those whoever came first. */
export interface Turnstile {
  /** Null when the wait was cut off: then nothing was begun. */
  pass<T>(who: { rank: number; signal?: AbortSignal }, work: () => Promise<T>): Promise<T | null>;
}

export function createTurnstile(most: () => number): Turnstile {
  const waiting: { rank: number; enter: () => void }[] = [];
  let inside = 0;

  const admit = (): void => {
    while (waiting.length > 0 && inside < most()) {
      let at = 0;
      for (const [index, { rank }] of waiting.entries()) if (rank > waiting[at]!.rank) at = index;
      const [next] = waiting.splice(at, 1);
      inside += 1;
      next!.enter();
    }
  };

  return {
    async pass({ rank, signal }, work) {
      const isIn = await new Promise<boolean>((resolve) => {
        const one = { rank, enter: () => resolve(true) };
        const leave = (): void => {
          const at = waiting.indexOf(one);
          if (at < 0) return;
          waiting.splice(at, 1);
          resolve(false);
        };
        waiting.push(one);
        if (signal?.aborted) leave();
        else signal?.addEventListener('abort', leave, { once: true });
        admit();
      });
      if (!isIn) return null;
      try {
        return await work();
      } finally {
        inside -= 1;
        admit();
      }
    },
  };
}
