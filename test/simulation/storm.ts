/**
 * Willing agents, nobody who meddles, and a storm: runners that are killed again and again, a provider that fails everybody
 * for a while, clocks that jump. What a storm does is nobody's fault. So more is asked of these stories than of others:
 * when it is over every issue is merged, no task was given up, and no hold was longer than it said. One exception: what fails
 * for everybody while only one task asks can't be told from that task's own failure.
 */
import type { FailureCode } from '../../src/agent/agent.ts';
import { latestAttempts } from '../../src/core/line/schedule.ts';
import { failedAtOnce, PROVIDERS_OWN } from '../../src/core/money/account.ts';
import type { Policy } from '../../src/core/policy.ts';
import { needsSlot, occupiesSlot, type Task } from '../../src/core/task.ts';
import { TIMING } from '../../src/loop/ports.ts';
import { taskLease } from '../../src/store/store.ts';
import { simAgent, type Temper, WILLING } from './agent.ts';
import { startCi } from './ci.ts';
import { checkInvariants, watchStore } from './invariants.ts';
import { mendTrunk } from './landing.ts';
import { makeReady } from './people.ts';
import { type Random, seeded } from './random.ts';
import { redFiles } from './repository.ts';
import { type Faults, type SimRunner, startRunner } from './runner.ts';
import { NO_FAULTS, type StoryResult, somePolicy, withSomeLine } from './story.ts';
import { createTimeline } from './time.ts';
import { addIssue, createWorld, mixGates, type World } from './world.ts';

