/** The loop itself on virtual time, with one thing about its surroundings changed at a time. */
import { describe, expect, test } from 'vitest';
import { type Agent, failed, type TurnRequest, type TurnResult } from '../src/agent/agent.ts';
import { event, type LoopEvent } from '../src/core/event.ts';
import { textHash } from '../src/core/issue/text-hash.ts';
import type { Policy } from '../src/core/policy.ts';
import type { Role } from '../src/core/role.ts';
import { DEFAULT_PROMPTS } from '../src/core/words/prompts.ts';
import { FetchFailed, ForgeUnavailable, GitFailed, UserError } from '../src/errors.ts';
import type { Issue } from '../src/forge/forge.ts';
import type { Ports } from '../src/loop/ports.ts';
import { isFoundOutAgain } from '../src/store/rules.ts';
import { WILLING } from './simulation/agent.ts';
import { seeded } from './simulation/random.ts';
import { startRunner, WRITES } from './simulation/runner.ts';
import { NO_FAULTS, somePolicy } from './simulation/story.ts';
import { createTimeline } from './simulation/time.ts';
import { addIssue, createWorld, type World } from './simulation/world.ts';
import { NO_BUDGET, testPolicy } from './support/policy.ts';

/** Plays one issue until `until` says that enough was seen. */
async function play(
  adjust: (ports: Ports, world: World) => Ports,
  change: Partial<Policy> = {},
  until: (events: LoopEvent[]) => boolean = (events) => types(events).includes('worktree_reaped'),
): Promise<{ world: World; events: LoopEvent[]; policy: Policy }> {
  const random = seeded(3);
  const time = createTimeline(0);
  const world = createWorld(time, random);
  const base = somePolicy(random);
  const policy: Policy = {
    ...base,
    critic: { ...base.critic, enabled: true },
    merge: { ...base.merge, enabled: true, requiredChecks: [] },
    budget: NO_BUDGET,
    ...change,
  };
  addIssue(world, 1, 'sure');
  const { done, runner } = startRunner(
    world,
    policy,
    WILLING,
    NO_FAULTS,
    'one',
    'forever',
    undefined,
    (ports) => adjust(ports, world),
  );
  let finished = false;
  void done.then(() => {
    finished = true;
  });
  const watch = (): void => {
    void world.store.events().then((events) => {
      if (until(events)) runner.drain('seen enough');
    });
    if (!finished) time.after(5000, watch);
  };
  watch();
  await time.play(() => finished, 3_600_000);
  return { world, events: await world.store.events(), policy };
}

/** The agents there are, with turns that are taken in another way. */
const running =
  (ports: Ports, take: (agent: Agent, ...turn: Parameters<Agent['run']>) => Promise<TurnResult>) =>
  (role: Role): Agent => {
    const agent = ports.agentFor(role);
    return { ...agent, run: (turn, hooks) => take(agent, turn, hooks) };
  };

const types = (events: readonly LoopEvent[]): string[] => events.map((event) => event.type);

describe('a template that fails when it is rendered', () => {
  test('holds the task with the template’s name and the problem; mended, it goes on by itself', async () => {
    let template = 'broken';
    const { events, world } = await play(
      (ports) => ({
        ...ports,
        settings: {
          ...ports.settings,
          template: (kind) => (kind === 'critic' ? template : DEFAULT_PROMPTS[kind]),
        },
        render: (kind, text, context) => {
          if (text === 'broken')
            throw new UserError(`The ${kind} prompt can't be rendered: unknown variable "x".`);
          return ports.render(kind, text, context);
        },
      }),
      {},
      (seen) => {
        if (types(seen).includes('prompt_broken')) template = 'mended';
        return types(seen).includes('worktree_reaped');
      },
    );
    const holds = events.flatMap((event) => (event.type === 'hold_set' ? [event.data] : []));
    expect(holds[0]).toMatchObject({ reason: 'prompt_broken', until: null });
    expect(holds[0]?.detail).toBe('The critic prompt can\'t be rendered: unknown variable "x".');
    expect(types(events).filter((type) => type === 'prompt_broken')).toHaveLength(1);
    expect(world.landings).toHaveLength(1);
    expect(world.violations).toEqual([]);
  });
});

