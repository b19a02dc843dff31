/** One seed, one story: issues, agents of some temper, people who meddle, runners that die, and then peace. */
import { deployHold } from '../../src/core/deploy.ts';
import type { AgentPolicy, Policy } from '../../src/core/policy.ts';
import { ROLES } from '../../src/core/role.ts';
import type { Ports } from '../../src/loop/ports.ts';
import { LABELS } from '../support/labels.ts';
import { BARE } from '../support/policy.ts';
import { simAgent, type Temper, WILLING } from './agent.ts';
import { someChannels } from './channels.ts';
import { startCi } from './ci.ts';
import { checkInvariants, watchStore } from './invariants.ts';
import { mendTrunk } from './landing.ts';
import { meddle, startReviewing } from './people.ts';
import { goOn, lookAfterPlans, someLoop, startPlans } from './plans.ts';
import { type Random, seeded } from './random.ts';
import type { Wording } from './readers.ts';
import { type Faults, type SimRunner, startRunner } from './runner.ts';
import { createTimeline } from './time.ts';
import { addIssue, createWorld, mixGates, type World } from './world.ts';

export interface StoryOptions {
  seed: number;
  /** Crash the first runner after exactly this call, and do nothing else harmful. */
  crashAtCall?: number;
  calm?: boolean;
}

export interface StoryResult {
  violations: string[];
  calls: number;
  states: string[];
  world: World;
}

export const NO_FAULTS: Faults = {
  crashAtCall: null,
  crashChance: 0,
  failChance: 0,
  loseAnswerChance: 0,
  couldNotRun: 0,
  flaky: 0,
  deployFails: 0,
};
const HOUR = 3_600_000;

export async function playStory(options: StoryOptions): Promise<StoryResult> {
  const random = seeded(options.seed);
  const time = createTimeline(1_000_000);
  const world = createWorld(time, random);
  const isCrowded = random.chance(0.3);
  const policy = isCrowded ? crowdedPolicy(random) : withSomeLine(somePolicy(random), random);
  const temper = isCrowded ? crowdedTemper(random) : someTemper(random);
  // A batch comes of those that line up while a gate is running.
  if (isCrowded) mixGates(world, policy.merge.queue.batch ? 1 : 0.5);
  world.reportsTests = random.chance(0.7);
  world.allowsRedBefore = policy.gate.preexisting === 'allow_unchanged';
  world.lands = random.pick(['itself', 'itself', 'itself', 'anew', 'queue']);
  world.wantsReview = random.chance(0.1);
  watchStore(world, policy);
  startCi(world, {
    fails: random.pick([0, 0, 0.2, 0.5]),
    flips: random.pick([0, 0.3]),
    silent: random.pick([0, 0, 0.05]),
    required: random.chance(0.5),
  });
  if (world.wantsReview) startReviewing(world);
  const issues = isCrowded ? 3 + random.int(2) : 1 + random.int(4);
  const planning = random.fork('plans of issues');
  for (let number = 1; number <= issues; number++) {
    const wording = isCrowded ? 'sure' : someWording(random);
    addIssue(world, number, somePlan(planning) ?? wording, someBoxes(random));
  }

  const quiet = options.calm || options.crashAtCall !== undefined;
  world.isCalm = quiet;
  const faults: Faults = quiet
    ? { ...NO_FAULTS, crashAtCall: options.crashAtCall ?? null }
    : {
        crashAtCall: null,
        crashChance: random.pick([0, 0.002, 0.01, 0.03]),
        failChance: random.pick([0, 0.01, 0.05]),
        loseAnswerChance: random.pick([0, 0.01, 0.05]),
        couldNotRun: random.pick([0, 0, 0.02]),
        flaky: random.pick([0, 0, 0.1]),
        deployFails: random.pick([0, 0.3]),
      };

  await startPlans(world);

  const runners: SimRunner[] = [];
  let born = 0;
  let ports!: Ports;
  const keep = (some: Ports): Ports => {
    ports = some;
    return some;
  };
  const start = (some: Faults): SimRunner => {
    const agent = simAgent(world, temper);
    const runner = startRunner(world, policy, temper, some, `owner-${++born}`, 'until_idle', agent, keep);
    runners.push(runner);
    return runner;
  };
  const first = start(faults);
  lookAfterPlans(world, () => ports);
  if (!quiet && random.chance(0.4)) start(faults);
  if (!quiet) meddle(world, runners);

  const finished = new Set<string>();
  const track = (runner: SimRunner): void => void runner.done.then(() => finished.add(runner.owner));
  for (const runner of runners) track(runner);

  const stormEnds = time.now() + (quiet ? HOUR : 600_000 + random.int(600_000));
  for (;;) {
    await time.play(
      () => runners.every((runner) => runner.isDead() || finished.has(runner.owner)),
      stormEnds,
    );
    if (runners.every((runner) => runner.isDead() || finished.has(runner.owner))) {
      if (!runners.some((runner) => runner.isDead()) || time.now() >= stormEnds || born > 40) break;
      if (runners.some((runner) => finished.has(runner.owner) && !runner.isDead()) && random.chance(0.5))
        break;
      await time.play(() => false, time.now() + random.int(20_000));
      track(start(quiet ? NO_FAULTS : faults));
      if (quiet) break;
    } else break;
  }

  for (const runner of runners) {
    runner.resume();
    if (!finished.has(runner.owner)) runner.kill();
  }
  world.dirtyCheckout = 'no';
  const last = start(NO_FAULTS);
  track(last);
  await time.play(() => finished.has(last.owner), time.now() + 48 * HOUR);
  if (!finished.has(last.owner)) world.violate('the last runner never became idle');
  let isToldLater = false;
  for (
    let times = 0;
    times < 12 &&
    ((await mendTrunk(world)) || (await askForDeploy()) || (await goOn(world, ports)) || (await tellLater()));
    times++
  ) {
    const next = start(NO_FAULTS);
    track(next);
    await time.play(() => finished.has(next.owner), time.now() + 48 * HOUR);
  }
  if (await isHeldByDeploy(world, policy)) world.violate('a deploy that succeeded still holds the loop');
  await checkInvariants(world, policy);
  const states = (await world.store.tasks()).map(
    ({ task }) =>
      `#${task.issue}.${task.attempt} ${task.state} ${task.reason ?? ''} ${task.hold?.reason ?? ''}`,
  );
  return { violations: world.violations, calls: first.calls(), states, world };

  /** What could not be told is told in an hour, in which other things happen, too. */
  async function tellLater(): Promise<boolean> {
    if (isToldLater || (await world.store.pendingActions(null)).length === 0) return false;
    isToldLater = true;
    await time.play(() => false, time.now() + HOUR);
    return true;
  }

  async function askForDeploy(): Promise<boolean> {
    if (!(await isHeldByDeploy(world, policy))) return false;
    await world.store.updateLoop({ deployAgain: 'person' }, [], time.now());
    world.deploysAskedFor += 1;
    return true;
  }
}

