/**
 * When a turn in flight is stopped, and how: the agent is asked to stop and given a while for its last words, which
 * say what it used; whoever does not answer is cut off. Killing what is left of it is the caller's next step.
 */
import type { TurnHooks, TurnRequest, TurnResult } from './agent.ts';

export interface TurnStop {
  /** The result of a turn that was stopped; null for one that was not. */
  result(usageKnown: boolean): TurnResult | null;
  disarm(): void;
}

const LAST_WORDS_MS = 5_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function stopTurn(
  { policy }: Pick<TurnRequest, 'policy'>,
  { signal }: Pick<TurnHooks, 'signal'>,
  how: { ask(): Promise<unknown>; cut(): void },
): TurnStop {
  let why: 'cancelled' | 'timed_out' | null = null;
  let timer: NodeJS.Timeout | undefined;
  const stop = (reason: 'cancelled' | 'timed_out'): void => {
    if (why !== null) return;
    why = reason;
    clearTimeout(timer);
    how.ask().catch(() => {});
    timer = setTimeout(how.cut, LAST_WORDS_MS);
  };
  const onAbort = () => stop('cancelled');
  if (signal.aborted) {
    // It was asked nothing yet, so it has nothing to say.
    why = 'cancelled';
    how.cut();
  } else {
    signal.addEventListener('abort', onAbort);
    timer = setTimeout(() => stop('timed_out'), Math.min(policy.turnTimeoutMs, LONGEST_TIMER_MS));
  }
  return {
    result(usageKnown) {
      if (why === null) return null;
      if (why === 'cancelled') return { status: 'cancelled', usageKnown };
      const message = `the turn took longer than agent.turn_timeout_ms (${policy.turnTimeoutMs} ms)`;
      return { status: 'timed_out', message, usageKnown };
    },
    disarm() {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
  };
}
