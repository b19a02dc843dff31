/**
 * One snapshot of the loop, as every surface shows it. Derived from facts when asked, never stored; looking at it
 * changes nothing. Times are ISO 8601; what nobody knows is null.
 */

import { basename } from 'node:path';
import { type AtWork, atWork } from './at-work.ts';
import type { Context } from './context.ts';
import type { DeployStatus } from './core/deploy.ts';
import type { Hold, HoldReason } from './core/event.ts';
import { holdText } from './core/hold.ts';
import type { Spec } from './core/issue/specification.ts';
import { hasLapsed, isPerson, momentOf } from './core/lease.ts';
import { backlogOf, backlogText, isFull, NO_PACE } from './core/line/pace.ts';
import { waitingToLand } from './core/line/schedule.ts';
import { type LoopWait, loopWaits } from './core/loop/loop-waits.ts';
import type { Reason, State } from './core/machine.ts';
import { policyFor } from './core/plan/limits.ts';
import { isLeftToPeople } from './core/recover.ts';
import type { Role } from './core/role.ts';
import { isEnded, nameOfTask, occupiesSlot, type Task, turnsHere } from './core/task.ts';
import { type Choice, choicesFor } from './core/tell/choices.ts';
import { atWorkText, windowText, workingText } from './core/words/words.ts';
import { ConfigError, ForgeUnavailable } from './errors.ts';
import { activityOf } from './loop/activity.ts';
import { readLoopLimit } from './loop/loop-limit.ts';
import { readPace } from './loop/read-pace.ts';
import { restOf } from './rest.ts';
import { isRunnerLease, type Lease, type LoopRow, type Spend, type Store, taskLease } from './store/store.ts';
import { countedAmong, knownHere } from './under-way.ts';

export type { AtWork };

export interface TaskView {
  id: string;
  /** What people call it: `#7`, a plan's name. */
  name: string;
  issue: number | null;
  title: string;
  attempt: number;
  state: State;
  reason: Reason | null;
  why: string;
  hold: { reason: HoldReason; detail: string; until: string | null; text: string } | null;
  /** Of a plan, in this milestone. */
  turns: number;
  maxTurns: number;
  criticRounds: number;
  /** What was settled about its contract before the coder began; null when nobody had to be asked. */
  spec: {
    status: string;
    problem: string | null;
    criteria: number;
    questions: string[];
    by: string | null;
  } | null;
  sessionId: string | null;
  sessionIds: string[];
  /** The turn in progress. */
  turn: {
    role: Role;
    turn: number;
    startedAt: string;
    /** What its agent did last, as far as it tells. */
    doing: string | null;
  } | null;
  /** What runs for it now, in words, with its command and for how long: a turn, a gate, a hook. */
  atWork: string | null;
  /** What the command that runs for it printed last. */
  lastLine: string | null;
  /** What it does or waits for, as `why` says it; null once it has ended. */
  rests: string | null;
  /** Its runner is gone in the middle of that turn; recovery takes it up again. */
  interrupted: boolean;
  /** What a person can do about it now, what settles it first. */
  choices: Choice[];
  workspace: string | null;
  branch: string;
  pull: number | null;
  headSha: string | null;
  mergedSha: string | null;
  /** Null when unknown; a lower bound when `spendComplete` is false. */
  costUsd: number | null;
  tokens: number | null;
  spendComplete: boolean;
  /** Of the tokens, those whose price is not known: what they cost is in no sum. */
  unpricedTokens: number;
  startedAt: string | null;
  endedAt: string | null;
}

interface RunnerView {
  owner: string;
  pid: number | null;
  alive: boolean;
}

interface DeployView {
  /** The last commit that was deployed with success. */
  deployedSha: string | null;
  last: {
    sha: string;
    status: DeployStatus;
    problem: string | null;
    startedAt: string;
    endedAt: string | null;
  };
}

type WaitView = Pick<LoopWait, 'reason' | 'stops' | 'endsBy' | 'text'> & { until: string | null };

