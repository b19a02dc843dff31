/**
 * Plans beside the issues of the simulated world: an auditor that judges well or badly, people who go on with what a dead
 * runner left to them, and what must be true of every plan.
 */
import type { TurnRequest } from '../../src/agent/agent.ts';
import type { Finding } from '../../src/core/change/findings.ts';
import { transition } from '../../src/core/decision.ts';
import { type Checkpoint, event, type LoopEvent } from '../../src/core/event.ts';
import { openBugs } from '../../src/core/plan/audit.ts';
import { startedEvents } from '../../src/core/plan/start.ts';
import type { Policy } from '../../src/core/policy.ts';
import { isLeftToPeople } from '../../src/core/recover.ts';
import { isEnded, type Task } from '../../src/core/task.ts';
import { ForgeUnavailable, LeaseLost, VersionConflict } from '../../src/errors.ts';
import type { Ports } from '../../src/loop/ports.ts';
import { takeOver } from '../../src/loop/recovery.ts';
import { type Lease, PLANS_LEASE, taskLease } from '../../src/store/store.ts';
import { planOf } from '../support/plan-play.ts';
import type { Temper } from './agent.ts';
import type { Random } from './random.ts';
import { redFiles, type Tree } from './repository.ts';
import type { World } from './world.ts';

export const someLoop = (random: Random): Policy['loop'] => ({
  maxIterations: random.pick([0, 2, 5, 20]),
  session: random.pick(['rotate', 'persist']),
  worktreeFiles: [],
  skills: null,
  postAction: random.pick([null, null, { skill: null, prompt: 'Look.', model: null }]),
});

/** A person starts one, or a few. */
export async function startPlans({ store, time, ...world }: World): Promise<void> {
  const random = world.random.fork('plans');
  for (let count = random.pick([0, 0, 1, 1, 2]); count > 0; count -= 1) {
    const titles = Array.from({ length: random.int(4) }, (_, index) => `Part ${index + 1}`);
    const name = `plan-${random.hex(6)}`;
    const lease = (await store.acquireLease(PLANS_LEASE, 'person', time.now(), 60_000, () => false))!;
    const events = startedEvents({
      plan: titles.length === 0 ? null : planOf(...titles),
      goal: titles.length === 0 ? `Do ${name}.` : null,
      name,
      mode: random.chance(0.1) ? 'session' : 'loop',
      delivers: random.chance(0.3) ? 'pull' : 'branch',
      startedBy: 'person',
      models: {},
    });
    await store.claim({ lease, taskId: random.hex(8), issue: null, events, actions: [], at: time.now() });
    await store.releaseLease(lease);
  }
}

