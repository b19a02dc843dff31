/**
 * One task, driven by one runner: woken, it takes the task's lease and ticks until there is nothing to do now.
 *
 * A worker decides nothing and holds nothing that a crash could lose. A failure here ends this worker's step, never the
 * daemon.
 */
import { event } from '../core/event.ts';
import { backoffMs } from '../core/line/schedule.ts';
import { hasBegun, isLeftToPeople } from '../core/recover.ts';
import { ForgeUnavailable, LeaseLost, StoreUnavailable, VersionConflict } from '../errors.ts';
import { type Lease, taskLease } from '../store/store.ts';
import type { Driver, Rest, Work } from './driver.ts';
import { isWanted } from './hand-over.ts';
import { interruptedAmong } from './interrupted.ts';
import { takeOver } from './recovery.ts';
import { tick } from './tick.ts';

export interface Worker {
  readonly id: string;
  /** Coalesced: a wake during a step leads to one more step, and to a look at the run in flight. */
  wake(): void;
  /** Looks whether a run in flight may go on spending. */
  review(): void;
  busy(): boolean;
  rest(): Rest | null;
  /** Kills what runs, for a lost lease or a hurried stop. */
  abort(): void;
  lease(): Lease | null;
  dropLease(): void;
  settled(): Promise<void>;
}

const STOPPING: Rest = { why: 'stopping', until: null, for: 'fact' };
const INTERRUPTED: Rest = {
  why: 'interrupted: `forge-loop loop restart` continues it',
  until: null,
  for: 'person',
};
const LENT_LOOK_MS = 1000;
/** It is looked at again soon: nobody says that they are gone. */
const lent = (now: number): Rest => ({
  why: 'a person attaches to it',
  until: now + LENT_LOOK_MS,
  for: 'elsewhere',
});
const ELSEWHERE: Rest = { why: 'another runner has it', until: null, for: 'elsewhere' };

export function createWorker(driver: Driver, id: string, onSettled: (worker: Worker) => void): Worker {
  const { ports } = driver;
  const { store, clock } = ports;
  const work: Work = { id, driver, warned: new Set(), run: null, wakeAt };
  let lease: Lease | null = null;
  let step: Promise<void> | null = null;
  let again = false;
  let resting: Rest | null = null;
  let cancelTimer: (() => void) | null = null;
  let failures = 0;
  /** Since then another runner may have had it, and have left something behind. */
  let hasAsked = false;
  /** A person has it from us, and gives it back. */
  let isLent = false;

  const worker: Worker = {
    id,
    wake,
    review: () => void work.run?.review('spend'),
    busy: () => step !== null,
    rest: () => resting,
    abort: () => work.run?.abort(),
    lease: () => lease,
    dropLease: () => {
      lease = null;
      work.run?.abort();
    },
    settled: () => step ?? Promise.resolve(),
  };
  return worker;

  function wake(): void {
    if (step) {
      again = true;
      void work.run?.review('everything');
      return;
    }
    again = false;
    resting = null;
    wakeAt(null);
    step = advance()
      .catch(afterFailure)
      .then((rest) => {
        step = null;
        resting = rest;
        wakeAt(rest.until);
        if (again && !driver.closing) wake();
        else onSettled(worker);
      });
  }

  async function advance(): Promise<Rest> {
    if (driver.closing) return STOPPING;
    // A runner that starts has hundreds: those that have arrived look before others arrive.
    const refused = lease ? null : await driver.looks.pass({ rank: 0 }, takeLease);
    if (refused) return refused;
    while (lease) {
      again = false;
      const isAsked = await isWanted(ports, id);
      // It may be lost meanwhile.
      if (!lease) break;
      if (isAsked) {
        await letGo();
        isLent = true;
        return lent(clock.now());
      }
      const rest = await tick(work, lease);
      if (rest?.for === 'ended') await letGo();
      if (rest) return rest;
      if (driver.closing) return STOPPING;
      failures = 0;
    }
    return { why: 'its lease was lost', until: null, for: 'elsewhere' };
  }

  async function takeLease(): Promise<Rest | null> {
    if (driver.closing) return STOPPING;
    const isFirst = !hasAsked;
    hasAsked = true;
    const stored = await store.task(id);
    if (!stored) return { why: 'unknown task', until: null, for: 'ended' };
    if (await isWanted(ports, id)) return lent(clock.now());
    const [before] = await store.leases(taskLease(id));
    // One that slipped from this very runner, or was lent by it, is still its own.
    if (isLeftToPeople(stored.task) && before?.owner !== ports.owner && !isLent)
      return (await interruptedAmong(ports, [stored.task])).size > 0 ? INTERRUPTED : ELSEWHERE;
    const { leaseTtlMs } = ports.timing;
    lease = await store.acquireLease(taskLease(id), ports.owner, clock.now(), leaseTtlMs, ports.isOwnerDead);
    if (!lease) return isLent ? lent(clock.now()) : ELSEWHERE;
    isLent = false;
    if (ports.settings.policy().recovery.mode !== 'auto' && hasBegun(await store.pendingActions(id))) {
      await letGo();
      return { why: 'waits for `forge-loop recover` or `restart`', until: null, for: 'person' };
    }
    const renewedAt = before ? before.expiresAt - leaseTtlMs : null;
    await takeOver(ports, id, lease, { renewedAt, isMarked: !isFirst || driver.isMarked(id) });
    return null;
  }

  async function afterFailure(problem: unknown): Promise<Rest> {
    if (problem instanceof LeaseLost) {
      lease = null;
      ports.log('warn', 'lease lost: another runner owns the task', { task: id });
      return ELSEWHERE;
    }
    if (problem instanceof VersionConflict)
      return { why: 'changed meanwhile', until: clock.now(), for: 'time' };
    failures += 1;
    const until = clock.now() + backoffMs(failures, ports.random(), ports.settings.policy().maxBackoffMs);
    const text = problem instanceof Error ? problem.message : String(problem);
    const expected = problem instanceof ForgeUnavailable || problem instanceof StoreUnavailable;
    ports.log(problem instanceof ForgeUnavailable ? 'warn' : 'error', text, {
      task: id,
      ...(expected ? {} : { stack: (problem as Error)?.stack }),
    });
    if (!expected && failures <= 3) {
      await store
        .record({ events: [event('loop_failed', { where: `task ${id}`, problem: text })], at: clock.now() })
        .catch(() => {});
    }
    return { why: text, until, for: 'time' };
  }

  async function letGo(): Promise<void> {
    if (lease) await store.releaseLease(lease);
    lease = null;
  }

  function wakeAt(at: number | null): void {
    cancelTimer?.();
    cancelTimer = at === null ? null : clock.after(Math.max(0, at - clock.now()), wake);
  }
}