describe('what goes wrong before an agent is asked', () => {
  const full = () => new GitFailed(['config'], 128, 'No space left on device');

  test.each<[string, (ports: Ports) => Ports]>([
    [
      'of the coder',
      (ports) => {
        let tries = 0;
        return { ...ports, identity: () => (tries++ < 4 ? Promise.reject(full()) : ports.identity()) };
      },
    ],
    [
      'of the critic',
      ({ workspaces, ...ports }) => {
        let tries = 0;
        const export_: typeof workspaces.export = (...place) =>
          tries++ < 4 ? Promise.reject(full()) : workspaces.export(...place);
        return { ...ports, workspaces: { ...workspaces, export: export_ } };
      },
    ],
  ])('is tried again, and is no turn: %s', async (_whose, adjust) => {
    const { events } = await play(adjust);
    const turns = events.flatMap((one) => (one.type === 'turn_completed' ? [one.data] : []));
    expect(turns.slice(0, 2).map(({ role }) => role)).toEqual(['coder', 'critic']);
    expect(turns.filter(({ status }) => status !== 'finished')).toEqual([]);
  });
});

describe('the next round of a critic', () => {
  /** The first round asks for changes; every turn of the critic, as it was asked. */
  async function twoRounds(elsewhere: boolean) {
    const asked: Pick<TurnRequest, 'resume' | 'cwd' | 'sessionId' | 'prompt'>[] = [];
    const judging = (ports: Ports): Ports => ({
      ...ports,
      workspaces: {
        ...ports.workspaces,
        export: async (commit, purpose, near) => {
          const wanted = elsewhere ? null : near;
          let tree = await ports.workspaces.export(commit, purpose, wanted);
          // In the simulation somebody else may have it, by chance.
          for (let tries = 0; wanted && tree.path !== wanted && tries < 20; tries++) {
            await tree.dispose();
            tree = await ports.workspaces.export(commit, purpose, wanted);
          }
          return tree;
        },
      },
      agentFor: running(ports, async (agent, turn, hooks) => {
        const result = await agent.run(turn, hooks);
        if (turn.role !== 'critic' || result.status !== 'finished') return result;
        asked.push(turn);
        const finding = { severity: 'sev2', message: 'one more' };
        const changes = { verdict: 'REQUEST_CHANGES', findings: [finding] };
        return asked.length > 1
          ? result
          : { ...result, structured: { ...(result.structured as object), ...changes } };
      }),
    });
    const { events, world } = await play(judging, { session: 'persist' });
    expect(world.violations).toEqual([]);
    const unfinished = events.flatMap((one) =>
      one.type === 'turn_completed' && one.data.status !== 'finished' ? [one.data] : [],
    );
    expect(events.filter(({ type }) => type === 'hold_set')).toEqual([]);
    return { asked, unfinished };
  }

  test('goes on in its session, where it began', async () => {
    const { asked, unfinished } = await twoRounds(false);
    const [first, second] = asked;
    expect(unfinished).toEqual([]);
    expect(second).toMatchObject({ resume: true, sessionId: first?.sessionId, cwd: first?.cwd });
    expect(second?.prompt).toMatch(/^next_round head /);
  });

  test('begins anew, at no cost to the task, where its copy can’t be at the same path', async () => {
    const { asked, unfinished } = await twoRounds(true);
    const [first, second] = asked;
    expect(unfinished).toMatchObject([{ role: 'critic', code: 'session_lost', usage: 'known' }]);
    expect(second).toMatchObject({ resume: false });
    expect(second?.sessionId).not.toBe(first?.sessionId);
    expect(second?.prompt).toMatch(/^critic head /);
  });
});

test('what a workspace needs and can’t be fetched for a while costs its task nothing', async () => {
  let tries = 0;
  const { events } = await play((ports) => ({
    ...ports,
    workspaces: {
      ...ports.workspaces,
      prepare: async (spec) => {
        tries += 1;
        if (tries <= 6) throw new FetchFailed('The submodule lib could not be fetched.', 'Fetch it.');
        return ports.workspaces.prepare(spec);
      },
    },
  }));
  const held = events.flatMap((one) => (one.type === 'hold_set' ? [one.data] : []));
  expect(held.filter(({ reason }) => reason === 'retry_backoff')).toHaveLength(6);
  expect(held[0]?.detail).toBe('The submodule lib could not be fetched. Fetch it.');
  expect(types(events)).toContain('worktree_reaped');
  expect(types(events)).not.toContain('recovery_failed');
});

