/**
 * Tries the gate on trunk when there is work and it was not tried there, under the intake lease and beside everything
 * else. Nothing is lost with its runner: whoever comes next tries it.
 */
import { event, type NewEvent } from '../core/event.ts';
import { type BaseRun, type GateOutcome, overall } from '../core/gate.ts';
import { LOGS_OF_NO_TASK } from '../core/keep.ts';
import { backoffMs } from '../core/line/schedule.ts';
import { isTrialDue, trialDigest } from '../core/trial.ts';
import { trialText } from '../core/words/words.ts';
import { LeaseLost } from '../errors.ts';
import type { Lease } from '../store/store.ts';
import { catchAndLog } from './catch-and-log.ts';
import type { Errand } from './errand.ts';
import { createBase } from './gate-base.ts';
import { leftAmong } from './interrupted.ts';
import type { Ports } from './ports.ts';

/** It looks at trunk as it is now, with or without the lease. */
interface Trier extends Errand {
  /** The tree of trunk, as last seen. */
  trunkTree(): string | null;
}

/** Without work nobody waits for what the gate says. */
export function createTrier(
  ports: Ports,
  { hasWork, onSettled }: { hasWork: () => Promise<boolean>; onSettled: () => void },
): Trier {
  const { store, clock } = ports;
  let trunkTree: string | null = null;
  let failures = 0;
  /** By the monotonic clock. A person's resume, other settings and another trunk do not wait. */
  let retryAt = Number.NEGATIVE_INFINITY;
  let triedFor = '';
  let wasBroken = false;
  let run: { controller: AbortController; ended: Promise<void> } | null = null;
  return {
    name: 'trial of the gate',
    waitsFor: ['everything', 'runs'],
    consider,
    trunkTree: () => trunkTree,
    busy: () => run !== null,
    settled: () => run?.ended ?? Promise.resolve(),
    abort: () => run?.controller.abort(),
  };

  async function consider(lease: Lease | null): Promise<void> {
    if (!(await hasWork())) return;
    const { sha } = await ports.forge.trunk();
    trunkTree = await ports.repository.treeOf(sha);
    const policy = ports.settings.policy();
    const { trials } = await store.loop();
    const about = `${trunkTree} ${trialDigest(policy.gate)}`;
    if (about !== triedFor) retryAt = Number.NEGATIVE_INFINITY;
    triedFor = about;
    const isForgotten = wasBroken && !trials.some(({ outcome }) => outcome === 'could_not_run');
    if (isForgotten) retryAt = Number.NEGATIVE_INFINITY;
    if (run || !lease || clock.monotonic() < retryAt || !isTrialDue(trials, trunkTree, policy)) return;
    if (await isInsideBatch()) return;
    const controller = new AbortController();
    const trunk = { sha, tree: trunkTree };
    const attempt = () => make(trunk, lease, controller.signal).catch(putOff);
    const ended = catchAndLog(ports, 'trial of the gate', attempt).then(() => {
      run = null;
      onSettled();
    });
    run = { controller, ended };
  }

  /** Trunk is about to move on to what was tested: what stands between is nobody's to build on. */
  async function isInsideBatch(): Promise<boolean> {
    const live = (await store.tasks({ live: true })).map(({ task }) => task);
    const left = await leftAmong(ports, live);
    return live.some((task) => {
      const { state, landing } = task;
      if (left.has(task)) return false;
      const isLast = landing?.ahead !== undefined && landing.gate?.outcome === 'pass';
      return state === 'merging' && (landing?.within !== undefined || isLast);
    });
  }

  /** Such as a full disk: it says nothing about the gate, and is tried again by itself. */
  async function putOff(problem: Error): Promise<never> {
    wasBroken = false;
    wait(1);
    const said = event('loop_failed', { where: 'the gate on trunk', problem: problem.message });
    await store.record({ events: [said], at: clock.now() });
    throw problem;
  }

  /** Longer each time; a gate that could not run, up to half an hour. */
  function wait(times: number): void {
    failures += 1;
    retryAt =
      clock.monotonic() + times * backoffMs(failures, ports.random(), ports.settings.policy().maxBackoffMs);
  }

  async function make(trunk: Trunk, lease: Lease, signal: AbortSignal): Promise<void> {
    const { events, outcome } = await tryGate(ports, trunk, lease, signal);
    if (signal.aborted) return;
    wasBroken = outcome === 'could_not_run';
    if (wasBroken) wait(6);
    else failures = 0;
    await store.record({ lease, events, at: clock.now() }).catch((problem: unknown) => {
      // Another runner has the lease, and tries it.
      if (!(problem instanceof LeaseLost)) throw problem;
    });
  }
}

interface Trunk {
  sha: string;
  tree: string;
}

interface Tried {
  outcome: GateOutcome;
  detail: string;
  events: NewEvent[];
}

/** Of no worth when it was cut short. What is remembered of these commands on this commit counts, unless it is run anew. */
export async function tryGate(
  ports: Ports,
  { sha, tree }: Trunk,
  lease: Lease,
  signal: AbortSignal,
  memory: 'remembered' | 'anew' = 'remembered',
): Promise<Tried> {
  const { gate } = ports.settings.policy();
  const startedAt = ports.clock.now();
  // A name of its own: a mark that several loops of this machine shared would let one stop the other's.
  const task = `gate-trial-${ports.newId().slice(0, 8)}`;
  const base = createBase({ ports, task, lease, signal, gate, logs: LOGS_OF_NO_TASK.trial }, sha, memory);
  try {
    const results: BaseRun[] = [];
    for (const command of gate.commands === 'none' ? [] : gate.commands) {
      const run = await base.run(command);
      if (run) results.push(run);
      // What could not run once would not run for the next command either.
      if (signal.aborted || run?.outcome === 'could_not_run') break;
    }
    const [outcome, detail] = [overall(results), trialText(results)];
    const durationMs = ports.clock.now() - startedAt;
    const tried = event('gate_tried', { tree, digest: trialDigest(gate), outcome, detail, sha, durationMs });
    return {
      outcome,
      detail,
      events: [...base.made().map((made) => event('gate_base_completed', made)), tried],
    };
  } finally {
    await base.dispose();
  }
}
