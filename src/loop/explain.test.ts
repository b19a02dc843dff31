/**
 * `explain` says what the loop decides: the same random worlds, seen once by a worker through `observe`, and once by who only has
 * the store and a few answers of the forge.
 */
import { expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import { APPROVE, changes, Play } from '../../test/support/play.ts';
import { testPolicy } from '../../test/support/policy.ts';
import { mulberry32 } from '../../test/support/store-steps.ts';
import { decide } from '../core/decide.ts';
import type { Decision } from '../core/decision.ts';
import { explain } from '../core/explain.ts';
import type { InLine } from '../core/line/line.ts';
import type { Order } from '../core/line/schedule.ts';
import type { Policy } from '../core/policy.ts';
import type { Task } from '../core/task.ts';
import { whyUntried } from '../core/trial.ts';
import { placesInLine, saidOf } from './landing-facts.ts';
import { observe } from './observe.ts';
import type { Ports } from './ports.ts';

const WORLDS = 200;
const NOW = 1_000_000;

test('random small worlds: what is said of each task is what is decided for it', async () => {
  const reached = new Map<string, number>();
  for (let seed = 1; seed <= WORLDS; seed += 1) {
    const { ports, tasks, order, eligible, mergesAlone } = someWorld(seed);
    const policy = ports.settings.policy();
    const others = tasks.map(({ task }) => task);
    const look = (task: Task, waitsForPlace: (id: string) => boolean) =>
      observe(ports, task, { ...LOOK, loop: LOOP, eligible, order, waitsForPlace }, 'now');
    // A worker knows of the others what came of their own looks: these found the line full.
    const waits = new Set<string>();
    for (const task of others) {
      const facts = { ...(await look(task, () => false)), mergeFree: false };
      const decision = decide(task, facts, policy, NOW);
      if (decision.kind === 'rest' && decision.grant === 'merge') waits.add(task.id);
    }
    const around = {
      pending: null,
      failure: null,
      all: others,
      underWay: { live: others, eligible, order, lineLength: await placesInLine(ports.forge, policy) },
      said: await saidOf(ports.forge, others),
      accounts: [],
      untried: whyUntried([], policy),
    };
    for (const { task, isIdle } of tasks) {
      if (!isIdle || task.hold) continue;
      const decision = decide(task, await look(task, (id) => waits.has(id)), policy, NOW);
      const { why } = explain(task, around, policy, NOW);
      const expected = `${task.state}: ${wordsOf(decision)}`;
      if (!why.startsWith(expected))
        throw new Error(
          `seed ${seed}, ${task.id}${mergesAlone ? ' (one at a time)' : ''}: decided “${expected}”, explained “${why}”`,
        );
      const key = wordsOf(decision).replace(/#\d+( and #\d+|, #\d+)*/g, '#');
      reached.set(key, (reached.get(key) ?? 0) + 1);
    }
  }
  // Worlds in which nobody waits for anybody prove nothing.
  for (const said of [
    'ready; the runner takes the next step',
    'waiting for a slot',
    'changes were asked for; waiting for a slot',
    'waiting for a critic',
    'approved; others merge first',
    'approved; waiting for the checks build',
    'tested; # first',
  ])
    expect.soft(reached.get(said) ?? 0, said).toBeGreaterThan(4);
});

const wordsOf = (decision: Decision): string =>
  decision.kind === 'rest' ? decision.why : 'ready; the runner takes the next step';

const LOOK = { trunkTree: null, paused: null, inFlight: null, stuck: null };
const LOOP = { ...(await memoryStore().loop()), accountLimits: [], trials: [] };

interface Placed {
  task: Task;
  /** Nothing of it is pending: what comes next is decided. */
  isIdle: boolean;
}

function someWorld(seed: number) {
  const random = mulberry32(seed);
  const int = (below: number): number => Math.floor(random() * below);
  const pick = <T>(among: readonly T[]): T => among[int(among.length)]!;
  const policy = testPolicy({
    maxConcurrent: 1 + int(3),
    critic: { parallel: 1 + int(2) },
    merge: { queue: { ahead: 1 + int(3), batch: pick([false, false, true]) } },
  });
  const mergesAlone = pick([false, false, true]);
  const places = mergesAlone ? 1 : policy.merge.queue.ahead;
  const line: InLine[] = [];
  const plays = [...Array(2 + int(4)).keys()].map((at) => {
    const wanted = pick(STAGES);
    const stage = wanted === 'inLine' && line.length >= places ? 'approved' : wanted;
    const play = playedTo(stage, policy, line);
    // In an order of its own: a younger one may be more urgent.
    const task = { ...play.task, id: `t${at}`, issue: at + 1, createdAt: at, pull: play.task.pull && at + 1 };
    if (stage === 'inLine') {
      task.linedUpAt = line.length + 1;
      const trunk = line.at(-1)?.candidate?.sha ?? 'trunk';
      const landing = task.landing!;
      const candidate = { ...landing.candidate, sha: `of-${task.id}`, trunk };
      task.landing = { ...landing, candidate };
      line.push({ task: task.id, issue: task.issue, candidate });
    }
    return { play, task };
  });
  const urgent = plays.map(() => int(3));
  const rank = ({ issue }: Task): number => urgent[(issue ?? 1) - 1]!;
  const order: Order = (a, b) => rank(a) - rank(b) || a.createdAt - b.createdAt;
  const tasks = plays.map(({ play, task }): Placed => ({ task, isIdle: play.pending.length === 0 }));
  return { ports: portsTo(plays, policy, mergesAlone), tasks, order, eligible: int(3), mergesAlone };
}

const STAGES = ['queued', 'working', 'judging', 'judged', 'asked', 'approved', 'checked', 'inLine'] as const;

function playedTo(stage: (typeof STAGES)[number], policy: Policy, line: readonly InLine[]): Play {
  const play = new Play();
  play.policy = policy;
  const { world } = play;
  if (stage === 'queued') world.slotsFull = true;
  play.claim();
  if (stage === 'queued' || stage === 'working') return play;
  if (stage === 'judging') world.criticsBusy = true;
  play.worked('c1');
  if (stage === 'judging' || stage === 'judged') return play;
  if (stage === 'asked') world.slotsFull = true;
  if (stage === 'asked') return play.critic(changes());
  if (stage === 'checked') play.ci('build', 'pending', { required: true });
  Object.assign(world, { mergeFree: stage === 'inLine', ahead: line, trunk: 'trunk' });
  play.critic(APPROVE);
  return stage === 'inLine' ? play.candidate().gate('pass') : play;
}

/** What a look asks, answered as each task's own world has it. */
function portsTo(plays: readonly { play: Play; task: Task }[], policy: Policy, mergesAlone: boolean): Ports {
  const worldOf = (number: number) => plays[number - 1]!.play.world;
  const rows = plays.map(({ task }) => ({ task, version: 1 }));
  const forge = {
    issue: async (number: number) => worldOf(number).issue,
    pull: async (number: number) => worldOf(number).pull,
    branchHead: async () => ({ sha: 'c1', tree: 'tree-c1' }),
    feedback: async (number: number) => worldOf(number).feedback,
    mergesAlone: async () => mergesAlone,
    mergeBlocker: async () => null,
    trunk: async () => ({ sha: 'trunk' }),
  };
  const store = {
    ...memoryStore(),
    tasks: async () => rows,
    task: async (id: string) => rows.find(({ task }) => task.id === id) ?? null,
  };
  const repository = {
    treeOf: async (sha: string) => `tree-of-${sha}`,
    diff: async () => ({ files: [], patch: '', commits: [], hidden: [] }),
    unsupportedFilters: async () => [],
  };
  return {
    forge,
    store,
    repository,
    settings: { policy: () => policy },
    sandbox: { choose: async () => ({ kind: 'none' }) },
    clock: { now: () => NOW },
    bootClock: { id: 'b1', now: () => 0 },
    isOwnerDead: () => false,
    newId: () => 's1',
    random: () => 0,
  } as unknown as Ports;
}

test('one that does not go together with what has landed since is ready, wherever trunk is', () => {
  const ahead = playedTo('approved', testPolicy(), []);
  const landed: Task = { ...ahead.task, id: 'a', issue: 1, state: 'merged', endedAt: 1 };
  const beside = playedTo('inLine', testPolicy(), []).task;
  const task: Task = {
    ...beside,
    landing: null,
    misfit: { with: [{ task: 'a', issue: 1 }], below: [], text: 'red together' },
  };
  const underWay = { live: [task], eligible: 0, order: () => 0, lineLength: 3 };
  const around = {
    ...{ pending: null, failure: null, all: [landed, task], underWay },
    ...{ said: null, accounts: [], untried: null },
  };
  expect(explain(task, around, testPolicy(), NOW).why).toBe('merging: ready; the runner takes the next step');
});