test('a deploy does not start once the loop was paused', async () => {
  let isPaused = false;
  const { events } = await play(
    (ports, world) => ({
      ...ports,
      forge: new Proxy(ports.forge, {
        get(forge, verb) {
          const asked = Reflect.get(forge, verb);
          if (verb !== 'commands') return asked;
          return async (...about: unknown[]) => {
            if (!isPaused && types(await world.store.events()).includes('merge_observed')) {
              isPaused = true;
              const paused = event('loop_paused', { by: 'ann' });
              await world.store.updateLoop({ pausedBy: 'ann' }, [paused], ports.clock.now());
            }
            return Reflect.apply(asked, forge, about);
          };
        },
      }),
    }),
    { deploy: { ...testPolicy().deploy, command: 'deploy' } },
    (seen) => isPaused && types(seen).includes('worktree_reaped'),
  );
  expect(types(events)).toContain('loop_paused');
  expect(types(events)).not.toContain('deploy_started');
});

describe('an agent’s program starts when its turn is prepared', () => {
  /** What happens until the first turn is over. */
  const HOOKED = { hooks: { ...testPolicy().hooks, beforeRun: 'install' } };

  function noting(seen: string[], hookCode = 0) {
    return (ports: Ports, world: World): Ports => ({
      ...ports,
      agentFor: running(ports, async (agent, turn, hooks) => {
        seen.push(`asked: ${turn.prompt}`.split(' head')[0]!);
        const result = await agent.run(turn, hooks);
        seen.push(`agent ${result.status}`);
        return result;
      }),
      store: new Proxy(ports.store, {
        get(store, key) {
          const verb = Reflect.get(store, key);
          if (key !== 'startAction' && key !== 'recordProcess') return verb;
          return async (...given: unknown[]) => {
            const answer = await verb.apply(store, given);
            const { purpose = 'started' } = (key === 'recordProcess' ? given[1] : {}) as { purpose?: string };
            seen.push(purpose);
            return answer;
          };
        },
      }),
      workspaces: {
        ...ports.workspaces,
        verify: async (spec) => {
          await ports.workspaces.verify(spec);
          seen.push('verified');
        },
      },
      processes: {
        ...ports.processes,
        launch: async (request) => {
          const ended = await ports.processes.launch(request);
          seen.push('command over');
          if (request.argv.at(-1) !== 'install') return ended;
          expect([...world.processes.values()]).toEqual([]);
          return { ...ended, code: hookCode };
        },
      },
    });
  }

  test('with its prompt, once the turn is marked as started, the workspace verified and the hook run', async () => {
    const seen: string[] = [];
    await play(noting(seen), HOOKED, (events) => types(events).includes('turn_completed'));
    const turn = seen.slice(seen.indexOf('started'));
    expect(turn.slice(0, 7)).toEqual([
      'started',
      'verified',
      'hook beforeRun: install',
      'command over',
      'asked: task',
      'coder turn 1',
      'agent finished',
    ]);
  });

  test('not at all when the hook fails', async () => {
    const seen: string[] = [];
    const { world, events } = await play(noting(seen, 1), HOOKED, (all) =>
      types(all).includes('turn_completed'),
    );
    expect(seen.filter((what) => what.startsWith('asked') || what === 'coder turn 1')).toEqual([]);
    expect(events.find(({ type }) => type === 'turn_completed')?.data).toMatchObject({
      status: 'failed',
      code: 'hook_failed',
    });
    expect([...world.sessions.values()]).toEqual([]);
    expect(world.processes.size).toBe(0);
  });
});

test('paused and resumed in the middle of a turn, task and loop go on as if nobody had asked', async () => {
  let isAsked = false;
  const { events, world } = await play((ports, { store, time }) => ({
    ...ports,
    agentFor: running(ports, async (agent, turn, hooks) => {
      if (!isAsked) {
        isAsked = true;
        const { task } = (await store.tasks())[0]!;
        for (const kind of ['pause', 'resume'] as const)
          await store.request({ task: task.id, kind, by: 'ann', at: time.now() });
        const [paused, resumed] = [event('loop_paused', { by: 'ann' }), event('loop_resumed', { by: 'ann' })];
        await store.updateLoop({ pausedBy: 'ann' }, [paused], time.now());
        await store.updateLoop({ pausedBy: null }, [resumed], time.now());
      }
      return agent.run(turn, hooks);
    }),
  }));
  expect(types(events)).not.toContain('hold_set');
  expect(world.landings).toHaveLength(1);
});

