/**
 * What a whole runner asks of GitHub, counted: the real loop, forge, git and work trees, with agents and a gate that take
 * their time on a virtual clock. No figure here depends on how fast the machine is.
 */
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Agent } from '../src/agent/agent.ts';
import type { Task } from '../src/core/task.ts';
import type { GitHubForge } from '../src/forge/github/github.ts';
import { openGit } from '../src/git/git.ts';
import { gitRepository } from '../src/git/repository.ts';
import { TIMING } from '../src/loop/ports.ts';
import type { Processes } from '../src/process/process.ts';
import { cloneWorkspaces } from '../src/workspace/clone.ts';
import { WILLING } from './simulation/agent.ts';
import { criticReport } from './simulation/critic.ts';
import { seeded } from './simulation/random.ts';
import { startRunner } from './simulation/runner.ts';
import { NO_FAULTS } from './simulation/story.ts';
import { createTimeline, type Timeline } from './simulation/time.ts';
import { createWorld, type World } from './simulation/world.ts';
import { type GitHubScratch, githubScratch } from './support/github/scratch.ts';
import type { Seen } from './support/github/server.ts';
import type { Protection } from './support/github/world.ts';
import { testPolicy } from './support/policy.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let s: GitHubScratch;
let loop: Loop;
beforeEach(async () => {
  s = await githubScratch({ freshMs: 5000, drafts: true, pollMs: () => MINUTE_MS });
});
afterEach(async () => {
  await loop.stop();
  vi.restoreAllMocks();
  await s.dispose();
  expect(loop.world.violations).toEqual([]);
});

describe('an hour', () => {
  it('without work, among fifty open issues and a comment, costs a request a minute, none of them charged', async () => {
    const first = await s.people.createIssue({ title: 'Not ready', body: 'B' });
    for (let number = 2; number <= 45; number++)
      await s.people.createIssue({ title: `${number}`, body: 'B' });
    for (let number = 46; number <= 50; number++) {
      const blocked = await s.people.createIssue({ title: `${number}`, body: 'B', blockedBy: [first] });
      await s.people.makeReady(blocked);
    }
    await s.people.comment(first, 'Any news?');
    loop = await startLoop();
    await loop.pass(5 * MINUTE_MS);
    const asked = await loop.during(HOUR_MS);
    expect(await loop.tasks()).toEqual([]);
    expect(asked.filter(({ path }) => path.includes('/issues?')).length).toBeGreaterThan(50);
    expect(asked.length).toBeLessThanOrEqual(60);
    expect(asked.filter(isCharged)).toEqual([]);
  });

  it.each([
    ['a person', { approvals: 1 }, { reason: 'rules_unmet' }],
    ['CI', { requiredChecks: ['ci'] }, null],
  ])('with a pull request that waits for %s costs at most two requests a minute', async (_, rules, hold) => {
    protect(rules);
    loop = await startLoop();
    await readyIssue();
    await loop.pass(20 * MINUTE_MS);
    const asked = await loop.during(HOUR_MS);
    expect(await loop.tasks()).toMatchObject([
      { state: 'awaiting_critic', verdict: { verdict: 'APPROVE' }, hold },
    ]);
    expect(asked.length).toBeLessThanOrEqual(120);
    expect(asked.filter(isCharged).length).toBeLessThanOrEqual(60);
    expect(writesIn(asked)).toEqual([]);
  });
});

it('a pull request that waits for a person is looked at when something about it changed, and not before', async () => {
  protect({ approvals: 1 });
  loop = await startLoop();
  const issue = await readyIssue();
  await loop.pass(20 * MINUTE_MS);
  const looks = async (): Promise<number> => {
    const before = loop.looks();
    await loop.pass(HOUR_MS);
    return loop.looks() - before;
  };
  expect(await looks()).toBe(0);
  const [{ pull }] = (await loop.tasks()) as [Task];
  await s.people.comment(issue, 'Any news?');
  expect(await looks()).toBeGreaterThan(0);
  expect(await looks()).toBe(0);
  await s.people.reportCheck(pull!, { name: 'lint', state: 'green' });
  expect(await looks()).toBeGreaterThan(0);
  expect(await looks()).toBe(0);
  await s.people.approve(pull!);
  await loop.pass(15 * MINUTE_MS);
  expect(await loop.tasks()).toMatchObject([{ state: 'merged' }]);
});