export interface Snapshot {
  /** The folder of the repository. */
  project: string;
  /** What was spent since midnight; `limitUsd` is `budget.day.usd`. */
  today: { costUsd: number | null; complete: boolean; limitUsd: number | null };
  /** What is shown first: money, or the tokens of a subscription that is not paid by them. */
  billing: 'usd' | 'subscription';
  tasks: TaskView[];
  /** How many more have ended than `tasks` has. */
  endedLeftOut: number;
  slots: { used: number; max: number };
  paused: string | null;
  /** Why the whole loop waits, or all tasks of one account: everything of that kind, `paused` and the limits among it. */
  waits: WaitView[];
  /** The budget of the day or of the loop is spent: no turn runs. */
  loopLimit: { scope: 'day' | 'loop'; why: string; until: string | null; text: string } | null;
  /** Accounts that no turn asks now: their tasks wait, others go on. `outSince`: it fails for all; null when it is used up. */
  accountLimits: { account: string; why: string; until: string; outSince: string | null; text: string }[];
  /** How much of the windows of an account is used up, as a provider said last; without those that began anew since. */
  limitWindows: { role: Role; name: string; usedPercent: number; resetsAt: string | null; text: string }[];
  /** What waits to be judged and merged; `full`: nothing new is started before some of it has landed. */
  backlog: { waiting: number; most: number | null; full: boolean; text: string };
  stopRequested: 'drain' | 'now' | null;
  /** Everything that runs now, in words: what a stop waits for. */
  atWork: string[];
  /** Of that, what the loop itself runs: the gate on trunk, the deploy; with what it printed last. */
  errands: string[];
  configProblem: string | null;
  /** Issues that are left out because their files can't be read. */
  unreadable: string[];
  /** Null when nothing was ever deployed. */
  deploy: DeployView | null;
  runners: RunnerView[];
}

/** Of the tasks that have ended, as many as one looks at. */
const ENDED_SHOWN = 20;

/** `live`: without the tasks that have ended; `all`: with every one of them, after years some ten thousand. */
export async function snapshot(
  context: Context,
  { live = false, all = false }: { live?: boolean; all?: boolean } = {},
): Promise<Snapshot> {
  const { settings, problem } = await context.settings();
  const { policy } = settings;
  const store = await context.reading();
  const project = basename(context.root);
  const today = { ...(await spentToday(context, store)), limitUsd: policy.budget.day.usd };
  const configProblem = problem?.message ?? null;
  if (!store) {
    return {
      project,
      today,
      billing: settings.workflow.agent.billing,
      tasks: [],
      endedLeftOut: 0,
      slots: { used: 0, max: policy.maxConcurrent },
      paused: null,
      waits: [],
      loopLimit: null,
      accountLimits: [],
      limitWindows: [],
      backlog: await backlogNow(context, null, []),
      stopRequested: null,
      atWork: [],
      errands: [],
      configProblem,
      unreadable: await unreadable(context),
      deploy: null,
      runners: [],
    };
  }
  const active = (await store.tasks({ live: true })).map(({ task }) => task).filter((task) => !isEnded(task));
  const ended = live ? [] : await newestEnded(store, all ? undefined : ENDED_SHOWN);
  const endedEver = (await store.outcomes()).reduce((sum, { tasks }) => sum + tasks, 0);
  const loop = await store.loop();
  const limit = await readLoopLimit({ store, clock: context, settings: { policy: () => policy } });
  const waits = loopWaits(loop, policy, limit, context.now());
  const owners = runners(await store.leases(), context);
  const { live: counted } = await countedAmong(context, store, active);
  const isRunning = owners.some((runner) => runner.alive);
  const work = await atWork(context, store, await ownedKeys(context, store));
  return {
    project,
    today,
    billing: settings.workflow.agent.billing,
    tasks: await taskViews(context, store, [...ended, ...active]),
    endedLeftOut: endedEver - ended.length,
    slots: {
      used: counted.filter(occupiesSlot).length,
      max: policy.maxConcurrent,
    },
    paused: loop.pausedBy,
    waits: waits.map(waitView),
    loopLimit: limitView(waits),
    accountLimits: waits.flatMap(accountView),
    limitWindows: await windowsNow(context, store),
    backlog: await backlogNow(context, store, active),
    stopRequested: loop.stop === 'no' || !isRunning ? null : loop.stop,
    atWork: work.map((one) => atWorkText(one, context.now())),
    errands: work.filter(({ task }) => task === null).map((one) => workingText(one, context.now())),
    configProblem: configProblem ?? (isRunning ? loop.configProblem : null),
    unreadable: await unreadable(context),
    deploy: deployView(loop),
    runners: owners,
  };
}

/** The oldest of them first. */
const newestEnded = async (store: Store, limit: number | undefined): Promise<Task[]> =>
  (await store.ended(limit === undefined ? {} : { limit })).map(({ task }) => task).reverse();

