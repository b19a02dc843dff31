/**
 * The daemon: ticks, wakes, leases, drain. There is no barrier: each task advances on its own, and a tick only looks
 * for new work and wakes what may have something to do.
 */
import { type AccountLimit, accountOf, limitOf } from '../core/account.ts';
import { verifiesTrunk } from '../core/action.ts';
import { hasLoopLimit, type LoopLimit } from '../core/budget.ts';
import { deployHold } from '../core/deploy.ts';
import { event } from '../core/event.ts';
import { givesWay, makesRoom } from '../core/schedule.ts';
import { LeaseLost } from '../errors.ts';
import { INTAKE_LEASE, type Lease, type LoopRow } from '../store/store.ts';
import { createAlarm } from './alarm.ts';
import { warnOfLoopBudget } from './budget-warning.ts';
import { createDeployer } from './deploy.ts';
import { guarded } from './guarded.ts';
import { readLoopLimit } from './loop-limit.ts';
import type { Ports } from './ports.ts';
import { createReception } from './reception.ts';
import { isIdle, type Standing, waitingForPeople } from './standstill.ts';
import { createWorker, type Driver, type Worker } from './worker.ts';

export type RunMode = 'forever' | 'until_idle' | 'once';

export interface RunEnd {
  why: 'idle' | 'once' | 'stopped';
  /** One line for each task that only a person can set going again. */
  needsPerson: string[];
}

export interface Runner {
  run(mode: RunMode): Promise<RunEnd>;
  /** Starts nothing new; `run` ends when what is under way has ended. Asked again, it ends at once. */
  drain(why: string): void;
  stopNow(why: string): void;
  wake(task: string): void;
}

const FIRST_POLL_MS = 1000;
const CALLS_FOR_A_LOOK: ReadonlySet<string> = new Set([
  'loop_resumed',
  'loop_stop_requested',
  'request_made',
  'merge_observed',
  'webhook_received',
]);
/** Deliveries are believed to arrive for so long after the last one. */
const WOKEN_FOR_MS = 3_600_000;

