/** Nights in which something goes wrong for everybody, on virtual time: no task pays for what was not its doing. */
import { describe, expect, test } from 'vitest';
import { type Agent, failed, type TurnHooks, type TurnRequest, type TurnResult } from '../src/agent/agent.ts';
import { event } from '../src/core/event.ts';
import type { Policy } from '../src/core/policy.ts';
import type { Task } from '../src/core/task.ts';
import { UserError } from '../src/errors.ts';
import type { Ports } from '../src/loop/ports.ts';
import { WILLING } from './simulation/agent.ts';
import { seeded } from './simulation/random.ts';
import { startRunner } from './simulation/runner.ts';
import { NO_FAULTS, somePolicy } from './simulation/story.ts';
import { createTimeline } from './simulation/time.ts';
import { addIssue, createWorld, type World } from './simulation/world.ts';
import { NO_BUDGET } from './support/policy.ts';

const HOUR = 3_600_000;

/** Some issues that anybody could do, and a loop that may do them. */
function night(issues: number, change: Partial<Policy> = {}): { world: World; policy: Policy } {
  const random = seeded(11);
  const world = createWorld(createTimeline(0), random);
  const base = somePolicy(random);
  const policy: Policy = {
    ...base,
    critic: { ...base.critic, enabled: true, maxRounds: 50 },
    merge: { ...base.merge, enabled: true, requiredChecks: [] },
    budget: NO_BUDGET,
    maxTurns: 20,
    ...change,
  };
  for (let number = 1; number <= issues; number++) addIssue(world, number, 'sure');
  return { world, policy };
}

const tasksIn = async ({ store }: World): Promise<Task[]> => (await store.tasks()).map(({ task }) => task);

/** How each issue ended, or why it waits. */
const endsIn = async (world: World): Promise<string[]> =>
  (await tasksIn(world))
    .map(({ issue, state, why, hold }) =>
      state === 'merged' ? `#${issue} merged` : `#${issue} ${state} ${hold?.reason} ${why}`,
    )
    .sort();

describe('runners that die again and again', () => {
  test.each([1, 2, 5])('twelve in a row, %i turns at once: every issue merges', async (maxConcurrent) => {
    const { world, policy } = night(5, { maxConcurrent });
    for (let kills = 0; kills < 12; kills++) {
      const runner = startRunner(world, policy, WILLING, NO_FAULTS, `owner-${kills}`, 'forever');
      let isAtWork = false;
      const watch = (): void => {
        void tasksIn(world).then((tasks) => {
          isAtWork = tasks.some(({ turn }) => turn !== null) && world.processes.size > 0;
        });
        if (!runner.isDead()) world.time.after(500, watch);
      };
      watch();
      await world.time.play(() => isAtWork, world.time.now() + 2 * HOUR);
      expect(isAtWork, 'there is work left to be cut off').toBe(true);
      runner.kill();
    }
    const last = startRunner(world, policy, WILLING, NO_FAULTS, 'last', 'until_idle');
    let end: unknown = null;
    void last.done.then((ended) => {
      end = ended;
    });
    await world.time.play(() => end !== null, world.time.now() + 48 * HOUR);
    expect(await endsIn(world)).toEqual([1, 2, 3, 4, 5].map((issue) => `#${issue} merged`));
    expect(end).toMatchObject({ why: 'idle', needsPerson: [] });
    expect(world.violations).toEqual([]);
  });
});

test('a clock that is set ahead in the middle of a turn ends no turn and costs no time', async () => {
  const { world, policy } = night(1);
  let skewMs = 0;
  const runner = startRunner(
    world,
    policy,
    WILLING,
    NO_FAULTS,
    'owner',
    'until_idle',
    undefined,
    (ports) => ({
      ...ports,
      clock: { ...ports.clock, now: () => world.time.now() + skewMs },
      agentFor: (role) => {
        const agent = ports.agentFor(role);
        return {
          ...agent,
          run: (turn, hooks) => {
            world.time.after(100, () => {
              skewMs += 24 * HOUR;
            });
            return agent.run(turn, hooks);
          },
        };
      },
    }),
  );
  let isDone = false;
  void runner.done.then(() => {
    isDone = true;
  });
  await world.time.play(() => isDone, world.time.now() + 48 * HOUR);
  expect(await endsIn(world)).toEqual(['#1 merged']);
  const [task] = await tasksIn(world);
  expect(task?.turns).toBe(1);
  expect(task?.workedMs).toBeLessThan(HOUR);
});