async function spentToday(
  context: Context,
  store: Store | null,
): Promise<Omit<Snapshot['today'], 'limitUsd'>> {
  if (!store) return { costUsd: 0, complete: true };
  const { costUsd, complete } = await store.spendSince(context.day(context.now()).startsAt);
  return { costUsd: complete || costUsd > 0 ? costUsd : null, complete };
}

/** Of issues that are files here: another forge is not asked for what nobody waits for. */
async function unreadable(context: Context): Promise<string[]> {
  if ((await context.settings()).settings.tracker.kind !== 'local') return [];
  try {
    return ((await (await context.forge()).unreadable?.()) ?? []).map(({ what }) => what);
  } catch (error) {
    // Both are said elsewhere.
    if (error instanceof ConfigError || error instanceof ForgeUnavailable) return [];
    throw error;
  }
}

export async function backlogNow(
  context: Context,
  store: Store | null,
  tasks: readonly Task[],
): Promise<Snapshot['backlog']> {
  const { policy } = (await context.settings()).settings;
  const pace = store ? await readPace(store) : NO_PACE;
  const live = store ? (await countedAmong(context, store, tasks)).live : [];
  const backlog = backlogOf(waitingToLand(live, context.now()), pace, policy);
  const { waiting, most } = backlog;
  return { waiting, most, full: isFull(backlog), text: backlogText(backlog) };
}

const waitView = ({ reason, stops, endsBy, until, text }: LoopWait): WaitView => ({
  reason,
  stops,
  endsBy,
  until: iso(until),
  text,
});

function limitView(waits: readonly LoopWait[]): Snapshot['loopLimit'] {
  const spent = waits.find(({ reason }) => reason === 'day_budget' || reason === 'loop_budget');
  if (!spent) return null;
  const { reason, detail, until, text } = spent;
  return { scope: reason === 'day_budget' ? 'day' : 'loop', why: detail, until: iso(until), text };
}

function accountView({ account: limit, text }: LoopWait): Snapshot['accountLimits'] {
  if (!limit) return [];
  const { account, why, until, outage } = limit;
  return [{ account, why, until: iso(until)!, outSince: iso(outage?.since ?? null), text }];
}

async function windowsNow(context: Context, store: Store): Promise<Snapshot['limitWindows']> {
  const [last] = await store.events({ type: 'rate_limits_seen', last: 1 });
  if (last?.type !== 'rate_limits_seen') return [];
  const { role, windows } = last.data;
  return windows.flatMap(({ name, usedPercent, resetsAt }) => {
    const until = resetsAt === null ? null : resetsAt * 1000;
    if (until !== null && until <= context.now()) return [];
    const text = windowText({ role, name, usedPercent, until }, context.now());
    return [{ role, name, usedPercent, resetsAt: iso(until), text }];
  });
}

function deployView({ deploy }: LoopRow): DeployView | null {
  if (!deploy?.last) return null;
  const { sha, status, problem, startedAt, endedAt } = deploy.last;
  return {
    deployedSha: deploy.deployedSha,
    last: { sha, status, problem, startedAt: iso(startedAt)!, endedAt: iso(endedAt) },
  };
}

export async function taskViews(context: Context, store: Store, tasks: readonly Task[]): Promise<TaskView[]> {
  const { policy } = (await context.settings()).settings;
  const owned = await ownedKeys(context, store);
  const places = await context.places();
  const work = await atWork(context, store, owned);
  const now = context.now();
  const all = (await store.tasks({ live: true })).map(({ task }) => task);
  const known = { all, policy, now, owned, work, ...(await knownHere(context, store, all)) };
  const doingOf = async ({ id, turn }: Task): Promise<string | null> =>
    turn && ((await activityOf(places, id, turn))?.doing ?? null);
  const view = async (task: Task): Promise<TaskView> => ({
    ...taskView(task, await store.spend(task.id), policyFor(task, policy).maxTurns, await doingOf(task)),
    ...atWorkView(work.find((one) => one.task === task.id)),
    rests: isEnded(task) ? null : (await restOf(store, task, known)).why,
    choices: isEnded(task)
      ? choicesFor(task)
      : choicesFor(task, await store.requests(task.id), task.hold ? await store.findings(task.id) : []),
    interrupted:
      !isEnded(task) &&
      (task.turn !== null || Boolean(task.attached) || isLeftToPeople(task)) &&
      !owned.has(taskLease(task.id)),
  });
  const atWorkView = (mine: AtWork | undefined): Pick<TaskView, 'atWork' | 'lastLine'> => ({
    atWork: mine ? atWorkText(mine, now) : null,
    lastLine: mine?.lastLine ?? null,
  });
  return Promise.all(tasks.map(view));
}