it('an issue that is coded, approved and merged within a quarter of an hour costs at most fifty requests, twelve of them writes', async () => {
  loop = await startLoop();
  await loop.pass(5 * MINUTE_MS);
  await readyIssue();
  const asked = await loop.during(15 * MINUTE_MS);
  expect(await loop.tasks()).toMatchObject([{ state: 'merged', turns: 1, criticRounds: 1 }]);
  expect(asked.length).toBeLessThanOrEqual(50);
  expect(writesIn(asked).length).toBeLessThanOrEqual(12);
  expect(writesIn(asked)).toMatchInlineSnapshot(`
    [
      "addLabelsToLabelable + removeLabelsFromLabelable",
      "POST /repos/acme/rocket/issues/N/comments",
      "POST /repos/acme/rocket/statuses/N",
      "POST /repos/acme/rocket/pulls",
      "PATCH /repos/acme/rocket/issues/comments/N",
      "POST /repos/acme/rocket/pulls/N/reviews",
      "POST /repos/acme/rocket/statuses/N",
      "markPullRequestReadyForReview",
      "PATCH /repos/acme/rocket/pulls/N",
      "PUT /repos/acme/rocket/pulls/N/merge",
      "addLabelsToLabelable + removeLabelsFromLabelable",
      "PATCH /repos/acme/rocket/issues/comments/N",
    ]
  `);
});

it('sixteen issues at once are merged at the pace GitHub asks for, and none of it counts as its silence', async () => {
  loop = await startLoop({ slots: 16, paced: true });
  for (let n = 0; n < 16; n++) await readyIssue();
  const asked = await loop.during(2 * HOUR_MS);
  const tasks = await loop.tasks();
  expect(tasks).toHaveLength(16);
  for (const task of tasks) expect(task).toMatchObject({ state: 'merged', turns: 1, criticRounds: 1 });
  // Neither for its silence, nor because others publish and land meanwhile.
  const mishaps = /did not answer|forge_unavailable|while the critic was at work/;
  expect((await loop.events()).filter((said) => mishaps.test(said))).toEqual([]);
  const writes = asked.filter((one) => writesIn([one]).length > 0).map(({ at }) => at);
  expect(writes.length).toBeGreaterThan(16 * 10);
  expect(mostWithin(MINUTE_MS, writes)).toBeLessThanOrEqual(80);
  expect(mostWithin(HOUR_MS, writes)).toBeLessThanOrEqual(500);
}, 600_000);

const mostWithin = (ms: number, times: readonly number[]): number =>
  Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + ms).length));

const protect = (rules: Partial<Protection>): void =>
  void s.github.world.protections.set('main', {
    ...{ via: 'ruleset', requiredChecks: [], strict: false, approvals: 0, mergeQueue: false },
    ...rules,
  });

async function readyIssue(): Promise<number> {
  const issue = await s.people.createIssue({ title: 'Write the file', body: 'It must contain `done`.' });
  await s.people.makeReady(issue);
  return issue;
}

/** GitHub's limit does not count what changed nothing. */
const isCharged = ({ status }: Seen): boolean => status !== 304;

const writesIn = (asked: readonly Seen[]): string[] =>
  asked.flatMap(({ method, path, mutation }) => {
    if (path === '/graphql') return mutation ?? [];
    return method === 'GET' ? [] : `${method} ${path.replace(/[0-9a-f]{40}|\d+/g, 'N')}`;
  });

interface Loop {
  world: World;
  pass(ms: number): Promise<void>;
  /** What the loop asks of the API meanwhile. */
  during(ms: number): Promise<Seen[]>;
  tasks(): Promise<Task[]>;
  /** Each as text. */
  events(): Promise<string[]>;
  /** How often a task with a pull request was looked at. */
  looks(): number;
  stop(): Promise<void>;
}

async function startLoop({ slots = 3, paced = false } = {}): Promise<Loop> {
  const time = createTimeline(s.clock.at);
  Object.defineProperty(s.clock, 'at', { get: time.now, set: () => {} });
  const world = createWorld(time, seeded(1));
  const git = await openGit(s.root);
  const real = watched();
  if (paced) paceBy(time, real.of);
  const adapter = paced ? await s.open({ paced, writesPerHour: 500, git: real.of(git) }) : s.forge;
  const root = join(s.root, '..', 'work');
  let looks = 0;
  const forge: GitHubForge = {
    ...adapter,
    pull: (number) => {
      looks += 1;
      return adapter.pull(number);
    },
  };
  const workspaces = cloneWorkspaces({
    ...{ git, root, repositoryKey: 'k', former: [] },
    trunk: () => adapter.trunk(),
  });
  const { runner, done } = startRunner(
    world,
    testPolicy({
      pollIntervalMs: MINUTE_MS,
      maxConcurrent: slots,
      critic: { parallel: slots },
      merge: { checksWaitMs: 2 * HOUR_MS },
    }),
    WILLING,
    NO_FAULTS,
    'one',
    'forever',
    agentOf(world),
    (ports) => ({
      ...ports,
      // What it waits for by itself passes on the virtual clock.
      forge: paced ? forge : real.of(forge),
      repository: real.of(gitRepository(git)),
      workspaces: real.of(workspaces),
      processes: gateOf(world),
      timing: TIMING,
    }),
  );
  const pass = async (ms: number): Promise<void> => {
    const end = time.now() + ms;
    while (time.now() < end) {
      await time.play(() => real.isBusy() || time.now() >= end, end);
      await real.settled();
    }
  };
  return {
    world,
    pass,
    async during(ms) {
      const before = s.github.requests.length;
      await pass(ms);
      const asked = s.github.requests.slice(before);
      return asked.filter(({ user, path }) => user === 'loop-bot' && !path.startsWith('git '));
    },
    looks: () => looks,
    events: async () => (await world.store.events()).map((one) => JSON.stringify(one)),
    tasks: async () => (await world.store.tasks()).map(({ task }) => task),
    async stop() {
      runner.stopNow('counted');
      let isOver = false;
      void done.then(() => {
        isOver = true;
      });
      while (!isOver) {
        await time.play(() => isOver || real.isBusy(), time.now() + HOUR_MS);
        await real.settled();
      }
      await git.close();
    },
  };
}