test('a clock that is set ahead before a runner dies in its turn costs no more than a turn may take', async () => {
  const { world, policy } = night(1, { budget: { ...NO_BUDGET, wallMs: 8 * HOUR } });
  let skewMs = 0;
  const start = (owner: string, mode: 'forever' | 'until_idle', hangs: boolean) =>
    startRunner(world, policy, WILLING, NO_FAULTS, owner, mode, undefined, (ports) => ({
      ...ports,
      clock: { ...ports.clock, now: () => world.time.now() + skewMs },
      agentFor: (role) => {
        const agent = ports.agentFor(role);
        const run: Agent['run'] = async (_turn, { onProgress }) => {
          skewMs = 24 * HOUR;
          for (;;) {
            await world.time.sleep(10_000);
            onProgress();
          }
        };
        return hangs ? { ...agent, run } : agent;
      },
      // What it wrote last, by the clock of its machine.
      lastWrite: async () => (skewMs > 0 ? world.time.now() + skewMs : null),
    }));
  const first = start('first', 'forever', true);
  await world.time.play(() => skewMs > 0, HOUR);
  await world.time.play(() => false, world.time.now() + 30_000);
  first.kill();
  let isDone = false;
  void start('second', 'until_idle', false).done.then(() => {
    isDone = true;
  });
  await world.time.play(() => isDone, world.time.now() + 48 * HOUR);
  expect(await endsIn(world)).toEqual(['#1 merged']);
  const ended = await world.store.events({ type: 'turn_completed' });
  expect(ended[0]?.data).toMatchObject({ status: 'interrupted' });
});

