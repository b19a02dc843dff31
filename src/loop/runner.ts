/**
 * The daemon: ticks, wakes, leases, drain. There is no barrier: each task advances on its own, and a tick only looks
 * for new work and wakes what may have something to do.
 */

import { event } from '../core/event.ts';
import { endsWithNews } from '../core/hold.ts';
import { givesWay, makesRoom, oldestFirst, type Quota } from '../core/line/schedule.ts';
import { type LoopWait, loopWaits } from '../core/loop/loop-waits.ts';
import { type AccountLimit, accountOf, withOtherSettings } from '../core/money/account.ts';
import { hasLoopLimit } from '../core/money/budget.ts';
import type { Task } from '../core/task.ts';
import { LeaseLost } from '../errors.ts';
import { INTAKE_LEASE, type Lease, type LoopRow, runnerLease } from '../store/store.ts';
import { createAlarm } from './alarm.ts';
import { warnOfLoopBudget } from './budget-warning.ts';
import { catchAndLog } from './catch-and-log.ts';
import { createDeployer } from './deploy.ts';
import type { Driver } from './driver.ts';
import type { Errand } from './errand.ts';
import { stopOrphans } from './leftovers.ts';
import { readLoopLimit } from './loop-limit.ts';
import { createNews } from './news.ts';
import { createNotifier } from './notifier.ts';
import { createOffers } from './offers.ts';
import { pinTrunk } from './pin-trunk.ts';
import type { Ports } from './ports.ts';
import { createReception } from './reception.ts';
import { removeOld } from './remove-old.ts';
import { createRenewal, type LeaseHolder } from './renewal.ts';
import { isIdle, type Standing, waitingForPeople } from './standstill.ts';
import { createTelemeter } from './telemeter.ts';
import { createTrier } from './trial.ts';
import { createTurnstile } from './turnstile.ts';
import { createWorker, type Worker } from './worker.ts';

export type RunMode = 'forever' | 'until_idle' | 'once';

export interface RunEnd {
  why: 'idle' | 'once' | 'stopped';
  /** One line for each task that only a person can set going again. */
  needsPerson: string[];
}

/** What a run takes up, where it is not everything: only these issues, so many of them. */
export interface RunTakes {
  only?: readonly number[] | undefined;
  most?: number | undefined;
}

export interface Runner {
  run(mode: RunMode, takes?: RunTakes): Promise<RunEnd>;
  /** Starts nothing new; `run` ends when what is under way has ended. Asked again, it ends at once. */
  drain(why: string): void;
  stopNow(why: string): void;
  isDraining(): boolean;
  wake(task: string): void;
}

const FIRST_POLL_MS = 1000;
/** What people do elsewhere is looked for so often while the loop's own doing makes one tick follow the other. */
const NEWS_MS = 5000;
const LOOKS_AT_ONCE = 8;
const DAY_MS = 86_400_000;
const CALLS_FOR_A_LOOK: ReadonlySet<string> = new Set([
  'loop_resumed',
  'loop_released',
  'loop_stop_requested',
  'request_made',
  'webhook_received',
  'look_requested',
]);
/** What makes everything read before out of date. */
const MAY_HAVE_CHANGED_THERE: ReadonlySet<string> = new Set([
  'webhook_received',
  'request_made',
  'look_requested',
]);
/** Of another runner's tasks: ours may have been waiting for that. */
const GIVES_WAY: ReadonlySet<string> = new Set([
  'worker_state_transition',
  'candidate_built',
  'candidate_dropped',
  'gate_completed',
  'line_left',
  'line_rejoined',
]);
/** Of one repository; a further one works all the same, and is seen by its tasks only. */
const MOST_RUNNERS = 100;
/** Deliveries are believed to arrive for so long after the last one. */
const WOKEN_FOR_MS = 3_600_000;

