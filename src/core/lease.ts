/**
 * When a lease has lapsed. Wall clocks are set, by people and by themselves; the clock of one start of the machine is
 * not, and all its processes share it. So it judges where owner and onlooker share it; elsewhere wall time does.
 */

/** A clock that runs since the machine started; `id` names that start. */
export interface BootClock {
  readonly id: string;
  /** In milliseconds. */
  now(): number;
}

export interface LeaseTimes {
  /** Wall time. */
  expiresAt: number;
  /** The same by the clock of its owner's boot, where that is known. */
  boot?: { id: string; expiresAt: number };
  /** Wall time of an onlooker for whom it ends too far ahead: it is believed no longer than this, unless renewed. */
  boundAt?: number;
}

export interface Moment {
  now: number;
  boot: { id: string; now: number } | null;
}

export const momentOf = (now: number, clock: BootClock | null): Moment => ({
  now,
  boot: clock && { id: clock.id, now: clock.now() },
});

/** For somebody else. */
export function hasLapsed(lease: LeaseTimes, at: Moment): boolean {
  return (
    hasExpired(lease, at) || (!shareBoot(lease, at) && (lease.boundAt ?? Number.POSITIVE_INFINITY) <= at.now)
  );
}

/** For its owner, whom no onlooker's clock cuts short. */
export function hasExpired(lease: LeaseTimes, at: Moment): boolean {
  return shareBoot(lease, at) ? lease.boot!.expiresAt <= at.boot!.now : lease.expiresAt <= at.now;
}

/** A lease that begins in the onlooker's future: one of the two clocks is wrong, and it may be this one. */
export function boundOf(lease: LeaseTimes, at: Moment, ttlMs: number): number | undefined {
  if (shareBoot(lease, at) || lease.expiresAt <= at.now + ttlMs) return undefined;
  return Math.min(lease.boundAt ?? Number.POSITIVE_INFINITY, at.now + ttlMs);
}

const shareBoot = (lease: LeaseTimes, at: Moment): boolean =>
  lease.boot !== undefined && lease.boot.id === at.boot?.id;

export function leaseTimes(at: Moment, ttlMs: number): LeaseTimes {
  const expiresAt = at.now + ttlMs;
  return at.boot ? { expiresAt, boot: { id: at.boot.id, expiresAt: at.boot.now + ttlMs } } : { expiresAt };
}

/** The owner of a lease that is no runner, but a person who works in a task's place. */
export const asPerson = (owner: string): string => owner.replace(/[^/]*$/, (nonce) => `${PERSON}${nonce}`);
export const isPerson = (owner: string): boolean =>
  owner.slice(owner.lastIndexOf('/') + 1).startsWith(PERSON);

const PERSON = 'person-';