test.each([
  ['auth', 3],
  ['billing', 1],
  ['setting_refused', 1],
] as const)(
  'what is refused to everybody (%s) waits for a person, and then all goes on',
  async (code, times) => {
    let isRefused = true;
    let resume = () => {};
    const refusing = (ports: Ports, { store, time, sessions }: World): Ports => {
      resume = () =>
        void store.updateLoop(
          {},
          [event('account_released', { account: 'simulated', by: 'ann' })],
          time.now(),
        );
      return {
        ...ports,
        agentFor: running(ports, async (agent, turn, hooks) => {
          if (!isRefused) return agent.run(turn, hooks);
          sessions.set(turn.sessionId, { messages: 1, cwd: turn.cwd });
          return failed(code, 'no', true);
        }),
      };
    };
    const isHeld = (one: LoopEvent): boolean =>
      one.type === 'hold_set' && one.data.reason === 'provider_limit';
    const { events, world } = await play(refusing, {}, (seen) => {
      if (isRefused && seen.some(isHeld)) {
        isRefused = false;
        resume();
      }
      return types(seen).includes('worktree_reaped');
    });
    expect(events.filter(isHeld)).toHaveLength(1);
    const refused = events.filter((one) => one.type === 'turn_completed' && one.data.code === code);
    expect(refused).toHaveLength(times);
    expect(world.landings).toHaveLength(1);
    expect(world.violations).toEqual([]);
  },
);

test('what is refused with these settings is tried again with others', async () => {
  let isRefused = true;
  const refusing = (ports: Ports, { sessions }: World): Ports => ({
    ...ports,
    settings: {
      ...ports.settings,
      policy: () => {
        const policy = ports.settings.policy();
        const coder = { ...policy.agents.coder, effort: isRefused ? 'max' : 'low' };
        return { ...policy, agents: { ...policy.agents, coder } };
      },
    },
    agentFor: running(ports, async (agent, turn, hooks) => {
      if (turn.policy.effort !== 'max') return agent.run(turn, hooks);
      sessions.set(turn.sessionId, { messages: 1, cwd: turn.cwd });
      return failed('setting_refused', 'effort: max is not one of low, high', true);
    }),
  });
  const { events, world } = await play(refusing, {}, (seen) => {
    if (types(seen).includes('hold_set')) isRefused = false;
    return types(seen).includes('worktree_reaped');
  });
  expect(events.find((one) => one.type === 'account_released')?.data).toMatchObject({ by: 'other settings' });
  expect(world.landings).toHaveLength(1);
});

describe('`sandbox: required` where there is none', () => {
  test('runs no hook, no turn and no gate, and says why', async () => {
    const { events, world } = await play(
      (ports) => ports,
      { sandbox: { kind: 'required', image: null, read: [], network: 'host', trusted: [] } },
      (seen) => types(seen).includes('hold_set'),
    );
    expect(events.find((event) => event.type === 'hold_set')?.data).toMatchObject({
      reason: 'sandbox_unavailable',
      detail: 'WORKFLOW.md says `sandbox: required`, and there is no sandbox here',
    });
    expect(types(events)).not.toContain('turn_started');
    expect(types(events)).not.toContain('gate_completed');
    expect(world.processes.size).toBe(0);
  });
});

test('between two turns the issue’s state is read once (dispatch 20)', async () => {
  const reads: number[] = [];
  let last: Issue | null = null;
  const counting = (ports: Ports, world: World): Ports => ({
    ...ports,
    forge: new Proxy(ports.forge, {
      get(forge, key) {
        const verb = Reflect.get(forge, key);
        if (key !== 'issue') return verb;
        return async (number: number, when?: 'lately') => {
          if (when === 'lately' && last) return last;
          const { seq } = (await world.store.events({ last: 1 }))[0]!;
          reads.push(seq);
          last = await forge.issue(number);
          return last;
        };
      },
    }),
    processes: {
      ...ports.processes,
      // At once, so that no poll falls into it; red in the workspace and green on the base, so that a turn follows.
      launch: async ({ cwd }) => ({
        code: cwd.startsWith('/w/') ? 1 : 0,
        signal: null,
        timedOut: false,
        cancelled: false,
        spawnError: null,
        tail: '',
        durationMs: 0,
      }),
    },
  });
  const { events } = await play(counting, { maxTurns: 4, idleTurns: 9, hooks: testPolicy().hooks }, (seen) =>
    types(seen).includes('worktree_preserved'),
  );
  const turns = events.filter(
    (event) =>
      (event.type === 'turn_started' || event.type === 'turn_completed') && event.data.role === 'coder',
  );
  expect(turns).toHaveLength(8);
  for (let at = 1; at + 1 < turns.length; at += 2) {
    const [ended, next] = [turns[at]!, turns[at + 1]!];
    expect([ended.type, next.type]).toEqual(['turn_completed', 'turn_started']);
    const between = reads.filter((seq) => seq >= ended.seq && seq < next.seq);
    expect(between, `between events ${ended.seq} and ${next.seq}`).toHaveLength(1);
  }
});

