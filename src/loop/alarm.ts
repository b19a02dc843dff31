/** A wait that others can end early. */
import type { Clock } from './ports.ts';

interface Alarm {
  ring(): void;
  /** Ends a wait that is under way; unlike a ring it is not remembered, or every look would cause the next one. */
  nudge(): void;
  wait(ms: number): Promise<void>;
}

export function createAlarm(clock: Clock): Alarm {
  let rung = false;
  let wakeUp: (() => void) | null = null;
  return {
    ring() {
      rung = true;
      wakeUp?.();
    },
    nudge() {
      wakeUp?.();
    },
    async wait(ms) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const cancel = clock.after(ms, resolve);
          wakeUp = () => {
            cancel();
            resolve();
          };
        });
      }
      rung = false;
      wakeUp = null;
    },
  };
}
