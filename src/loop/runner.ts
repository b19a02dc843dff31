/**
 * The daemon: ticks, wakes, leases, drain. There is no barrier: each task advances on its own, and a tick only looks
 * for new work and wakes what may have something to do.
 */
import { type AccountLimit, accountOf, limitOf } from '../core/account.ts';
import { isRun, verifiesTrunk } from '../core/action.ts';
import { hasLoopLimit, type LoopLimit } from '../core/budget.ts';
import { deployHold } from '../core/deploy.ts';
import { event } from '../core/event.ts';
import { givesWay, isHeld, makesRoom } from '../core/schedule.ts';
import { isEnded, type Task } from '../core/task.ts';
import { DEPLOY_ADVICE, holdText, loopLimitText } from '../core/words.ts';
import { ForgeUnavailable, LeaseLost, UserError } from '../errors.ts';
import { INTAKE_LEASE, type Lease, type LoopRow } from '../store/store.ts';
import { warnOfLoopBudget } from './budget-warning.ts';
import { createListener } from './commands.ts';
import { createDeployer } from './deploy.ts';
import { createIntake, type Poll } from './intake.ts';
import { readLoopLimit } from './loop-limit.ts';
import { performForge } from './perform.ts';
import type { Ports } from './ports.ts';
import { putOff } from './put-off.ts';
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
  const takeUp = createIntake(ports);
  const listen = createListener(ports);
  const alarm = createAlarm();
  const deployer = createDeployer(ports, () => {
    progress += 1;
    alarm.ring();
  });
  const cancels = new Set<() => void>();
  let intake: Lease | null = null;
  let poll: Poll | null = null;
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
  /** There may be work that nobody can see now. */
  let isForgeSilent = false;

  const driver: Driver = {
    ports,
    eligible: () =>
      [...(poll?.schedule.standings.values() ?? [])].filter((one) => one.kind === 'eligible').length,
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
        await guarded('tick', tick);
        if (onceOnly) await settleOnce();
        else if (anyBusy()) await alarm.wait(clock, intervalMs);
        const quiet = progress === before;
        if (closing || (draining && !anyBusy())) end = 'stopped';
        else if (onceOnly) end = 'once';
        else if (quiet && !anyBusy()) {
          if (mode === 'until_idle' && (await isIdle())) end = 'idle';
          else await alarm.wait(clock, intervalMs);
        }
        intervalMs = quiet ? Math.min(intervalMs * 2, longestWaitMs()) : FIRST_POLL_MS;
      }
      // What was spent since the last pulse may have passed the mark, too.
      await guarded('budget warning', warnOfSpending);
      return { why: end, needsPerson: await waitingForPeople() };
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
      if (intake) await askForge(intake);
      await guarded('deploy', deploy);
    }
    for (const { task } of await store.tasks({ live: true })) worker(task.id).wake();
  }

  /** A forge that can't be asked holds up new work only; it is said once, and once more when it answers again. */
  async function askForge(lease: Lease): Promise<void> {
    try {
      await takeIn(lease);
    } catch (problem) {
      // What it refuses (issues were disabled, the rights are gone) waits for a person as an outage does.
      const isRefusal = problem instanceof UserError;
      if (!(problem instanceof ForgeUnavailable) && !isRefusal) throw problem;
      const until = isRefusal ? null : problem.retryAt;
      if (!isForgeSilent) await note(event('forge_unavailable', { problem: problem.message, until }));
      isForgeSilent = true;
      ports.log('warn', problem.message, {});
      return;
    }
    if (isForgeSilent) await note(event('forge_answers', {}));
    isForgeSilent = false;
  }

  async function note(one: ReturnType<typeof event>): Promise<void> {
    await store.record({ events: [one], at: clock.now() });
  }

  async function takeIn(lease: Lease): Promise<void> {
    // Who can't be heard now is heard later; work goes on meanwhile.
    await guarded('commands', async () => {
      progress += await listen(lease);
    });
    await performOwn(lease);
    // What can't be begun stays with its label, where others may still take it up.
    const coder = accountOf(ports.settings.policy().agents.coder);
    const mayClaim =
      driver.paused(await store.loop()) === null &&
      limit === null &&
      limitOf(accounts, coder, clock.now()) === null;
    poll = await takeUp(lease, mayClaim && !(onceOnly && poll));
    const said = poll.declined.length + poll.withdrawn.length;
    progress += poll.claimed.length + said;
    if (said > 0) await performOwn(lease);
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

  /** The loop's own outbox: comments and labels on issues that never became tasks. */
  async function performOwn(lease: Lease): Promise<void> {
    for (const pending of await store.pendingActions(null)) {
      if (pending.notBefore > clock.now() || isRun(pending.action)) continue;
      await store.proveLease(lease, clock.now());
      try {
        await performForge(ports, pending.action);
      } catch (problem) {
        await putOff(ports, lease, pending, problem);
        continue;
      }
      await store.record({ lease, events: [], at: clock.now(), finishAction: pending.id });
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
    await note(event('runner_overslept', { owner: ports.owner, sleptMs, tasks }));
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
    await guarded('deploy', deploy);
    await settled();
  }

  async function warnOfSpending(): Promise<void> {
    if (intake) await warnOfLoopBudget(ports, intake, warned);
  }

  async function isIdle(): Promise<boolean> {
    if (isForgeSilent) return false;
    if (anyBusy() || (await store.pendingActions(null)).length > 0) return false;
    // Read anew: a trunk that was verified a moment ago has let the loop go on.
    if ((await store.loop()).pausedBy) return true;
    if (await deployer.isDue()) return false;
    if (deployFailed) return true;
    // What the loop's own budget keeps from going on, and what queues behind that, only a person can let go on.
    const isBroke = limit?.scope === 'loop';
    const standings = [...(poll?.schedule.standings.values() ?? [])];
    const isDue = standings.some(
      (one) => one.kind === 'eligible' || (one.kind === 'waiting' && one.until !== null),
    );
    if (isDue && !isBroke) return false;
    const live = (await store.tasks({ live: true })).map((stored) => stored.task);
    const rests = (task: Task): boolean =>
      task.state !== 'merging' && ['budget', 'grant'].includes(workers.get(task.id)?.rest()?.for ?? '');
    if (!live.every((task) => onlyAPersonEnds(task) || (isBroke && rests(task)))) return false;
    // What a person is to be told about a held task may still be on its way.
    for (const { id } of live) if ((await store.pendingActions(id)).length > 0) return false;
    return true;
  }

  function onlyAPersonEnds(task: Task): boolean {
    const rest = workers.get(task.id)?.rest();
    return (
      !isEnded(task) &&
      task.hold !== null &&
      task.hold.until === null &&
      // The forge ends that one.
      task.hold.reason !== 'merge_queued' &&
      isHeld(task, clock.now()) &&
      rest?.for !== 'grant'
    );
  }

  async function waitingForPeople(): Promise<string[]> {
    const live = (await store.tasks({ live: true })).map((stored) => stored.task);
    const held = live
      .filter(onlyAPersonEnds)
      .map((task) => `#${task.issue} ${task.contract.title}: ${holdText(task.hold!, task.issue)}`);
    return [
      ...(pausedBy ? [`the loop is paused by ${pausedBy} — \`forge-loop resume\``] : []),
      ...(deployFailed ? [`${deployFailed} — ${DEPLOY_ADVICE}`] : []),
      ...(limit?.scope === 'loop' ? [loopLimitText(limit)] : []),
      ...held,
    ];
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
        void guarded('timer', work).then(() => {
          if (!closing) arm();
        });
      });
      cancels.add(cancel);
    };
    arm();
  }

  async function guarded(where: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (problem) {
      const text = problem instanceof Error ? problem.message : String(problem);
      ports.log(problem instanceof ForgeUnavailable ? 'warn' : 'error', `${where}: ${text}`, {
        stack: (problem as Error)?.stack,
      });
    }
  }
}

/** A wait that others can end early. */
function createAlarm() {
  let rung = false;
  let wakeUp: (() => void) | null = null;
  return {
    ring(): void {
      rung = true;
      wakeUp?.();
    },
    /** Ends a wait that is under way; unlike a ring it is not remembered, or every look would cause the next one. */
    nudge(): void {
      wakeUp?.();
    },
    async wait(clock: Ports['clock'], ms: number): Promise<void> {
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