describe('an agent that fails at once for everybody', () => {
  /** Every turn ends as this says while `isOut`; then as it would. */
  const outage =
    (world: World, isOut: () => boolean, seen: number[]) =>
    (ports: Ports): Ports => ({
      ...ports,
      agentFor: (role) => {
        const agent = ports.agentFor(role);
        return {
          ...agent,
          run: async (turn, hooks) => {
            if (!isOut()) return agent.run(turn, hooks);
            seen.push(world.time.now());
            return failed('exit_nonzero', 'the agent’s program exited with 1: 503 Service Unavailable', true);
          },
        };
      },
    });

  async function goesOn(world: World, policy: Policy, adjust: (ports: Ports) => Ports): Promise<unknown> {
    const runner = startRunner(
      world,
      policy,
      WILLING,
      NO_FAULTS,
      `owner-${world.time.now()}`,
      'until_idle',
      undefined,
      adjust,
    );
    let end: unknown = null;
    void runner.done.then((ended) => {
      end = ended;
    });
    await world.time.play(() => end !== null, world.time.now() + 48 * HOUR);
    return end;
  }

  /** As `outage`, by what each turn asks. */
  const failing =
    (isOut: (turn: TurnRequest) => boolean, end: (hooks: TurnHooks) => Promise<TurnResult>) =>
    (ports: Ports): Ports => ({
      ...ports,
      agentFor: (role) => {
        const agent = ports.agentFor(role);
        return { ...agent, run: (turn, hooks) => (isOut(turn) ? end(hooks) : agent.run(turn, hooks)) };
      },
    });
  const cannotStart = async () => failed('could_not_start', 'spawn E2BIG', true);
  const merged = (issues: number[]) => issues.map((issue) => `#${issue} merged`);

  test.each([
    [1, 6],
    [3, 6],
    [3, 1],
  ])(
    'for one issue alone, %i turns at once, %i issues: it ends, the others never wait',
    async (slots, issues) => {
      const { world, policy } = night(issues, { maxConcurrent: slots });
      const end = await goesOn(
        world,
        policy,
        failing(({ issue }) => issue === 1, cannotStart),
      );
      const first = (await tasksIn(world)).find(({ issue }) => issue === 1);
      expect(first).toMatchObject({ state: 'abandoned', reason: 'error_max_retries' });
      expect((await endsIn(world)).slice(1)).toEqual(merged([2, 3, 4, 5, 6].slice(0, issues - 1)));
      const events = await world.store.events();
      expect(events.filter(({ data }) => 'outage' in data || 'probe' in data)).toEqual([]);
      expect(end).toMatchObject({ why: 'idle' });
      expect(world.time.now()).toBeLessThan(2 * HOUR);
      expect(world.violations).toEqual([]);
    },
  );

  test('a hook that fails meanwhile, or an agent that says nothing, does not call all back', async () => {
    const { world, policy } = night(6);
    const seen: number[] = [];
    let times = 0;
    await goesOn(world, policy, (given) => {
      const isOut = (): boolean => world.time.now() < 4 * HOUR;
      const ports = failing(isOut, async ({ signal }) => {
        seen.push(world.time.now());
        if (++times % 4 !== 0) return failed('exit_nonzero', '503', true);
        // It hangs until it is stopped as stalled.
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        return { status: 'cancelled', usageKnown: true };
      })(given);
      const verify: Ports['workspaces']['verify'] = async (key) => {
        if (isOut() && times % 3 === 2 && ++times) throw new UserError('nothing can be verified now');
        return given.workspaces.verify(key);
      };
      return { ...ports, workspaces: { ...given.workspaces, verify } };
    });
    expect(await endsIn(world)).toEqual(merged([1, 2, 3, 4, 5, 6]));
    expect(seen.length, 'a few to find it out, then one at a time').toBeLessThan(30);
    expect(world.violations).toEqual([]);
  });

  test.each([1, 3])(
    'or never answers, %i turns at once: every issue merges when it does again',
    async (slots) => {
      const { world, policy } = night(6, { maxConcurrent: slots });
      let asked = 0;
      const end = await goesOn(
        world,
        policy,
        failing(
          () => world.time.now() < 4 * HOUR,
          async ({ signal }) => {
            asked += 1;
            await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
            return { status: 'cancelled', usageKnown: true };
          },
        ),
      );
      expect(await endsIn(world)).toEqual(merged([1, 2, 3, 4, 5, 6]));
      expect(end).toMatchObject({ why: 'idle', needsPerson: [] });
      expect(asked, 'a few to find it out, then one at a time').toBeLessThan(30);
      expect(world.violations).toEqual([]);
    },
  );

  test.each([1, 3])(
    'for an hour, %i turns at once: it is asked rarely, and every issue merges',
    async (maxConcurrent) => {
      const { world, policy } = night(6, { maxConcurrent });
      const seen: number[] = [];
      const end = await goesOn(
        world,
        policy,
        outage(world, () => world.time.now() < HOUR, seen),
      );
      expect(await endsIn(world)).toEqual([1, 2, 3, 4, 5, 6].map((issue) => `#${issue} merged`));
      expect(end).toMatchObject({ why: 'idle', needsPerson: [] });
      expect(seen.length, 'a few to find it out, then one at a time').toBeLessThan(18);
      expect(world.violations).toEqual([]);
    },
  );

  test('whatever a hook left unsaved: none of its turns is taken for work', async () => {
    const { world, policy } = night(2);
    const out = outage(world, () => world.time.now() < HOUR, []);
    await goesOn(world, policy, (given) => {
      const ports = out(given);
      const prepare: Ports['workspaces']['prepare'] = async (...args) => {
        const made = await given.workspaces.prepare(...args);
        world.workspaces.get(made.path)!.files['left.txt'] = 'good';
        return made;
      };
      return { ...ports, workspaces: { ...given.workspaces, prepare } };
    });
    const ended = (await world.store.events({ type: 'turn_completed' })).map(({ data }) => data);
    const failures = ended.filter((data) => 'status' in data && data.status === 'failed');
    expect(failures.length).toBeGreaterThan(3);
    expect(failures).toEqual(failures.map(() => expect.objectContaining({ workless: true })));
  });

  test('for ever: the run ends, says so, and no task has ended', async () => {
    const { world, policy } = night(6);
    const seen: number[] = [];
    const end = await goesOn(
      world,
      policy,
      outage(world, () => true, seen),
    );
    expect(end).toMatchObject({
      why: 'idle',
      needsPerson: expect.arrayContaining([expect.stringContaining('503 Service Unavailable')]),
    });
    expect((await tasksIn(world)).filter(({ state }) => state === 'abandoned')).toEqual([]);

    const again: number[] = [];
    await world.store.updateLoop(
      {},
      [event('account_released', { account: 'simulated', by: 'ann' })],
      world.time.now(),
    );
    await goesOn(
      world,
      policy,
      outage(world, () => false, again),
    );
    expect(await endsIn(world)).toEqual([1, 2, 3, 4, 5, 6].map((issue) => `#${issue} merged`));
  });

  test('a coder that hangs again and again after some work is not given up for it', async () => {
    const { world, policy } = night(1);
    let hung = 0;
    await goesOn(world, policy, (ports) => ({
      ...ports,
      agentFor: (role) => ({
        ...ports.agentFor(role),
        run: async (turn, hooks) => {
          if (role !== 'coder' || hung === 7) return ports.agentFor(role).run(turn, hooks);
          hung += 1;
          hooks.onProgress({ kind: 'tool', tool: 'read', detail: 'a.ts' });
          hooks.onProgress({ kind: 'tool_over', call: 'c', result: 'ok' });
          await new Promise((resolve) => hooks.signal.addEventListener('abort', resolve, { once: true }));
          return { status: 'cancelled', usageKnown: true };
        },
      }),
    }));
    const ended = (await world.store.events({ type: 'turn_completed' })).map(({ data }) => data);
    const stalled = ended.filter((data) => 'status' in data && data.status === 'stalled');
    expect(stalled).toEqual(Array(7).fill(expect.objectContaining({ role: 'coder', worked: true })));
    expect(await endsIn(world)).toEqual(merged([1]));
    expect(world.violations).toEqual([]);
  });

  test('after some work it is the task’s own failure, with the patience of always', async () => {
    const { world, policy } = night(1);
    await goesOn(world, policy, (ports) => ({
      ...ports,
      agentFor: (role) => ({
        ...ports.agentFor(role),
        run: async (_turn, hooks) => {
          hooks.onProgress({ kind: 'tool', tool: 'edit', detail: 'a.ts' });
          return failed('exit_nonzero', 'exit 1', true);
        },
      }),
    }));
    expect((await tasksIn(world))[0]).toMatchObject({ state: 'abandoned', reason: 'error_max_retries' });
  });
});

