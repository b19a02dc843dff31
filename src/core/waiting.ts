/**
 * Waiting for a time of day although clocks are set. Set back, nothing waits longer than it was to when it began: a
 * wait that seems to begin in the future is over. Set ahead, a wait ends early, and what it was for is tried sooner.
 */

interface Wait {
  until: number;
  /** When it began; unknown of what was written down before this was kept. */
  since?: number | undefined;
}

export function isWaiting({ until, since = 0 }: Wait, now: number): boolean {
  return until > now && since <= now + SMALL_CORRECTION_MS;
}

/** Clocks are corrected by moments all the time. */
const SMALL_CORRECTION_MS = 60_000;

/** No effect that failed is put off for longer, so one that seems to be was put off before the clock was set back. */
export const LONGEST_PUT_OFF_MS = 3_600_000;

export const isPutOff = ({ notBefore }: { notBefore: number }, now: number): boolean =>
  notBefore > now && notBefore <= now + LONGEST_PUT_OFF_MS + SMALL_CORRECTION_MS;
