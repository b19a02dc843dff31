/**
 * A runner in the simulated world, with everything it touches wrapped: it may crash after any call, be stopped for a
 * while, see a call fail, or lose the answer of a call that succeeded.
 */

import type { Agent } from '../../src/agent/agent.ts';
import { BY_SHAPE } from '../../src/core/access/redact.ts';
import { readTap } from '../../src/core/change/tap.ts';
import { testReport } from '../../src/core/change/test-report.ts';
import type { Policy } from '../../src/core/policy.ts';
import { DEFAULT_PROMPTS } from '../../src/core/words/prompts.ts';
import { ForgeUnavailable } from '../../src/errors.ts';
import { openGateway } from '../../src/gateway/server.ts';
import type { Repository } from '../../src/git/repository.ts';
import type { Ports } from '../../src/loop/ports.ts';
import { createRunner, type RunEnd, type Runner } from '../../src/loop/runner.ts';
import { noSandbox } from '../../src/sandbox/none.ts';
import type { Store } from '../../src/store/store.ts';
import { simAgent, type Temper } from './agent.ts';
import { simChannels } from './channels.ts';
import { simForge } from './forge.ts';
import { simProcesses } from './processes.ts';
import { simWorkspaces } from './workspaces.ts';
import { bootClockOf, type World } from './world.ts';

export interface Faults {
  /** Crash after the n-th call that changes something. */
  crashAtCall: number | null;
  crashChance: number;
  failChance: number;
  loseAnswerChance: number;
  couldNotRun: number;
  /** A gate that is red on a good tree. */
  flaky: number;
  deployFails: number;
}

export interface SimRunner {
  owner: string;
  runner: Runner;
  done: Promise<RunEnd | null>;
  calls(): number;
  isDead(): boolean;
  /** SIGSTOP: nothing of it runs until `resume`. */
  suspend(): void;
  resume(): void;
  kill(): void;
}

