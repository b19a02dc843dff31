/** A turn that finished while its runner died, on virtual time: what whoever takes it up does and keeps. */
import { expect, test } from 'vitest';
import type { Policy } from '../src/core/policy.ts';
import type { Ports } from '../src/loop/ports.ts';
import { WILLING } from './simulation/agent.ts';
import { seeded } from './simulation/random.ts';
import { type SimRunner, startRunner } from './simulation/runner.ts';
import { NO_FAULTS, somePolicy } from './simulation/story.ts';
import { createTimeline } from './simulation/time.ts';
import { addIssue, createWorld, type World } from './simulation/world.ts';
import { NO_BUDGET } from './support/policy.ts';

const HOUR = 3_600_000;
const SAYS = { summary: 'It adds the thing.', tests: 'ran them', open: ['nothing'] };

function oneIssue(): { world: World; policy: Policy } {
  const random = seeded(11);
  const world = createWorld(createTimeline(0), random);
  const base = somePolicy(random);
  addIssue(world, 1, 'sure');
  return {
    world,
    policy: {
      ...base,
      critic: { ...base.critic, enabled: true },
      merge: { ...base.merge, enabled: true, requiredChecks: [] },
      budget: NO_BUDGET,
      hooks: { ...base.hooks, afterRun: './after-run' },
    },
  };
}

/** Runs to its end, or until it is killed. */
async function play(world: World, policy: Policy, adjust: (ports: Ports, kill: () => void) => Ports) {
  let isOver = false;
  let runner: SimRunner | null = null;
  const kill = (): void => {
    isOver = true;
    runner?.kill();
  };
  runner = startRunner(
    world,
    policy,
    WILLING,
    NO_FAULTS,
    `owner-${world.time.now()}`,
    'until_idle',
    undefined,
    (ports) => adjust(ports, kill),
  );
  void runner.done.then(() => {
    isOver = true;
  });
  await world.time.play(() => isOver, world.time.now() + 24 * HOUR);
}

/** How often the hook after a turn was started. */
const hooked = (ports: Ports, started: () => void): Ports => ({
  ...ports,
  processes: {
    ...ports.processes,
    launch: (request) => {
      if (request.argv.some((word) => word.includes('./after-run'))) started();
      return ports.processes.launch(request);
    },
  },
});

test.each(['before its hook', 'in its hook'])(
  'a runner that dies %s: the hook runs once, and the summary is kept',
  async (when) => {
    const { world, policy } = oneIssue();
    let hooks = 0;
    await play(world, policy, (given, kill) => {
      const ports = hooked(given, () => {
        hooks += 1;
        if (when === 'in its hook') kill();
      });
      return {
        ...ports,
        agentFor: (role) => {
          const agent = ports.agentFor(role);
          return {
            ...agent,
            run: async (turn, asked) => {
              await asked.tools?.call('finish', SAYS);
              const result = await agent.run(turn, asked);
              if (when === 'before its hook') kill();
              return result;
            },
          };
        },
      };
    });
    await play(world, policy, (ports) =>
      hooked(ports, () => {
        hooks += 1;
      }),
    );
    const recovered = await world.store.events({ type: 'recovered' });
    expect(recovered).toMatchObject([{ data: { plan: 'take_up' } }]);
    expect(hooks).toBe(1);
    const [stored] = await world.store.tasks();
    expect(stored?.task).toMatchObject({ state: 'merged', turns: 1, summary: SAYS });
  },
);