test.each([
  ['with', './after.sh'],
  ['without', null],
])(
  'another tree landed than was tested: the loop is held until trunk has passed the gate, %s a hook after merges',
  async (_, afterMerge) => {
    const { events, world } = await play(
      (ports, world) => ({
        ...ports,
        forge: {
          ...ports.forge,
          // Long enough for the runner to notice the hold: only this one run may start in spite of it.
          relabel: async (issue, change) => {
            await new Promise<void>((done) => world.time.after(10_000, done));
            return ports.forge.relabel(issue, change);
          },
          land: async (pull, candidate) => {
            const landed = await ports.forge.land(pull, candidate);
            if (landed.kind !== 'landed') return landed;
            return { ...landed, untested: { tree: world.repository.get(landed.sha).tree } };
          },
        },
      }),
      { hooks: { ...testPolicy().hooks, afterMerge } },
      (seen) => types(seen).includes('worktree_reaped'),
    );
    const told = events.flatMap((event) => {
      if (event.type === 'gate_completed')
        return [`gate on the ${event.data.scope}: ${event.data.evidence.outcome}`];
      return ['loop_held', 'loop_released', 'trunk_unverified'].includes(event.type) ? [event.type] : [];
    });
    expect(told.slice(told.indexOf('trunk_unverified'))).toEqual([
      'trunk_unverified',
      'loop_held',
      'gate on the trunk: pass',
      'loop_released',
    ]);
    expect((await world.store.loop()).holds).toEqual([]);
  },
);

test('a request to stop reaches the runner it was made to, though another one starts right after it', async () => {
  let store: Ports['store'] | null = null;
  let asked = false;
  const { events } = await play(
    (ports) => {
      store = ports.store;
      return ports;
    },
    {},
    (seen) => {
      if (!asked && types(seen).includes('worktree_reaped')) {
        asked = true;
        const stop = event('loop_stop_requested', { by: 'ann', now: false });
        const other = event('runner_started', { owner: 'two', pid: 2, version: '0' });
        void store!
          .updateLoop({ stop: 'drain' }, [stop], 0)
          .then(() => store!.updateLoop({ stop: 'no' }, [other], 0));
      }
      return false;
    },
  );
  expect(events.at(-1)).toMatchObject({
    type: 'runner_stopped',
    data: { owner: 'one', why: 'requested by `forge-loop stop`' },
  });
});

test.each([
  ['a pause', { pausedBy: 'ann' }, event('loop_paused', { by: 'ann' })],
  ['a stop', { stop: 'drain' }, event('loop_stop_requested', { by: 'ann', now: false })],
] as const)(
  '%s counts from when it is written, not from when the runner is told of it',
  async (_, row, said) => {
    let asked = false;
    const started: string[] = [];
    await play(
      (ports, world) => ({
        ...ports,
        store: {
          ...ports.store,
          commit: async (commit) => {
            const stored = await ports.store.commit(commit);
            if (!asked && commit.events.some(({ type }) => type === 'turn_completed')) {
              asked = true;
              await world.store.updateLoop(row, [said], world.time.now());
            }
            return stored;
          },
          startAction: async (lease, id, at) => {
            if (asked) started.push(`run ${id}`);
            return ports.store.startAction(lease, id, at);
          },
        },
      }),
      {},
      () => asked,
    );
    expect(asked).toBe(true);
    expect(started).toEqual([]);
  },
);

