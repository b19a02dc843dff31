/** Virtual time: timers fire in order, and time jumps to the next one when nothing else can happen. */
export interface Timeline {
  now(): number;
  after(ms: number, wake: () => void): () => void;
  sleep(ms: number): Promise<void>;
  /** Fires timers until `done` or until none is left before `horizon`. */
  play(done: () => boolean, horizon: number): Promise<void>;
}

export function createTimeline(start: number): Timeline {
  let now = start;
  let order = 0;
  const timers = new Set<{ at: number; order: number; wake: () => void }>();

  const after = (ms: number, wake: () => void): (() => void) => {
    const timer = { at: now + Math.max(0, ms), order: order++, wake };
    timers.add(timer);
    return () => timers.delete(timer);
  };

  return {
    now: () => now,
    after,
    sleep: (ms) => new Promise((resolve) => after(ms, resolve)),
    async play(done, horizon) {
      for (;;) {
        await idle();
        if (done()) return;
        let next: { at: number; order: number; wake: () => void } | null = null;
        for (const timer of timers) {
          if (!next || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer;
        }
        if (!next || next.at > horizon) return;
        timers.delete(next);
        now = Math.max(now, next.at);
        next.wake();
      }
    },
  };
}

/** All microtasks have run when a macrotask does. */
const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