/** Some list what they are judged by, some only tell it. */
const someBoxes = (random: Random): string[] =>
  Array.from({ length: random.int(3) }, (_, index) => `- [ ] part ${index} returns 1`);

const someWording = (random: Random): Wording =>
  random.pick(['sure', 'sure', 'sure', 'thin', 'vague', 'vague', 'taste']);

/** Some bodies are plans, and some of these can't be read. */
const somePlan = (random: Random): Wording | null =>
  random.chance(0.25) ? random.pick(['plan', 'plan', 'plan', 'unreadable']) : null;

async function isHeldByDeploy(world: World, policy: Policy): Promise<boolean> {
  const { deploy, deployAgain } = await world.store.loop();
  return deployHold(deploy, deployAgain !== null, policy.deploy) !== null;
}

/** How many line up for trunk, how many gates run at a time, and when new work waits. */
export const withSomeLine = (policy: Policy, random: Random): Policy => ({
  ...policy,
  maxWaiting: random.pick([null, null, 1]),
  gate: { ...policy.gate, maxConcurrent: 1 + random.int(3) },
  merge: { ...policy.merge, queue: { ahead: 1 + random.int(4), batch: random.chance(0.4) } },
});

export function somePolicy(random: Random): Policy {
  const agent: AgentPolicy = {
    kind: 'simulated',
    command: null,
    script: null,
    attachCommand: null,
    preset: null,
    model: null,
    fallbackModels: [],
    effort: null,
    prices: {},
    toolCalls: 20,
    forgeRequests: 20,
    turnTimeoutMs: 60_000,
    stallTimeoutMs: random.pick([0, 20_000]),
    env: BARE,
    read: [],
    write: [],
    network: 'host',
    secrets: [],
    mcp: [],
    gateway: 'all',
    toolTimeoutMs: 0,
    repeatedCalls: 0,
  };
  return {
    requiredLabels: [],
    labels: LABELS,
    pollIntervalMs: 60_000,
    wokenPollIntervalMs: 300_000,
    maxConcurrent: 1 + random.int(3),
    maxTurns: random.pick([2, 5, 20]),
    perState: {},
    maxWaiting: null,
    agents: {
      ...(Object.fromEntries(ROLES.map((role) => [role, agent])) as Policy['agents']),
      critic: { ...agent, kind: random.pick(['simulated', 'other']) },
    },
    critic: {
      enabled: random.chance(0.9),
      maxRounds: 3,
      parallel: 1 + random.int(2),
      blockOn: ['sev1', 'sev2'],
    },
    loop: someLoop(random),
    spec: { expand: random.pick(['auto', 'auto', 'propose', 'off']) },
    gate: {
      setup: random.pick([[], ['install']]),
      commands: ['./ci/test.sh'],
      mayBeEmpty: false,
      timeoutMs: 60_000,
      preexisting: random.pick(['block', 'allow_unchanged']),
      criteriaCommands: 'always',
      setupCache: true,
      reports: [],
      maxConcurrent: 4,
      env: BARE,
      network: 'host',
      secrets: [],
    },
    session: random.pick(['persist', 'persist', 'rotate', 'fresh']),
    whenFull: random.pick(['compact', 'rotate']),
    sandbox: { kind: 'none', image: null, read: [], network: 'host', trusted: [] },
    merge: {
      enabled: random.chance(0.95),
      method: 'squash',
      requiredChecks: random.pick([[], ['build']]),
      checksWaitMs: HOUR,
      queue: { ahead: 3, batch: false },
    },
    budget: {
      usd: null,
      tokens: random.pick([null, null, 3000]),
      wallMs: null,
      warnTurnUsd: null,
      day: { usd: null, tokens: random.pick([null, null, null, 1000, 3000]) },
      loop: { usd: random.pick([null, null, null, null, 4]), tokens: null },
    },
    keep: { abandonedMs: 14 * 86_400_000, logsMs: 90 * 86_400_000 },
    recovery: { mode: 'auto', onLostSession: random.pick(['abandon', 'fresh_session']) },
    hooks: {
      afterCreate: null,
      beforeRun: random.pick([null, null, 'install']),
      afterRun: null,
      beforeRemove: null,
      afterMerge: random.pick([null, 'notify']),
      timeoutMs: 1000,
      env: BARE,
      secrets: [],
    },
    deploy: {
      command: random.pick([null, 'deploy']),
      timeoutMs: 60_000,
      haltOnFailure: random.chance(0.5),
      env: BARE,
      passEnv: [],
    },
    notify: someChannels(random.fork('channels')),
    cooldownMs: HOUR,
    maxBackoffMs: 300_000,
    idleTurns: 3,
    protectedPaths: [],
    coAuthor: null,
  };
}