test.each([
  ['tells of its tools', true, 0],
  ['does not', undefined, 1],
] as const)(
  'before the turn of an agent that %s, its workspace is looked through so often',
  async (_, tells, most) => {
    const looked: number[] = [];
    let probes = 0;
    const { events } = await play((ports) => ({
      ...ports,
      workspaces: {
        ...ports.workspaces,
        probe: (spec) => {
          probes += 1;
          return ports.workspaces.probe(spec);
        },
      },
      agentFor: (role) => {
        const agent = ports.agentFor(role);
        const run: Agent['run'] = (turn, hooks) => {
          if (role === 'coder') looked.push(probes);
          return agent.run(turn, hooks);
        };
        return { ...agent, ...(tells && { tellsTools: tells }), run };
      },
    }));
    expect(types(events)).toContain('merge_observed');
    expect(looked[0]).toBe(most);
  },
);

test('a cancel that comes between a decision and its turn keeps the turn from starting', async () => {
  const asked: string[] = [];
  const { events } = await play(
    (ports) => ({
      ...ports,
      store: {
        ...ports.store,
        commit: async (commit) => {
          const stored = await ports.store.commit(commit);
          if (commit.events.some(({ type }) => type === 'turn_started'))
            await ports.store.request({ task: commit.taskId, kind: 'cancel', by: 'ann', at: commit.at });
          return stored;
        },
      },
      agentFor: running(ports, (agent, turn, hooks) => {
        asked.push(turn.role);
        return agent.run(turn, hooks);
      }),
    }),
    {},
    (seen) => types(seen).includes('worktree_preserved'),
  );
  expect(asked).toEqual([]);
  expect(events.find(({ type }) => type === 'turn_completed')?.data).toMatchObject({ status: 'interrupted' });
});

test('nothing is done outside while what came before is not on the disk', async () => {
  let isLost = false;
  let lost = 0;
  const hasty: string[] = [];
  const watched = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, verb) => {
        const value = Reflect.get(target, verb);
        if (typeof value !== 'function' || !WRITES.has(String(verb))) return value;
        return (...args: unknown[]) => {
          if (isLost) hasty.push(String(verb));
          return value.apply(target, args);
        };
      },
    });
  const { events } = await play((ports) => ({
    ...ports,
    forge: watched(ports.forge),
    workspaces: watched(ports.workspaces),
    processes: watched(ports.processes),
    store: {
      ...ports.store,
      commit: async (commit) => {
        const mayBeLost = isFoundOutAgain(commit, await ports.store.pendingActions(commit.taskId));
        if (mayBeLost) lost += 1;
        // Without an event it only spares an effect from being performed again.
        isLost = mayBeLost && commit.events.length > 0;
        return ports.store.commit(commit);
      },
      startAction: async (lease, id, at) => {
        isLost = false;
        return ports.store.startAction(lease, id, at);
      },
    },
  }));
  expect(types(events)).toContain('merge_observed');
  expect(lost).toBeGreaterThan(4);
  expect(hasty).toEqual([]);
});

test('a merge that got no answer is tried again, and says what kept it from being made', async () => {
  let tries = 0;
  const unanswered = (ports: Ports): Ports => ({
    ...ports,
    forge: {
      ...ports.forge,
      land: async (...given) => {
        tries += 1;
        if (tries === 1) throw new ForgeUnavailable('GitHub did not answer PUT /merge (502):\nBad Gateway.');
        return ports.forge.land(...given);
      },
    },
  });
  const { events } = await play(unanswered);
  const why = 'land failed 1×; will retry: GitHub did not answer PUT /merge (502): Bad Gateway.';
  expect(events.find((one) => one.type === 'landing_unanswered')?.data).toEqual({ why });
  const held = events.filter((one) => one.type === 'hold_set').map(({ data }) => data);
  expect(held).toEqual([expect.objectContaining({ reason: 'retry_backoff', detail: why })]);
});

test('a merge rests on what the forge says then, not on what it said a moment ago', async () => {
  const remembering = (ports: Ports, world: World): Ports => {
    const { forge } = ports;
    let known: ReturnType<typeof forge.issue> | null = null;
    return {
      ...ports,
      forge: {
        ...forge,
        issue: (number) => {
          known ??= forge.issue(number);
          return known;
        },
        doubt: () => {
          known = null;
        },
        buildCandidate: async (wanted) => {
          const issue = world.issues.get(1)!;
          issue.body += ' And more.';
          issue.textHash = textHash(issue);
          return forge.buildCandidate(wanted);
        },
      },
    };
  };
  const enough = (seen: LoopEvent[]) =>
    types(seen).includes('hold_set') || types(seen).includes('worktree_reaped');
  const { events, world } = await play(remembering, { pollIntervalMs: 600_000 }, enough);
  expect(types(events)).toContain('candidate_built');
  expect(events.find((event) => event.type === 'hold_set')?.data).toMatchObject({ reason: 'body_edited' });
  expect(world.landings).toEqual([]);
});