/** Bugs that it finds, bugs that it forgets, words that contradict them, milestones that it words anew, and nonsense. */
export function auditReport({ random }: World, temper: Temper, turn: TurnRequest): unknown {
  if (random.chance(temper.garbage)) return random.pick([null, { clean: 'yes' }]);
  const open = [...turn.prompt.matchAll(/^- (\w+\.\d+) \[/gm)].map(([, id]) => id!);
  const resolved = open.filter(() => random.chance(0.9)).map((id) => ({ id }));
  const isClean = random.chance(temper.approves);
  const line = 1 + random.int(50);
  const bug = { severity: 'bug', file: 'a.txt', line, description: `wrong ${random.hex(4)}` };
  const advice = { ...bug, severity: 'warning' };
  const isContradicting = random.chance(temper.flaws);
  const findings = isClean !== isContradicting ? [] : [bug];
  return {
    clean: isClean,
    resolved,
    findings: random.chance(0.2) ? [...findings, advice] : findings,
    amendments: random.chance(0.4) ? amendments(random, turn) : [],
  };
}

/** Of what is still to come; now and then of what is done, which nobody may touch. */
function amendments(random: Random, { prompt }: TurnRequest): object[] {
  const pending = [...prompt.matchAll(/^Milestone (\d+): /gm)].map(([, number]) => Number(number));
  if (pending.length === 0) return [];
  const milestone = random.chance(0.3) ? 1 : random.pick(pending);
  return [{ milestone, text: `## Part ${milestone}, anew\n\nDo ${random.hex(4)}.`, rationale: 'it showed' }];
}

/** What a runner that died left to people, one of them goes on with. True when there was any. */
export async function goOn(world: World, ports: Ports): Promise<boolean> {
  const { store, time } = world;
  let isAny = false;
  for (const { task } of await store.tasks({ live: true })) {
    if (!isLeftToPeople(task) || (task.hold && task.hold.until === null)) continue;
    const key = taskLease(task.id);
    const lease = await store.acquireLease(key, 'person', time.now(), 300_000, ports.isOwnerDead);
    if (!lease) continue;
    try {
      await restart(world, { ...ports, store }, lease, task.id);
      isAny = true;
    } catch (problem) {
      // They try again later.
      const isPassing = [ForgeUnavailable, VersionConflict, LeaseLost].some(
        (kind) => problem instanceof kind,
      );
      if (!isPassing) throw problem;
    } finally {
      await store.releaseLease(lease);
    }
  }
  return isAny;
}

async function restart({ store, time }: World, ports: Ports, lease: Lease, id: string): Promise<void> {
  await takeOver(ports, id, lease);
  const { task, version } = (await store.task(id))!;
  if (isEnded(task)) return;
  await store.commit({
    lease,
    taskId: id,
    expectedVersion: version,
    events: [
      transition(task, 'abandoned', 'restart requested by person', 'cancelled'),
      transition({ ...task, state: 'abandoned' }, 'queued', 'restart requested by person'),
      event('request_made', { kind: 'restart', by: 'person' }),
    ],
    at: time.now(),
    dropActions: 'all',
  });
}

/** A person who looks now and then. */
export function lookAfterPlans(world: World, ports: () => Ports): void {
  let rounds = 0;
  const look = (): void => {
    void goOn(world, ports());
    if (world.random.chance(0.02)) void interfere(world);
    rounds += 1;
    if (rounds < 500) world.time.after(60_000, look);
  };
  world.time.after(60_000, look);
}

/** Finds a bug in a live plan, leaves what the rules found as it is, or ends it. */
async function interfere({ store, random, time }: World): Promise<void> {
  for (const { task } of await store.tasks({ live: true })) {
    if (!task.plan || isEnded(task) || task.plan.phase === 'delivered') continue;
    const asked = { task: task.id, by: 'person', at: time.now() };
    if (task.hold?.reason === 'verification_changed') {
      for (const { id, source, status } of await store.findings(task.id))
        if (source === 'rule' && status === 'open')
          await store.request({ ...asked, kind: 'wontfix', finding: id, why: 'so' });
      continue;
    }
    const description = `wrong to a person: ${random.hex(4)}`;
    const finding = { severity: 'bug', file: null, line: null, description, scenario: null };
    if (random.chance(0.7))
      await store.request({ ...asked, kind: 'write', finding: JSON.stringify(finding) });
    else await store.request({ ...asked, kind: 'cancel' });
  }
}

export async function checkPlan(
  world: World,
  policy: Policy,
  task: Task & { plan: NonNullable<Task['plan']> },
  mine: readonly LoopEvent[],
): Promise<void> {
  const { plan } = task;
  const { repository, store } = world;
  const ledger = await store.findings(task.id);
  let clean: Extract<LoopEvent, { type: 'audit_recorded' }> | null = null;
  let dirty = 0;
  let sealed = 0;
  let texts: string[] = [];
  for (const one of mine) {
    if ((one.type === 'task_created' || one.type === 'contract_updated') && one.data.plan)
      texts = one.data.plan.milestones.map(({ text }) => text);
    if (one.type === 'worker_state_transition' && one.data.from === 'abandoned') dirty = 0;
    if (one.type === 'audit_recorded') {
      const { head, isClean, open } = one.data;
      if (isClean && open.length > 0) world.violate(`${task.id} was clean with ${open.join(', ')} open`);
      if (!isGreen(world, head, ledger)) world.violate(`${task.id} was audited at ${head.sha}, which is red`);
      for (const { milestone, text } of one.data.amendments) {
        if (milestone <= one.data.milestone)
          world.violate(`${task.id} amended milestone ${milestone} too late`);
        texts[milestone] = text;
      }
      clean = isClean ? one : null;
      dirty += isClean ? 0 : 1;
      if (policy.loop.maxIterations > 0 && dirty > policy.loop.maxIterations)
        world.violate(`${task.id} went on after ${dirty} dirty rounds of ${policy.loop.maxIterations}`);
    }
    if (one.type === 'milestone_completed') {
      const { milestone, commit, head } = one.data;
      if (milestone !== sealed) world.violate(`${task.id} sealed ${milestone} after ${sealed}`);
      sealed += 1;
      if (clean?.data.milestone !== milestone || clean.data.head.tree !== head.tree)
        world.violate(`${task.id} sealed ${milestone} without a clean audit of it`);
      const open = openBugs(asOf(ledger, clean?.at ?? 0), milestone);
      if (open.length > 0)
        world.violate(`${task.id} sealed ${milestone} with ${open.map(({ id }) => id).join(', ')} open`);
      if (commit !== null && task.headSha !== null && !repository.isAncestor(commit, task.headSha))
        world.violate(`${task.id} lost the commit of milestone ${milestone}`);
    }
    if (one.type === 'phase_entered' && one.data.phase === 'delivered' && plan.mode === 'loop') {
      const last = plan.milestones.length === 0 ? 'auditing' : 'final_auditing';
      if (clean?.data.phase !== last || sealed !== plan.milestones.length)
        world.violate(`${task.id} was delivered with ${sealed} milestones and without a clean ${last}`);
      const open = openBugs(asOf(ledger, clean?.at ?? 0), 'all');
      if (open.length > 0) world.violate(`${task.id} was delivered with ${open.length} open bugs`);
    }
  }
  for (const [at, { text, done }] of plan.milestones.entries())
    if (done && text !== texts[at]) world.violate(`${task.id} has another milestone ${at} than was audited`);
  const isDone = task.state === 'completed' || (task.state === 'merged' && !isByHand(world, task));
  if (isDone && plan.phase !== 'delivered') world.violate(`${task.id} is ${task.state} in ${plan.phase}`);
  const isRed = task.headSha !== null && !isGreen(world, repository.get(task.headSha), ledger);
  if (task.state === 'completed' && isRed) world.violate(`${task.id} is completed at a head that is red`);
  if (plan.iterations > dirty) world.violate(`${task.id} counts ${plan.iterations} of ${dirty} dirty rounds`);
}

/** Its gate really passes there, or a person left as it is what makes it pass; where the story allows it, what is red was so before. */
function isGreen(
  { repository, allowsRedBefore, trunk }: World,
  head: Pick<Checkpoint, 'sha'>,
  ledger: readonly Finding[],
): boolean {
  const left = ledger.filter(({ history }) => history.some(({ status }) => status === 'wontfix'));
  const isLeft = (name: string): boolean => left.some(({ file }) => file === name);
  const { files } = repository.get(head.sha);
  // Whatever else is red, such a gate passes on it.
  const passesAll = redFiles(files).filter((said) => said.endsWith(' exit 0'));
  if (passesAll.some((said) => isLeft(said.split(' ')[0]!))) return true;
  const red = redNames(files).filter((name) => !isLeft(name));
  const before = redNames(repository.get(repository.mergeBase(head.sha, trunk())).files);
  return red.length === 0 || (allowsRedBefore && red.every((name) => before.includes(name)));
}

const redNames = (files: Tree): string[] => redFiles(files).map((said) => said.split(' ')[0]!);

/** As the ledger was then. */
const asOf = (ledger: readonly Finding[], at: number): Finding[] =>
  ledger.flatMap((one) => {
    const then = one.history.findLast((entry) => entry.at <= at);
    return then ? [{ ...one, status: then.status }] : [];
  });

/** A person who merges a branch asks nobody. */
const isByHand = ({ landings }: World, { pull }: Task): boolean => !landings.some((one) => one.pull === pull);