/** How probable each kind of storm is in a story. */
export interface Storms {
  kills: number;
  outage: number;
  clocks: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A machine keeps one runner going, with a clock of its own. Who died on another one can't be known, only waited for. */
interface Machine {
  name: string;
  runner: SimRunner | null;
  /** How far its clock is off. */
  skewMs: number;
}

export async function playStorm(seed: number, storms: Storms): Promise<StoryResult> {
  const random = seeded(seed);
  const time = createTimeline(100 * DAY);
  const world = createWorld(time, random);
  const policy = mildPolicy(random);
  const temper: Temper = {
    ...WILLING,
    shares: random.pick([0, 0.3]),
    clashes: random.pick([0, 0.3, 0.9]),
    fails: random.pick([0, 0.2]),
  };
  if (random.chance(0.5)) mixGates(world);
  world.lands = random.pick(['itself', 'itself', 'queue']);
  watchStore(world, policy);
  watchHolds(world, policy);
  startCi(world, { fails: 0, flips: 0, silent: 0, required: random.chance(0.5) });
  const issues = 2 + random.int(5);
  for (let number = 1; number <= issues; number++) addIssue(world, number, 'sure');

  const isOn = (weight: number): boolean => random.chance(weight);
  const [killed, out, jumping] = [isOn(storms.kills), isOn(storms.outage), isOn(storms.clocks)];
  let isOver = false;
  let born = 0;
  let calls = 0;
  const machines: Machine[] = Array.from({ length: random.pick([1, 1, 2]) }, (_, index) => ({
    name: `machine-${index}`,
    runner: null,
    skewMs: jumping ? someSkew(random) : 0,
  }));
  for (const machine of machines) keepGoing(machine);
  if (out) breakProvider(world);
  if (jumping) for (const machine of machines) letJump(machine, random.int(4));

  const isAllClosed = (): boolean => [...world.issues.values()].every(({ state }) => state === 'closed');
  await time.play(isAllClosed, time.now() + 20 * MINUTE + random.int(3 * HOUR));
  isOver = true;
  world.outage = null;
  for (const machine of machines) {
    machine.skewMs = 0;
    machine.runner?.kill();
  }
  await settle();
  await checkInvariants(world, policy);
  await checkAftermath(world);
  const tasks = (await world.store.tasks()).map(({ task }) => task);
  const states = tasks.map(
    ({ issue, attempt, state, reason }) => `#${issue}.${attempt} ${state} ${reason ?? ''}`,
  );
  return { violations: world.violations, calls, states, world };

  function start(machine: Machine, faults: Faults): SimRunner {
    const now = (): number => time.now() + machine.skewMs;
    const runner = startRunner(
      world,
      policy,
      temper,
      faults,
      `${machine.name}/${++born}`,
      'until_idle',
      simAgent(world, temper, now),
      (ports) => ({
        ...ports,
        clock: { ...ports.clock, now },
        isOwnerDead: (other) => other.startsWith(`${machine.name}/`) && ports.isOwnerDead(other),
      }),
    );
    machine.runner = runner;
    return runner;
  }

  /** Somebody starts it again a moment after it ended, however it did. */
  function keepGoing(machine: Machine): void {
    if (isOver) return;
    const runner = start(
      machine,
      killed ? { ...NO_FAULTS, crashChance: random.pick([0, 0.005, 0.05]) } : NO_FAULTS,
    );
    if (killed) time.after(random.int(random.pick([1000, 30_000, 300_000])), () => runner.kill());
    let isDone = false;
    void runner.done.then(() => {
      isDone = true;
    });
    const look = (): void => {
      calls += 1;
      if (runner.isDead()) keepGoing(machine);
      else if (isDone) time.after(10 * MINUTE, () => keepGoing(machine));
      else if (!isOver) time.after(5000, look);
    };
    time.after(random.int(20_000), look);
  }

  function letJump(machine: Machine, times: number): void {
    if (isOver || times === 0) return;
    machine.skewMs = someSkew(random);
    time.after(random.int(random.pick([20_000, 2 * MINUTE, 30 * MINUTE])), () => letJump(machine, times - 1));
  }

  /** Peace: one runner whose clock is right, and a person who lets go on what waits for one. */
  async function settle(): Promise<void> {
    for (let times = 0; times < 20; times++) {
      const last = start({ name: 'machine-0', runner: null, skewMs: 0 }, NO_FAULTS);
      let isDone = false;
      void last.done.then(() => {
        isDone = true;
      });
      await time.play(() => isDone, time.now() + 6 * HOUR);
      if (!isDone) {
        world.violate('the storm is over for hours, and the last runner is not idle');
        last.kill();
      }
      if (!(await letGoOn(world))) return;
      // Until then it may belong to a runner that died on another machine.
      void time.sleep(10 * MINUTE);
      await time.play(() => false, time.now() + 10 * MINUTE);
    }
  }
}

/** Everything that keeps an issue from its merge in an ordinary story is left out of it. */
function mildPolicy(random: Random): Policy {
  const policy = withSomeLine(somePolicy(random), random);
  return {
    ...policy,
    maxTurns: 20,
    critic: { ...policy.critic, enabled: true, maxRounds: 20 },
    merge: { ...policy.merge, enabled: true, requiredChecks: [] },
    budget: {
      ...policy.budget,
      tokens: null,
      day: { usd: null, tokens: null },
      loop: { usd: null, tokens: null },
    },
    spec: { expand: 'off' },
    deploy: { ...policy.deploy, command: null },
    recovery: { ...policy.recovery, onLostSession: 'fresh_session' },
  };
}

const someSkew = (random: Random): number => random.pick([0, 0, DAY, -30 * DAY, HOUR, -HOUR]);

/** From some moment on, every turn of everybody fails at once, in the same way. */
function breakProvider(world: World): void {
  const { random, time } = world;
  const code: FailureCode = random.pick(['exit_nonzero', 'overload', 'network', 'auth', 'billing']);
  time.after(random.int(2 * MINUTE), () => {
    world.outage = code;
    time.after(random.pick([2 * MINUTE, 30 * MINUTE, 4 * HOUR]), () => {
      world.outage = null;
    });
  });
}

/** For the next runner that is started and looks; any jump is longer. */
const SLACK_MS = 15 * MINUTE;

/** A hold that ends by itself ends when as much time has passed as it was set for, whatever the clocks say. */
function watchHolds(world: World, { maxConcurrent }: Policy): void {
  const { store, time } = world;
  const held = new Map<string, { reason: string; since: number; lengthMs: number }>();
  /** By task: until when nobody else could have it, since who had it died. */
  const orphanedUntil = new Map<string, number>();
  world.onDeath.push((owner) => {
    const diedAt = time.now();
    void store.leases().then((leases) => {
      for (const { key, owner: holder } of leases)
        if (holder === owner) orphanedUntil.set(key, diedAt + TIMING.leaseTtlMs);
    });
  });
  let slotsFullAt = 0;
  let seen = 0;
  const look = async (): Promise<void> => {
    const live = (await store.tasks({ live: true })).map(({ task }) => task);
    for (const one of await store.events({ after: seen })) {
      seen = Math.max(seen, one.seq);
      const task = one.task ?? '';
      const before = held.get(task);
      if (one.type !== 'hold_set' && one.type !== 'hold_released' && one.type !== 'hold_cleared') continue;
      held.delete(task);
      const freeAt = orphanedUntil.get(taskLease(task)) ?? 0;
      // One whose time has come still waits for its slot.
      const slotAt = live.some((other) => other.id === task && needsSlot(other)) ? slotsFullAt : 0;
      const overAt = before ? Math.max(before.since + before.lengthMs, freeAt, slotAt) : time.now();
      if (before && time.now() > overAt + SLACK_MS)
        world.violate(
          `${task} was held (${before.reason}) for ${time.now() - before.since} ms instead of ${before.lengthMs}`,
        );
      if (one.type === 'hold_set' && one.data.until !== null)
        held.set(task, {
          reason: one.data.reason,
          since: time.now(),
          lengthMs: one.data.until - one.at,
        });
    }
    if (live.filter(occupiesSlot).length >= maxConcurrent) slotsFullAt = time.now();
  };
  const commit = store.commit.bind(store);
  store.commit = async (change) => {
    const result = await commit(change);
    await look();
    return result;
  };
  const record = store.record.bind(store);
  store.record = async (change) => {
    const result = await record(change);
    await look();
    return result;
  };
}

/** What a person does the morning after. False when nothing waited for one. */
async function letGoOn(world: World): Promise<boolean> {
  const { store, time } = world;
  let waited = await mendTrunk(world);
  for (const { task } of await store.tasks({ live: true })) {
    if (task.hold?.until !== null) continue;
    await store.request({ task: task.id, kind: 'resume', by: 'person', at: time.now() });
    waited = true;
  }
  for (const task of latestAttempts((await store.tasks()).map((stored) => stored.task)).values()) {
    if (task.state !== 'abandoned' || task.issue === null || !(await hasFailedAlone(world, task))) continue;
    makeReady(world, task.issue);
    await store.request({ task: task.id, kind: 'retry', by: 'person', at: time.now() });
    waited = true;
  }
  return waited;
}

/** On its account its turns and no other's failed at once, since anybody's last turn there that did some work. */
async function hasFailedAlone({ store }: World, { id, reason }: Task): Promise<boolean> {
  if (reason !== 'error_max_retries' && reason !== 'critic_unusable') return false;
  const ended = (await store.events({ type: 'turn_completed' })).flatMap((one) =>
    one.type === 'turn_completed' ? [{ ...one.data, task: one.task }] : [],
  );
  const last = ended.findLastIndex((one) => one.task === id && failedAtOnce(one));
  const there = ended.slice(0, last + 1).filter(({ account }) => account === ended[last]?.account);
  const worked = there.findLastIndex(({ status }) => status === 'finished');
  const failed = there.slice(worked + 1).filter(failedAtOnce);
  return failed.every((one) => one.task === id && !PROVIDERS_OWN.includes(one.code ?? ''));
}

async function checkAftermath(world: World): Promise<void> {
  const tasks = (await world.store.tasks()).map(({ task }) => task);
  for (const task of tasks)
    if (task.state === 'abandoned' && !(await hasFailedAlone(world, task)))
      world.violate(`${task.id} was abandoned (${task.reason}): ${task.why}`);
  for (const number of world.issues.keys()) {
    const task = latestAttempts(tasks).get(number);
    if (task?.state !== 'merged') world.violate(`issue ${number} is ${task?.state ?? 'not'} merged`);
    const landings = world.landings.filter(({ issue }) => issue === number).length;
    if (landings !== 1) world.violate(`issue ${number} landed ${landings} times`);
  }
  const red = redFiles(world.repository.get(world.trunk()).files);
  if (red.length > 0) world.violate(`trunk is red: ${red.join(', ')}`);
}