describe('running the gate on trunk before the first turn', () => {
  const gateFails = (ports: Ports, isBroken: () => boolean): Ports => ({
    ...ports,
    processes: {
      ...ports.processes,
      launch: async (request) => {
        const ended = await ports.processes.launch(request);
        return isBroken() ? { ...ended, code: 127, tail: 'sh: mvn: not found' } : ended;
      },
    },
  });
  const turnsIn = (events: readonly LoopEvent[]) => events.filter(({ type }) => type === 'turn_started');

  test.each<[string, (world: World, ports: Ports, change: (policy: Partial<Policy>) => void) => void]>([
    [
      'with corrected commands it goes on by itself',
      (_world, _ports, change) => change({ gate: { ...testPolicy().gate, commands: ['npm run check'] } }),
    ],
    [
      'a person’s resume tries it again',
      (world) =>
        void world.store.record({
          events: [event('gate_retry_requested', { by: 'ann' }), event('loop_resumed', { by: 'ann' })],
          at: world.time.now(),
        }),
    ],
  ])('where it can’t run no turn is paid for; %s', async (_, mend) => {
    let isBroken = true;
    let turnsBefore = -1;
    let world: World | null = null;
    let ports: Ports | null = null;
    let changed: Partial<Policy> = {};
    const { events, world: after } = await play(
      (given, made) => {
        world = made;
        ports = {
          ...gateFails(given, () => isBroken),
          settings: { ...given.settings, policy: () => ({ ...given.settings.policy(), ...changed }) },
        };
        return ports;
      },
      {},
      (seen) => {
        if (isBroken && types(seen).includes('gate_tried')) {
          isBroken = false;
          turnsBefore = turnsIn(seen).length;
          mend(world!, ports!, (policy) => {
            changed = policy;
          });
        }
        return types(seen).includes('worktree_reaped');
      },
    );
    const tried = events.flatMap((one) => (one.type === 'gate_tried' ? [one.data] : []));
    expect(tried.map(({ outcome }) => outcome)).toEqual(['could_not_run', 'pass']);
    expect(tried[0]?.detail).toContain('sh: mvn: not found');
    expect(turnsBefore).toBe(0);
    expect(after.landings).toHaveLength(1);
    expect(after.violations).toEqual([]);
  });

  test('what passed as a candidate is not tried again as trunk', async () => {
    const { events, world } = await play(
      (ports, world) => {
        addIssue(world, 2, 'sure');
        return ports;
      },
      { maxConcurrent: 1 },
      (seen) => types(seen).filter((type) => type === 'worktree_reaped').length === 2,
    );
    expect(types(events).filter((type) => type === 'gate_tried')).toHaveLength(1);
    expect(world.landings).toHaveLength(2);
  });

  test('an empty gate lets no turn start', async () => {
    const { events } = await play(
      (ports, world) => {
        world.time.after(
          60_000,
          () => void world.store.record({ events: [event('loop_resumed', { by: 'ann' })], at: 60_000 }),
        );
        return ports;
      },
      { gate: { ...testPolicy().gate, commands: [] } },
      (seen) => types(seen).includes('loop_resumed'),
    );
    expect(turnsIn(events)).toEqual([]);
  });
});

test('an issue that has to wait until a known time is begun then, however seldom the loop looks', async () => {
  const until = 1_000_000;
  const { events } = await play(
    (ports, world) => ({
      ...ports,
      forge: {
        ...ports.forge,
        openIssues: async () =>
          (await ports.forge.openIssues()).map((issue) =>
            world.time.now() < until ? { ...issue, unproved: { why: 'not shown yet', until } } : issue,
          ),
      },
    }),
    { pollIntervalMs: 600_000 },
  );
  const begun = events.find((one) => 'task' in one && one.task !== null)!;
  expect(begun.at).toBeGreaterThanOrEqual(until);
  expect(begun.at).toBeLessThan(until + 2000);
});