export function createRunner(ports: Ports, version: string): Runner {
  const { store, clock } = ports;
  const workers = new Map<string, Worker>();
  const alarm = createAlarm(clock);
  const reception = createReception(ports, mayClaim);
  const deployer = createDeployer(ports, () => {
    progress += 1;
    alarm.ring();
  });
  const cancels = new Set<() => void>();
  let intake: Lease | null = null;
  let draining: string | null = null;
  let closing = false;
  let pausedBy: string | null = null;
  let deployFailed: string | null = null;
  let limit: LoopLimit | null = null;
  let accounts: readonly AccountLimit[] = [];
  let hasSpent = true;
  const warned = new Set<string>();
  let onceOnly = false;
  let progress = 0;
  let lastRenewal = clock.monotonic();
  let lastSeq = 0;
  let lastDelivery = Number.NEGATIVE_INFINITY;

  const driver: Driver = {
    ports,
    eligible: () =>
      [...(reception.poll()?.schedule.standings.values() ?? [])].filter((one) => one.kind === 'eligible')
        .length,
    paused: (row, run) => {
      heed(row);
      if (draining) return `the runner is stopping: ${draining}`;
      if (run && verifiesTrunk(run)) return null;
      return pausedBy ? `the loop is paused by ${pausedBy}` : deployFailed;
    },
    closing: () => closing,
    changed: (before, after) => {
      progress += 1;
      if (givesWay(before, after)) wakeWaiting();
      if (makesRoom(before, after) && driver.eligible() > 0) alarm.ring();
    },
    spent: (task) => {
      hasSpent = true;
      if (!hasLoopLimit(ports.settings.policy().budget)) return;
      for (const one of workers.values()) if (one.id !== task) one.review();
    },
    recovers: () => ports.settings.policy().recovery.mode === 'auto',
  };

  return { run, drain, stopNow, wake: (task) => worker(task).wake() };

  async function run(mode: RunMode): Promise<RunEnd> {
    onceOnly = mode === 'once';
    await store.updateLoop(
      { stop: 'no' },
      [event('runner_started', { owner: ports.owner, pid: process.pid, version })],
      clock.now(),
    );
    lastSeq = (await store.events({ last: 1 }))[0]?.seq ?? 0;
    every(ports.timing.renewMs, renew);
    every(ports.timing.pulseMs, pulse);
    let intervalMs = FIRST_POLL_MS;
    let end: RunEnd['why'] | null = null;
    try {
      while (!end) {
        const before = progress;
        await guarded(ports, 'tick', tick);
        if (onceOnly) await settleOnce();
        else if (anyBusy()) await alarm.wait(intervalMs);
        const quiet = progress === before;
        if (closing || (draining && !anyBusy())) end = 'stopped';
        else if (onceOnly) end = 'once';
        else if (quiet && !anyBusy()) {
          if (mode === 'until_idle' && (await isDone())) end = 'idle';
          else await alarm.wait(intervalMs);
        }
        intervalMs = quiet ? Math.min(intervalMs * 2, longestWaitMs()) : FIRST_POLL_MS;
      }
      // What was spent since the last pulse may have passed the mark, too.
      await guarded(ports, 'budget warning', warnOfSpending);
      return { why: end, needsPerson: await waitingForPeople(ports, standing()) };
    } finally {
      for (const cancel of cancels) cancel();
      await shutDown(end ?? 'stopped');
    }
  }

  /** Whoever is told of changes need not look for them so often. */
  function longestWaitMs(): number {
    const { pollIntervalMs, wokenPollIntervalMs } = ports.settings.policy();
    const isWoken = clock.monotonic() - lastDelivery < WOKEN_FOR_MS;
    return isWoken ? Math.max(pollIntervalMs, wokenPollIntervalMs) : pollIntervalMs;
  }

  async function tick(): Promise<void> {
    const checked = await ports.settings.check();
    if (checked !== 'same') await noteSettings(checked);
    await readLoop();
    if (!draining && !closing) {
      intake ??= await store.acquireLease(
        INTAKE_LEASE,
        ports.owner,
        clock.now(),
        ports.timing.leaseTtlMs,
        ports.isOwnerDead,
      );
      if (intake) progress += await reception.ask(intake);
      await guarded(ports, 'deploy', deploy);
    }
    for (const { task } of await store.tasks({ live: true })) worker(task.id).wake();
  }

  /** What can't be begun stays with its label, where others may still take it up. */
  async function mayClaim(): Promise<boolean> {
    if (driver.paused(await store.loop()) !== null || limit !== null) return false;
    const coder = accountOf(ports.settings.policy().agents.coder);
    const isFirst = reception.poll() === null;
    return limitOf(accounts, coder, clock.now()) === null && (isFirst || !onceOnly);
  }

  /** A pause keeps a deploy back like any other run; a deploy that failed does not keep back the next one. */
  async function deploy(): Promise<void> {
    if (!intake || pausedBy || draining) return;
    try {
      await deployer.consider(intake);
      // What a dead runner left of one may hold the loop from now on.
      await readLoop();
    } catch (problem) {
      if (!(problem instanceof LeaseLost)) throw problem;
      intake = null;
    }
  }

  async function noteSettings(checked: 'reloaded' | 'broken'): Promise<void> {
    const problem = ports.settings.problem();
    const { path } = ports.settings;
    const noted =
      checked === 'broken'
        ? event('config_invalid', { path, problem: problem ?? '' })
        : event('config_reloaded', { path });
    ports.log(
      checked === 'broken' ? 'error' : 'info',
      checked === 'broken' ? `kept the last good settings: ${problem}` : 'settings reloaded',
      {},
    );
    await store.updateLoop({ configProblem: problem }, [noted], clock.now());
  }

  async function readLoop(): Promise<void> {
    const row = await store.loop();
    heed(row);
    deployFailed = deployHold(row.deploy, row.deployAgain !== null, ports.settings.policy().deploy);
    limit = await readLoopLimit(ports);
    accounts = row.accountLimits;
  }

  function heed(row: LoopRow): void {
    pausedBy = row.pausedBy;
    obey(row.stop);
  }

  function obey(asked: LoopRow['stop']): void {
    if (asked === 'now') stopNow('asked by `forge-loop stop --now`');
    else if (asked === 'drain') drainOnce('asked by `forge-loop stop`');
  }

  /** Notices what other processes wrote: requests, a pause, a freed slot. */
  async function pulse(): Promise<void> {
    if (hasSpent) {
      hasSpent = false;
      limit = await readLoopLimit(ports);
      await warnOfSpending();
    }
    const fresh = await store.events({ after: lastSeq, limit: 500 });
    if (fresh.length === 0) return;
    lastSeq = fresh.at(-1)!.seq;
    if (fresh.some((one) => one.task === null)) await readLoop();
    // A runner that starts takes the request back for itself, not for those it was made to.
    for (const one of fresh) if (one.type === 'loop_stop_requested') obey(one.data.now ? 'now' : 'drain');
    for (const one of fresh) if (one.task && one.type === 'request_made') worker(one.task).wake();
    if (fresh.some((one) => one.type === 'webhook_received')) {
      lastDelivery = clock.monotonic();
      ports.forge.forget?.();
    }
    if (fresh.some((one) => CALLS_FOR_A_LOOK.has(one.type))) alarm.ring();
    if (fresh.some((one) => one.type === 'worker_state_transition')) wakeWaiting();
  }

  function wakeWaiting(): void {
    for (const other of workers.values()) if (other.rest()?.for === 'grant') other.wake();
  }

  /** Past our own expiry nothing of ours may run: children die first, then we look what is still ours. */
  async function renew(): Promise<void> {
    const sleptMs = clock.monotonic() - lastRenewal;
    const overslept = sleptMs > ports.timing.leaseTtlMs;
    const had = [...workers.values()].filter((one) => one.lease() !== null);
    if (overslept) {
      for (const one of had) one.dropLease();
      deployer.abort();
    }
    const kept = new Set(
      (await store.renewLeases(ports.owner, clock.now(), ports.timing.leaseTtlMs)).map((lease) => lease.key),
    );
    lastRenewal = clock.monotonic();
    if (overslept) await sayOverslept(Math.round(sleptMs), had);
    for (const one of workers.values()) {
      const lease = one.lease();
      if (lease && !kept.has(lease.key)) one.dropLease();
    }
    if (intake && !kept.has(INTAKE_LEASE)) {
      intake = null;
      deployer.abort();
    }
  }

  async function sayOverslept(sleptMs: number, had: readonly Worker[]): Promise<void> {
    ports.log('warn', `stood still for ${sleptMs} ms, past its leases: what it ran was stopped`, {});
    const tasks = had.map(({ id }) => id);
    const events = [event('runner_overslept', { owner: ports.owner, sleptMs, tasks })];
    await store.record({ events, at: clock.now() });
  }

  function worker(id: string): Worker {
    let found = workers.get(id);
    if (!found) {
      found = createWorker(driver, id, (settledWorker) => {
        if (settledWorker.rest()?.for === 'ended') workers.delete(id);
        if (!anyBusy()) alarm.nudge();
      });
      workers.set(id, found);
    }
    return found;
  }

  function anyBusy(): boolean {
    return deployer.busy() || [...workers.values()].some((one) => one.busy());
  }

  async function settled(): Promise<void> {
    while (anyBusy())
      await Promise.race([
        ...[...workers.values()].filter((one) => one.busy()).map((one) => one.settled()),
        ...(deployer.busy() ? [deployer.settled()] : []),
      ]);
  }

  /** One pass is over when what it merged is deployed. */
  async function settleOnce(): Promise<void> {
    await settled();
    await guarded(ports, 'deploy', deploy);
    await settled();
  }

  async function warnOfSpending(): Promise<void> {
    if (intake) await warnOfLoopBudget(ports, intake, warned);
  }

  async function isDone(): Promise<boolean> {
    if (reception.isForgeSilent() || anyBusy()) return false;
    return isIdle(ports, standing(), () => deployer.isDue());
  }

  function standing(): Standing {
    const restOf = (task: string) => workers.get(task)?.rest() ?? null;
    return { poll: reception.poll(), pausedBy, deployFailed, limit, restOf };
  }

  function drain(why: string): void {
    if (draining) stopNow(why);
    else drainOnce(why);
  }

  function drainOnce(why: string): void {
    if (draining) return;
    draining = why;
    alarm.ring();
  }

  function stopNow(why: string): void {
    draining ??= why;
    closing = true;
    for (const one of workers.values()) one.abort();
    deployer.abort();
    alarm.ring();
  }

  async function shutDown(why: string): Promise<void> {
    await settled();
    for (const one of workers.values()) {
      const lease = one.lease();
      if (lease) await store.releaseLease(lease);
    }
    if (intake) await store.releaseLease(intake);
    await store.record({
      events: [event('runner_stopped', { owner: ports.owner, why: draining ?? why })],
      at: clock.now(),
    });
  }

  function every(ms: number, work: () => Promise<void>): void {
    const arm = (): void => {
      const cancel = clock.after(ms, () => {
        cancels.delete(cancel);
        void guarded(ports, 'timer', work).then(() => {
          if (!closing) arm();
        });
      });
      cancels.add(cancel);
    };
    arm();
  }
}