/** Several tasks are approved while the gate of the first is still running: they line up for trunk. */
function crowdedPolicy(random: Random): Policy {
  const policy = somePolicy(random);
  return {
    ...policy,
    maxConcurrent: 3,
    maxTurns: 20,
    maxWaiting: null,
    critic: { ...policy.critic, enabled: true, parallel: 3 },
    merge: { ...policy.merge, enabled: true, queue: { ahead: 2 + random.int(3), batch: random.chance(0.5) } },
    gate: { ...policy.gate, maxConcurrent: 4 },
    budget: { ...policy.budget, tokens: null },
  };
}

const crowdedTemper = (random: Random): Temper => ({
  ...WILLING,
  good: random.pick([0.9, 1]),
  shares: random.pick([0, 0.3]),
  clashes: random.pick([0, 0.3, 0.9]),
  forgets: 0.1,
});

function someTemper(random: Random): Temper {
  return {
    good: random.pick([0.5, 0.8, 1]),
    idle: random.pick([0, 0.1]),
    shares: random.pick([0, 0.3]),
    clashes: random.pick([0, 0.3]),
    fails: random.pick([0, 0.1]),
    hangs: random.pick([0, 0.05]),
    limits: random.pick([0, 0, 0.1]),
    approves: random.pick([0.4, 0.7, 1]),
    lies: random.pick([0, 0, 0.3]),
    blocks: random.pick([0, 0.05]),
    garbage: random.pick([0, 0.1]),
    forgets: 0.1,
    flaws: 0.2,
    reading: {
      expands: random.pick([0.3, 0.9]),
      declines: random.pick([0, 0.2]),
      contradicts: random.pick([0, 0.1]),
      babbles: random.pick([0, 0.3]),
    },
  };
}