/** In words; of all runners, or of the one that owns these leases. */
export async function atWorkNow(
  context: Context,
  store: Store,
  owned?: ReadonlySet<string>,
): Promise<{ task: string | null; text: string }[]> {
  const work = await atWork(context, store, owned ?? (await ownedKeys(context, store)));
  return work.map((one) => ({ task: one.task, text: atWorkText(one, context.now()) }));
}

/** The commands that run: gates, hooks, the deploy. Costs next to nothing where there are none. */
export async function commandsNow(context: Context, store: Store): Promise<AtWork[]> {
  if ((await store.processes()).length === 0) return [];
  const work = await atWork(context, store, await ownedKeys(context, store));
  return work.filter(({ command }) => command !== null);
}

/** What somebody alive holds a lease of. */
export async function ownedKeys(context: Context, store: Store): Promise<Set<string>> {
  const held = (await store.leases()).filter((lease) => !isStale(lease, context));
  return new Set(held.map((lease) => lease.key));
}

function taskView(
  task: Task,
  spend: Spend,
  maxTurns: number,
  doing: string | null,
): Omit<TaskView, 'interrupted' | 'atWork' | 'lastLine' | 'rests' | 'choices'> {
  const { hold, turn } = task;
  // Some programs tell only at the end of a turn.
  const complete = spend.complete && !(turn !== null && spend.tokens === 0);
  return {
    id: task.id,
    name: nameOfTask(task),
    issue: task.issue,
    title: task.contract.title,
    attempt: task.attempt,
    state: task.state,
    reason: task.reason,
    why: task.why,
    hold: hold && !isEnded(task) ? holdView(hold, nameOfTask(task)) : null,
    turns: turnsHere(task),
    maxTurns,
    criticRounds: task.criticRounds,
    spec: task.spec && specView(task.spec),
    sessionId: task.roles.coder.session,
    sessionIds: task.sessionIds,
    turn: turn && { role: turn.role, turn: turn.turn, startedAt: iso(turn.startedAt)!, doing },
    workspace: task.workspace,
    branch: task.branch,
    pull: task.pull,
    headSha: task.headSha,
    mergedSha: task.mergedSha,
    costUsd: complete || spend.costUsd > 0 ? spend.costUsd : null,
    tokens: complete || spend.tokens > 0 ? spend.tokens : null,
    spendComplete: complete,
    unpricedTokens: spend.unpriced,
    startedAt: iso(task.startedAt),
    endedAt: iso(task.endedAt),
  };
}

function specView(spec: Spec): TaskView['spec'] {
  const none = { problem: null, criteria: 0, questions: [], by: null };
  switch (spec.status) {
    case 'taken':
      return { ...none, status: spec.status };
    case 'declined':
      return { ...none, status: spec.status, problem: spec.problem, questions: spec.questions };
    case 'proposed':
    case 'adopted': {
      const { problem, criteria } = spec.specification;
      return { ...none, status: spec.status, problem, criteria: criteria.length, by: spec.by };
    }
    default:
      return spec satisfies never;
  }
}

function holdView(hold: Hold, name: string): TaskView['hold'] {
  const { reason, detail, until } = hold;
  return { reason, detail, until: iso(until), text: holdText(hold, name) };
}

type Onlooker = Pick<Context, 'now' | 'bootClock' | 'isOwnerDead'>;

/** Whoever holds a lease: also a runner with nothing to do has one. */
export function runners(leases: readonly Lease[], context: Onlooker): RunnerView[] {
  const owners = new Map<string, boolean>();
  for (const lease of leases) {
    if (isPerson(lease.owner)) continue;
    const isAlive = !isStale(lease, context);
    // One that is gone and left nothing behind is nobody's business.
    if (isRunnerLease(lease.key) && !isAlive) continue;
    owners.set(lease.owner, (owners.get(lease.owner) ?? false) || isAlive);
  }
  return [...owners].map(([owner, alive]) => {
    const pid = Number.parseInt(owner, 10);
    return { owner, pid: Number.isNaN(pid) ? null : pid, alive };
  });
}

/** Nobody alive holds it: its owner is provably dead, or let it lapse. */
export function isStale(lease: Lease, context: Onlooker): boolean {
  const at = momentOf(context.now(), context.bootClock);
  return hasLapsed(lease, at) || context.isOwnerDead(lease.owner);
}

export async function isRunnerAlive(store: Store, context: Context): Promise<boolean> {
  return runners(await store.leases(), context).some((runner) => runner.alive);
}

export const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