/** What takes real time: virtual time waits for it. */
function watched() {
  const asked = new Set<Promise<unknown>>();
  const noted = (answer: unknown): unknown => {
    if (!(answer instanceof Promise)) return answer;
    asked.add(answer);
    void answer.catch(() => {}).finally(() => asked.delete(answer));
    return answer.then((given) => (hasVerbs(given) ? of(given) : given));
  };
  const of = <T extends object>(target: T): T =>
    new Proxy(target, {
      apply: (verb, _, args) => noted(Reflect.apply(verb as () => unknown, undefined, args)),
      get(_, key) {
        const verb = Reflect.get(target, key);
        return typeof verb !== 'function' ? verb : (...args: unknown[]) => noted(verb.apply(target, args));
      },
    });
  return {
    of,
    isBusy: () => asked.size > 0,
    settled: async () => {
      while (asked.size > 0) await Promise.allSettled([...asked]);
    },
  };
}

/** What the client waits for by itself, its turn or its patience, passes on this clock; requests take no time on it. */
function paceBy(time: Timeline, real: <T extends object>(target: T) => T): void {
  const ask = globalThis.fetch;
  const whole = async (...given: Parameters<typeof fetch>): Promise<Response> => {
    const answer = await ask(...given);
    const body = await answer.arrayBuffer();
    return new Response(body.byteLength === 0 ? null : body, answer);
  };
  vi.spyOn(globalThis, 'fetch').mockImplementation(real(whole));
  vi.spyOn(Date, 'now').mockImplementation(time.now);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    const patience = new AbortController();
    time.after(ms, () => patience.abort(new DOMException('It took too long', 'TimeoutError')));
    return patience.signal;
  });
  const timers = new WeakMap<object, () => void>();
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((
    wake: (...given: unknown[]) => void,
    ms = 0,
    ...given: unknown[]
  ) => {
    const timer = { ref: () => timer, unref: () => timer, refresh: () => timer, hasRef: () => true };
    const forget = time.after(ms, () => wake(...given));
    timers.set(timer, forget);
    return timer;
  }) as unknown as typeof setTimeout);
  const clear = globalThis.clearTimeout;
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    if (typeof timer === 'object' && timers.has(timer)) timers.get(timer)!();
    else clear(timer);
  });
}

/** Such as a tree that has to be disposed of. */
const hasVerbs = (given: unknown): given is object =>
  given?.constructor === Object && Object.values(given).some((one) => typeof one === 'function');

function agentOf(world: World): Agent {
  const minutes = { coder: 10, critic: 3, specifier: 1, auditor: 3, planner: 3 };
  return {
    kind: 'scripted',
    unavailable: async () => null,
    probeSession: async () => 'resumable',
    finished: async () => null,
    async run(turn, { onHeld, onProgress, onUsage }) {
      await onHeld({ pid: 1, startTime: '1', bootId: 'b' });
      for (let minute = 0; minute < minutes[turn.role]; minute++) {
        await world.time.sleep(MINUTE_MS);
        onProgress();
      }
      if (turn.role === 'coder') writeFileSync(join(turn.cwd, `${basename(turn.cwd)}.txt`), 'done\n');
      const used = { input: 1000, output: 100, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
      onUsage({ key: `${turn.role} ${turn.number}`, model: 'm', costUsd: 0.5, ...used });
      const structured = turn.role === 'critic' ? criticReport(world, WILLING, turn) : null;
      return { status: 'finished', text: '', structured, usageKnown: true };
    },
  };
}

function gateOf(world: World): Processes {
  return {
    async launch({ onHeld }) {
      await onHeld({ pid: 2, startTime: '1', bootId: 'b' });
      await world.time.sleep(MINUTE_MS / 2);
      const ended = { signal: null, timedOut: false, cancelled: false, spawnError: null };
      return { code: 0, ...ended, tail: '', durationMs: MINUTE_MS / 2 };
    },
    isAlive: async () => false,
    stop: async () => [],
    marked: async () => new Set(),
  };
}