export function createRunner(ports: Ports, version: string): Runner {
  const { store, clock } = ports;
  const workers = new Map<string, Worker>();
  const alarm = createAlarm(clock);
  const reception = createReception(ports, mayClaim, quota);
  let takes: RunTakes = {};
  const onSettled = (): void => {
    progress += 1;
    alarm.ring();
  };
  const deployer = createDeployer(ports, onSettled);
  const trier = createTrier(ports, { hasWork, onSettled });
  const errands: readonly Errand[] = [deployer, trier];
  const notifier = createNotifier(ports);
  const telemeter = createTelemeter(ports);
  const news = createNews(ports);
  const offers = createOffers(ports, {
    workers: () => workers.values(),
    find: (id) => workers.get(id),
    eligible: () => driver.eligible,
    order: () => driver.order,
  });
  let offeredAt = 0;
  const cancels = new Set<() => void>();
  let intake: Lease | null = null;
  let presence: Lease | null = null;
  let hasSpent = true;
  const warned = new Set<string>();
  let onceOnly = false;
  let progress = 0;
  let removeAt = Number.NEGATIVE_INFINITY;
  let lastSeq = 0;
  let idleAt = -1;
  let isTrunkPinned = false;
  let marked: ReadonlySet<string> | null = null;
  /** Something was said or set that may concern everybody. */
  let isEverybodyDue = false;
  let lastDelivery = Number.NEGATIVE_INFINITY;
  let newsAt = Number.NEGATIVE_INFINITY;
  let areNewsPutOff = false;
  let tickedAt = 0;

  const driver: { -readonly [K in keyof Driver]: Driver[K] } = {
    ports,
    draining: null,
    closing: false,
    get eligible() {
      return reception.poll()?.schedule.startable.length ?? 0;
    },
    get order() {
      return reception.poll()?.schedule.order ?? oldestFirst;
    },
    waitsForPlace: (task) => offers.waitsForPlace(task),
    isMarked: (task) => marked === null || marked.has(task),
    gates: createTurnstile(() => ports.settings.policy().gate.maxConcurrent),
    looks: createTurnstile(() => LOOKS_AT_ONCE),
    get trunkTree() {
      return trier.trunkTree();
    },
    changed: (before, after) => {
      progress += 1;
      for (const sha of [after.landing?.candidate.sha, after.mergedSha]) if (sha) news.built(sha);
      if (givesWay(before, after)) offer();
      if (makesRoom(before, after) && hasEligible()) alarm.ring();
    },
    spent: (task) => {
      hasSpent = true;
      if (!hasLoopLimit(ports.settings.policy().budget)) return;
      for (const one of workers.values()) if (one.id !== task) one.review();
    },
  };

  return {
    run,
    drain,
    stopNow,
    isDraining: () => driver.draining !== null,
    wake: (task) => worker(task).wake(),
  };

  async function run(mode: RunMode, given: RunTakes = {}): Promise<RunEnd> {
    onceOnly = mode === 'once';
    takes = given;
    // What it starts with was found good: what kept an earlier runner from its settings is over.
    await store.updateLoop(
      { stop: 'no', configProblem: null },
      [event('runner_started', { owner: ports.owner, pid: process.pid, version })],
      clock.now(),
    );
    lastSeq = (await store.events({ last: 1 }))[0]?.seq ?? 0;
    marked = await ports.processes.marked();
    every(ports.timing.renewMs, createRenewal(ports, holders));
    every(ports.timing.pulseMs, pulse);
    let intervalMs = FIRST_POLL_MS;
    let end: RunEnd['why'] | null = null;
    try {
      while (!end) {
        const before = progress;
        await catchAndLog(ports, 'tick', tick);
        if (onceOnly) await settleOnce();
        else if (anyBusy()) await alarm.wait(waitMs(intervalMs));
        const quiet = progress === before && !areNewsPutOff;
        if (driver.closing || (driver.draining && !anyBusy())) end = 'stopped';
        else if (onceOnly) end = 'once';
        else if (quiet && !anyBusy()) {
          const isNews = progress !== idleAt;
          const idle = (isNews || mode === 'until_idle') && (await isDone());
          if (idle && isNews) await catchAndLog(ports, 'idle', noteIdle);
          if (idle && mode === 'until_idle') end = 'idle';
          else await alarm.wait(waitMs(intervalMs));
        }
        intervalMs = quiet ? Math.min(intervalMs * 2, longestWaitMs()) : FIRST_POLL_MS;
      }
      // What was spent since the last pulse may have passed the mark, too.
      await catchAndLog(ports, 'budget warning', warnOfSpending);
      if (!driver.closing) await catchAndLog(ports, 'notify', () => tell('last'));
      if (intake) await telemeter.finish(intake);
      return { why: end, needsPerson: await waitingForPeople(ports, await standing()) };
    } finally {
      for (const cancel of cancels) cancel();
      await shutDown(end ?? 'stopped');
    }
  }

  function quota(claimed: number): Quota {
    const { only, most = Number.POSITIVE_INFINITY } = takes;
    return { only: only ? new Set(only) : null, left: Math.max(0, most - claimed) };
  }

  /** Also what has to wait until others have landed. */
  function hasEligible(): boolean {
    return (reception.poll()?.schedule.eligible.length ?? 0) > 0;
  }

  /** No longer than until an issue is said to be ready for a look. */
  function waitMs(longestMs: number): number {
    const standings = [...(reception.poll()?.schedule.standings.values() ?? [])];
    const dues = standings.flatMap((one) =>
      one.kind === 'waiting' && one.until !== null ? [one.until] : [],
    );
    const soonestMs = Math.min(...dues.map((until) => until - clock.now()).filter((ms) => ms > 0));
    return Math.min(longestMs, Math.max(soonestMs, FIRST_POLL_MS));
  }

  /** Whoever is told of changes need not look for them so often. */
  function longestWaitMs(): number {
    const { pollIntervalMs, wokenPollIntervalMs } = ports.settings.policy();
    const isWoken = clock.monotonic() - lastDelivery < WOKEN_FOR_MS;
    return isWoken ? Math.max(pollIntervalMs, wokenPollIntervalMs) : pollIntervalMs;
  }

  async function tick(): Promise<void> {
    const checked = await ports.settings.check();
    if (checked !== 'same') {
      isEverybodyDue = true;
      await noteSettings(checked);
    }
    // Later when the forge can't be asked: then nothing can be claimed or merged either.
    if (!isTrunkPinned) await catchAndLog(ports, 'trunk', pin);
    presence ??= await takePresence();
    const { stop, accountLimits } = await store.loop();
    obey(stop);
    await tryOtherSettings(accountLimits);
    if (!driver.draining) {
      if (!intake) {
        intake = await takeIntake();
        // From here on nothing that happens is missed.
        await catchAndLog(ports, 'notify', () => tell('events'));
        if (intake) telemeter.look(intake);
      }
      if (intake) progress += await reception.ask(intake);
      await catchAndLog(ports, 'remove', removeDaily);
      for (const one of errands) await catchAndLog(ports, one.name, () => consider(one));
    }
    await catchAndLog(ports, 'notify', () => tell('all'));
    await wakeWithNews();
  }

  /** Who waits for a grant or a person only is not looked at again for nothing. */
  async function wakeWithNews(): Promise<void> {
    const live = (await store.tasks({ live: true })).map(({ task }) => task).sort(driver.order);
    const isEverybody = isEverybodyDue;
    isEverybodyDue = false;
    const isOurDoing = progress !== tickedAt;
    tickedAt = progress;
    areNewsPutOff = isOurDoing && !isEverybody && clock.monotonic() - newsAt < NEWS_MS;
    const waiting = new Set(live.filter(waitsForNews));
    // What is seen before a look is no news after it. Nobody asks about one at work.
    const asked = live.filter((task) => waiting.has(task) || (news.isCheap && !worker(task.id).busy()));
    if (!areNewsPutOff) newsAt = clock.monotonic();
    const isNew = await news.among(areNewsPutOff ? [] : asked);
    for (const task of live)
      if (!waiting.has(task) || isNew.has(task.id) || (isEverybody && task.hold !== null))
        worker(task.id).wake();
    offer();
  }

  function waitsForNews(task: Task): boolean {
    const rest = worker(task.id).rest();
    if (rest?.for === 'grant') return true;
    return rest?.for === 'fact' && task.hold !== null && endsWithNews(task.hold) && news.isCheap;
  }

  function offer(): void {
    offeredAt = progress;
    offers.make();
  }

  async function takeIntake(): Promise<Lease | null> {
    const lease = await take(INTAKE_LEASE);
    if (lease) await stopOrphans(ports, lease);
    return lease;
  }

  /** The first that is free, so that leases of runners long gone do not pile up. */
  async function takePresence(): Promise<Lease | null> {
    for (let n = 1; n <= MOST_RUNNERS; n += 1) {
      const lease = await take(runnerLease(n));
      if (lease) return lease;
    }
    return null;
  }

  function take(key: string): Promise<Lease | null> {
    return store.acquireLease(key, ports.owner, clock.now(), ports.timing.leaseTtlMs, ports.isOwnerDead);
  }

  async function pin(): Promise<void> {
    await pinTrunk(ports);
    isTrunkPinned = true;
  }

  /** As it is now: nothing begins once whoever paused or stopped the loop was told so. */
  async function readLoop(): Promise<{ isStopping: boolean; waits: LoopWait[] }> {
    const limit = await readLoopLimit(ports);
    const row = await store.loop();
    const waits = loopWaits(row, ports.settings.policy(), limit, clock.now());
    return { isStopping: driver.draining !== null || row.stop !== 'no', waits };
  }

  /** What can't be begun stays with its label, where others may still take it up. */
  async function mayClaim(): Promise<boolean> {
    const { isStopping, waits } = await readLoop();
    const coder = accountOf(ports.settings.policy().agents.coder);
    const isKeptBack = waits.some(({ account }) => account === null || account.account === coder);
    const isFirst = reception.poll() === null;
    return !isStopping && !isKeptBack && (isFirst || !onceOnly);
  }

  async function consider(errand: Errand): Promise<void> {
    const { isStopping, waits } = await readLoop();
    if (isStopping || waits.some(({ stops }) => errand.waitsFor.includes(stops))) return;
    await withIntake(() => errand.consider(intake));
  }

  /** Another runner may have taken it over: then it is theirs to do. */
  async function withIntake(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (problem) {
      if (!(problem instanceof LeaseLost)) throw problem;
      dropIntake();
    }
  }

  async function hasWork(): Promise<boolean> {
    return hasEligible() || (await store.tasks({ live: true })).length > 0;
  }

  /** At the start, and once a day. */
  async function removeDaily(): Promise<void> {
    if (!intake || clock.monotonic() < removeAt) return;
    removeAt = clock.monotonic() + DAY_MS;
    const { removed, trees, logs } = await removeOld(ports, { preview: false });
    for (const { task, parts } of removed)
      ports.log('info', `removed what it left: ${parts.join(', ')}`, { task });
    for (const path of [...trees, ...logs]) ports.log('info', `removed ${path}`);
  }

  async function tryOtherSettings(limits: readonly AccountLimit[]): Promise<void> {
    const by = 'other settings';
    const released = withOtherSettings(limits, ports.settings.policy()).map((account) =>
      event('account_released', { account, by }),
    );
    if (released.length > 0) await store.updateLoop({}, released, clock.now());
  }

  async function noteSettings(checked: 'reloaded' | 'broken'): Promise<void> {
    const { path } = ports.settings;
    const problem = ports.settings.problem();
    const isBroken = checked === 'broken';
    ports.log(
      isBroken ? 'error' : 'info',
      isBroken ? `kept the last good settings: ${problem}` : 'settings reloaded',
    );
    const noted = isBroken
      ? event('config_invalid', { path, problem: problem ?? '' })
      : event('config_reloaded', { path });
    await store.updateLoop({ configProblem: problem }, [noted], clock.now());
  }

  function obey(asked: LoopRow['stop']): void {
    if (asked === 'now') stopNow('requested by `forge-loop stop --now`');
    else if (asked === 'drain') drainOnce('requested by `forge-loop stop`');
  }

  /** Notices what other processes wrote: requests, a pause, a freed slot. */
  async function pulse(): Promise<void> {
    if (hasSpent) {
      hasSpent = false;
      await warnOfSpending();
    }
    await catchAndLog(ports, 'notify', () => tell('events'));
    const fresh = await store.events({ after: lastSeq, limit: 500 });
    if (fresh.length === 0) return;
    lastSeq = fresh.at(-1)!.seq;
    if (intake) telemeter.look(intake);
    if (fresh.some((one) => one.task === null)) obey((await store.loop()).stop);
    // A runner that starts takes the request back for itself, not for those it was made to.
    for (const one of fresh) if (one.type === 'loop_stop_requested') obey(one.data.now ? 'now' : 'drain');
    for (const one of fresh) if (one.task && one.type === 'request_made') worker(one.task).wake();
    if (fresh.some((one) => one.type === 'webhook_received')) lastDelivery = clock.monotonic();
    // Whoever asked for something, or is reported, may have changed something there just before.
    if (fresh.some(({ type }) => MAY_HAVE_CHANGED_THERE.has(type))) ports.forge.forget?.();
    if (fresh.some((one) => CALLS_FOR_A_LOOK.has(one.type))) {
      isEverybodyDue = true;
      alarm.ring();
    }
    // Issues that waited for what landed may be claimed now; what waits for a person still does.
    const landed = fresh.flatMap((one) => (one.type === 'merge_observed' ? [one.data] : []));
    for (const { sha, by } of landed) if (by === 'loop') news.built(sha);
    if (landed.length > 0) alarm.ring();
    if (fresh.some((one) => GIVES_WAY.has(one.type))) offer();
  }

  function holders(): LeaseHolder[] {
    return [
      ...workers.values(),
      { id: null, lease: () => intake, dropLease: dropIntake },
      { id: null, lease: () => presence, dropLease: () => (presence = null) },
    ];
  }

  /** Errands run under its lease. */
  function dropIntake(): void {
    intake = null;
    notifier.abort();
    for (const one of errands) one.abort();
  }

  function worker(id: string): Worker {
    let found = workers.get(id);
    if (!found) {
      found = createWorker(driver, id, (settledWorker) => {
        const rest = settledWorker.rest();
        if (rest?.for === 'ended') {
          workers.delete(id);
          news.forget(id);
        }
        // What it waits for may have been freed while it looked.
        if (rest?.for === 'grant' && progress !== offeredAt) offer();
        if (!anyBusy()) alarm.nudge();
      });
      workers.set(id, found);
    }
    return found;
  }

  function atWork(): (Worker | Errand)[] {
    return [...workers.values(), ...errands].filter((one) => one.busy());
  }

  /** Asked whenever one of hundreds settles. */
  function anyBusy(): boolean {
    for (const one of workers.values()) if (one.busy()) return true;
    return errands.some((one) => one.busy());
  }

  async function settled(): Promise<void> {
    while (anyBusy()) await Promise.race(atWork().map((one) => one.settled()));
  }

  /** One pass goes on when the gate was tried, and is over when what it merged is deployed. */
  async function settleOnce(): Promise<void> {
    const awaited = errands.filter((one) => one.busy());
    await Promise.all(awaited.map((one) => one.settled()));
    if (awaited.length > 0) for (const one of workers.values()) one.wake();
    await settled();
    await catchAndLog(ports, deployer.name, () => consider(deployer));
    await settled();
  }

  async function warnOfSpending(): Promise<void> {
    const lease = intake;
    if (lease) await withIntake(() => warnOfLoopBudget(ports, lease, warned));
  }

  /** Between ticks only what happened is looked at: what the loop waits for takes longer to find out. */
  async function tell(what: 'events' | 'all' | 'last'): Promise<void> {
    const lease = intake;
    if (!lease || (what === 'events' && ports.settings.policy().notify.channels.length === 0)) return;
    const waits = what === 'events' ? null : (await readLoop()).waits;
    await withIntake(() =>
      what === 'last' ? notifier.finish(lease, waits ?? []) : notifier.look(lease, waits),
    );
  }

  /** Once after something was done; a runner that finds nothing to do has nothing to say. */
  async function noteIdle(): Promise<void> {
    idleAt = progress;
    const lease = intake;
    const [said] = await store.events({ type: 'loop_idle', last: 1 });
    const [moved] = await store.events({ type: 'worker_state_transition', last: 1 });
    if (!lease || !moved || (said?.seq ?? 0) > moved.seq) return;
    const waiting = (await waitingForPeople(ports, await standing())).length;
    await withIntake(() =>
      store.record({ lease, events: [event('loop_idle', { waiting })], at: clock.now() }),
    );
  }

  async function isDone(): Promise<boolean> {
    if (reception.isForgeSilent() || anyBusy()) return false;
    return isIdle(ports, await standing(), () => deployer.isDue());
  }

  async function standing(): Promise<Standing> {
    const { waits } = await readLoop();
    return { poll: reception.poll(), waits, restOf: (task) => workers.get(task)?.rest() ?? null };
  }

  function drain(why: string): void {
    if (driver.draining) stopNow(why);
    else drainOnce(why);
  }

  function drainOnce(why: string): void {
    if (driver.draining) return;
    driver.draining = why;
    alarm.ring();
  }

  function stopNow(why: string): void {
    driver.draining ??= why;
    driver.closing = true;
    for (const one of [...workers.values(), ...errands, notifier]) one.abort();
    alarm.ring();
  }

  async function shutDown(why: string): Promise<void> {
    await settled();
    for (const one of holders()) {
      const lease = one.lease();
      if (lease) await store.releaseLease(lease);
    }
    await store.record({
      events: [event('runner_stopped', { owner: ports.owner, why: driver.draining ?? why })],
      at: clock.now(),
    });
  }

  function every(ms: number, work: () => Promise<void>): void {
    const arm = (): void => {
      const cancel = clock.after(ms, () => {
        cancels.delete(cancel);
        void catchAndLog(ports, 'timer', work).then(() => {
          if (!driver.closing) arm();
        });
      });
      cancels.add(cancel);
    };
    arm();
  }
}