export function startRunner(
  world: World,
  policy: Policy,
  temper: Temper,
  faults: Faults,
  owner: string,
  mode: 'until_idle' | 'forever',
  agent: Agent = simAgent(world, temper),
  adjust: (ports: Ports) => Ports = (ports) => ports,
): SimRunner {
  const { time, random } = world;
  let calls = 0;
  let dead = false;
  let suspended: (() => void)[] | null = null;

  const lastWords: (() => void)[] = [];
  const die = (): void => {
    dead = true;
    world.deadOwners.add(owner);
    for (const hear of world.onDeath) hear(owner);
    world.mishaps.push(time.now());
    for (const work of lastWords.splice(0)) work();
  };
  const never = new Promise<never>(() => {});
  const unlessSuspended = (): Promise<void> | null =>
    suspended ? new Promise((resolve) => suspended!.push(resolve)) : null;

  /** Every call of a port passes here. */
  function wrap<T extends object>(name: string, port: T, faulty: boolean): T {
    return new Proxy(port, {
      get(target, key, receiver) {
        const value = Reflect.get(target, key, receiver);
        if (typeof value !== 'function' || SYNCHRONOUS.has(String(key))) return value;
        return async (...args: unknown[]) => {
          if (dead) return never;
          await unlessSuspended();
          if (dead) return never;
          if (faulty && random.chance(faults.failChance))
            throw new ForgeUnavailable(`${name}.${String(key)} is out of reach`);
          const answer = await value.apply(target, args);
          await unlessSuspended();
          if (dead) return never;
          if (WRITES.has(String(key))) calls += 1;
          if (
            (WRITES.has(String(key)) && calls === faults.crashAtCall) ||
            random.chance(faults.crashChance)
          ) {
            die();
            return never;
          }
          if (faulty && random.chance(faults.loseAnswerChance)) {
            world.mishaps.push(time.now());
            throw new ForgeUnavailable(`the answer of ${name}.${String(key)} was lost`);
          }
          return answer;
        };
      },
    });
  }

  const ports: Ports = {
    store: wrap<Store>('store', world.store, false),
    forge: wrap('forge', simForge(world, policy), true),
    repository: wrap<Repository>('repository', world.repository, true),
    workspaces: wrap('workspaces', simWorkspaces(world), false),
    processes: wrap(
      'processes',
      simProcesses(world, faults, (work) => lastWords.push(work)),
      false,
    ),
    sandbox: noSandbox(),
    gateway: openGateway({}),
    telemetry: null,
    frontier: async () => world.frontier,
    channels: wrap('channels', simChannels(world), true),
    agentFor: () => wrap('agent', agent, false),
    settings: {
      path: 'WORKFLOW.md',
      policy: () => policy,
      template: (kind) => DEFAULT_PROMPTS[kind],
      check: async () => 'same',
      problem: () => null,
    },
    render: (
      kind,
      _template,
      { head_sha = '', criteria = '', feedback = '', findings = '', settled = '', plan },
    ) =>
      [`${kind} head ${head_sha}`, criteria, feedback, findings, plan?.pending, 'SETTLED', settled].join(
        '\n',
      ),
    places: {
      home: (task, user) => `/h/${task}/${user}`,
      session: (task, id) => `/s/${task}/${id}`,
      log: (task, name) => `/l/${task}/${name}`,
      remove: async () => false,
      removeLogs: async () => [],
    },
    identity: async () => ({ name: 'n', email: 'e' }),
    prepareHome: async () => [],
    watchTestReports:
      async ({ tree, logPath }) =>
      async () => {
        const cases = readTap(world.output.get(logPath) ?? '', tree);
        return cases && testReport(cases);
      },
    childEnvironment: async (_child, { task }) => ({ FORGE_MARK: task }),
    writeText: async (path, text) => void world.texts.set(path, text),
    appendText: async () => {},
    readText: async (path) => world.texts.get(path) ?? null,
    lastWrite: async () => null,
    clock: {
      now: time.now,
      monotonic: time.now,
      day: (at) => {
        const day = Math.floor(at / DAY_MS);
        return { startsAt: day * DAY_MS, endsAt: (day + 1) * DAY_MS, name: `day ${day}` };
      },
      after: (ms, wake) =>
        time.after(ms, () => {
          if (dead) return;
          if (suspended) suspended.push(wake);
          else wake();
        }),
    },
    bootClock: bootClockOf(time),
    timing: { leaseTtlMs: 300_000, renewMs: 60_000, pulseMs: 10_000 },
    random: () => random(),
    newId: () => random.hex(32),
    project: 'project',
    configuredTrunk: null,
    owner,
    isOwnerDead: (other) => world.deadOwners.has(other),
    redact: BY_SHAPE,
    log: (level, message, fields) => {
      if (level === 'error') world.violate(`error logged: ${message} ${String(fields?.stack ?? '')}`);
    },
  };
  const runner = createRunner(adjust(ports), '0');
  const done = runner.run(mode).catch((problem) => {
    if (!dead) world.violate(`the runner threw: ${String(problem?.stack ?? problem)}`);
    return null;
  });
  return {
    owner,
    runner,
    done,
    calls: () => calls,
    isDead: () => dead,
    suspend: () => {
      world.wasSuspended = true;
      world.mishaps.push(time.now());
      suspended ??= [];
    },
    resume: () => {
      const waiting = suspended ?? [];
      suspended = null;
      for (const wake of waiting) wake();
    },
    kill: die,
  };
}

/** Days of this world are short, so that a story sees some. */
export const DAY_MS = 1_200_000;

const SYNCHRONOUS = new Set(['path']);

/** The calls that change something: a crash after a mere look is a crash after the change before it. */
export const WRITES = new Set([
  ...[
    'claim',
    'commit',
    'startAction',
    'deferAction',
    'record',
    'acquireLease',
    'releaseLease',
    'renewLeases',
  ],
  ...[
    'recordProcess',
    'forgetProcess',
    'addUsage',
    'updateLoop',
    'relabel',
    'ensureComment',
    'closeIssue',
    'push',
  ],
  ...[
    'deleteBranch',
    'ensurePull',
    'postReview',
    'updatePull',
    'reply',
    'closePull',
    'buildCandidate',
    'land',
    'prepare',
    'checkpoint',
    'adopt',
  ],
  ...['mergeTrunk', 'seal', 'reap', 'export', 'stage', 'launch', 'stop', 'run', 'send'],
]);