describe('one more urgent issue with every merge', () => {
  const OLD = 6;
  const MINUTE = 60_000;

  /** Claims that had been made when each of the old issues landed, the first to land first. */
  async function claimsUntil(policy: Policy, world: World, judgeMs: number): Promise<number[]> {
    const { store, time, issues } = world;
    for (const issue of issues.values()) issue.priority = null;
    const addUrgent = (): void => {
      const number = issues.size + 1;
      addIssue(world, number, 'sure');
      Object.assign(issues.get(number)!, { priority: 1, createdAt: time.now() });
    };
    for (let count = 0; count < 2 * policy.maxConcurrent; count++) addUrgent();

    const landed: number[] = [];
    const commit = store.commit.bind(store);
    store.commit = async (change) => {
      const after = await commit(change);
      if (!change.events.some(({ type }) => type === 'merge_observed')) return after;
      const claimed = (await store.tasks()).length;
      if (after.task.issue! <= OLD) landed.push(claimed);
      if (landed.length < OLD && claimed < 200) addUrgent();
      return after;
    };
    const slowCritic = (ports: Ports): Ports => ({
      ...ports,
      agentFor: (role) => {
        const agent = ports.agentFor(role);
        const run: Agent['run'] = async (turn, hooks) => {
          if (role === 'critic') await time.sleep(judgeMs);
          return agent.run(turn, hooks);
        };
        return { ...agent, run };
      },
    });
    let isOver = false;
    const runner = startRunner(
      world,
      policy,
      WILLING,
      NO_FAULTS,
      'owner',
      'until_idle',
      undefined,
      slowCritic,
    );
    void runner.done.then(() => {
      isOver = true;
    });
    await time.play(() => isOver, 30 * 24 * HOUR);
    expect(world.violations).toEqual([]);
    return landed;
  }

  test.each([
    ['one slot', { maxConcurrent: 1 }, 0],
    ['three slots', {}, 0],
    ['a critic that is slower than the rest', {}, 10 * MINUTE],
    ['… and a long pile before it', { maxWaiting: 30 }, 10 * MINUTE],
  ])('%s: each old one lands when its turn has come', async (_, change, judgeMs) => {
    const { world, policy } = night(OLD, { maxConcurrent: 3, spec: { expand: 'off' }, ...change });
    Object.assign(policy.critic, { parallel: 1 });
    policy.agents.critic = { ...policy.agents.critic, turnTimeoutMs: HOUR, stallTimeoutMs: 0 };
    const claims = await claimsUntil(policy, world, judgeMs);
    // Every tenth claim is theirs, and twenty others may overtake one that was claimed, besides those in hand.
    const most = Array.from({ length: OLD }, (_, nth) => 10 * (nth + 1) + 20 + 20);
    expect(
      claims.map((count, nth) => count <= most[nth]!),
      `${claims} of at most ${most}`,
    ).toEqual(most.map(() => true));
  });
});
