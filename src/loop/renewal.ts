/**
 * Keeps the leases of a runner. Past our own expiry nothing of ours may run: children die first, then we look what is
 * still ours.
 */
import { event } from '../core/event.ts';
import { lasting } from '../core/words/words.ts';
import type { Lease, Store } from '../store/store.ts';
import type { Clock, Ports } from './ports.ts';

export interface LeaseHolder {
  /** The task it drives; null when it drives none. */
  readonly id: string | null;
  lease(): Lease | null;
  /** Stops what runs under it, too. */
  dropLease(): void;
}

interface Needs extends Pick<Ports, 'owner' | 'log'> {
  store: Pick<Store, 'renewLeases' | 'record'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  timing: Pick<Ports['timing'], 'leaseTtlMs'>;
}

/** To be called again and again, more often than leases expire. */
export function createRenewal(
  { store, clock, timing, owner, log }: Needs,
  holders: () => readonly LeaseHolder[],
): () => Promise<void> {
  let last = clock.monotonic();

  return async () => {
    const sleptMs = clock.monotonic() - last;
    const overslept = sleptMs > timing.leaseTtlMs;
    const had = holders().filter((one) => one.lease() !== null);
    if (overslept) for (const one of had) one.dropLease();
    const renewed = await store.renewLeases(owner, clock.now(), timing.leaseTtlMs);
    last = clock.monotonic();
    if (overslept) await sayOverslept(Math.round(sleptMs), had);
    const kept = new Set(renewed.map(({ key }) => key));
    for (const one of holders()) {
      const lease = one.lease();
      if (lease && !kept.has(lease.key)) one.dropLease();
    }
  };

  async function sayOverslept(sleptMs: number, had: readonly LeaseHolder[]): Promise<void> {
    log('warn', `stood still for ${lasting(sleptMs)}, past its leases: what it ran was stopped`, {});
    const tasks = had.flatMap(({ id }) => id ?? []);
    await store.record({ events: [event('runner_overslept', { owner, sleptMs, tasks })], at: clock.now() });
  }
}
