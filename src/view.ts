/**
 * One snapshot of the loop, as every surface shows it. Derived from facts when asked, never stored; looking at it
 * changes nothing. Times are ISO 8601; what nobody knows is null.
 */
import type { Context } from './context.ts';
import { usedUp } from './core/account.ts';
import { type DeployStatus, deployHold } from './core/deploy.ts';
import type { HoldReason } from './core/event.ts';
import type { Reason, State } from './core/machine.ts';
import type { Policy } from './core/policy.ts';
import type { Spec } from './core/specification.ts';
import { isEnded, occupiesSlot, type Task } from './core/task.ts';
import { accountLimitText, holdText, loopLimitText } from './core/words.ts';
import { activityOf } from './loop/activity.ts';
import { readLoopLimit } from './loop/loop-limit.ts';
import { type Lease, type LoopRow, type Spend, type Store, taskLease } from './store/store.ts';

export interface TaskView {
  id: string;
  issue: number | null;
  title: string;
  attempt: number;
  state: State;
  reason: Reason | null;
  why: string;
  hold: { reason: HoldReason; detail: string; until: string | null; text: string } | null;
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
    role: string;
    turn: number;
    startedAt: string;
    /** What its agent did last, as far as it tells. */
    doing: string | null;
  } | null;
  /** Its runner is gone in the middle of that turn; recovery takes it up again. */
  interrupted: boolean;
  workspace: string | null;
  branch: string;
  pull: number | null;
  headSha: string | null;
  mergedSha: string | null;
  /** Null when unknown; a lower bound when `spendComplete` is false. */
  costUsd: number | null;
  tokens: number | null;
  spendComplete: boolean;
  startedAt: string | null;
  endedAt: string | null;
}

export interface RunnerView {
  owner: string;
  pid: number | null;
  alive: boolean;
}

export interface DeployView {
  /** The last commit that was deployed with success. */
  deployedSha: string | null;
  last: {
    sha: string;
    status: DeployStatus;
    problem: string | null;
    startedAt: string;
    endedAt: string | null;
  };
  /** Why the whole loop waits for it; null when it does not. */
  hold: string | null;
}

export interface Snapshot {
  /** What is shown first: money, or the tokens of a subscription that is not paid by them. */
  billing: 'usd' | 'subscription';
  tasks: TaskView[];
  slots: { used: number; max: number };
  paused: string | null;
  /** The budget of the day or of the loop is spent: no turn runs. */
  loopLimit: { scope: 'day' | 'loop'; why: string; until: string | null; text: string } | null;
  /** Accounts of providers that are used up: their tasks wait, others go on. */
  accountLimits: { account: string; why: string; until: string; text: string }[];
  stopRequested: 'drain' | 'now' | null;
  configProblem: string | null;
  /** Null when nothing was ever deployed. */
  deploy: DeployView | null;
  runners: RunnerView[];
}

export async function snapshot(context: Context): Promise<Snapshot> {
  const { settings, problem } = await context.settings();
  const { policy } = settings;
  const store = await context.reading();
  const configProblem = problem?.message ?? null;
  if (!store) {
    return {
      billing: settings.workflow.agent.billing,
      tasks: [],
      slots: { used: 0, max: policy.maxConcurrent },
      paused: null,
      loopLimit: null,
      accountLimits: [],
      stopRequested: null,
      configProblem,
      deploy: null,
      runners: [],
    };
  }
  const stored = (await store.tasks()).map(({ task }) => task);
  const loop = await store.loop();
  const limit = await readLoopLimit({ store, clock: context, settings: { policy: () => policy } });
  const owners = runners(await store.leases(), context);
  const isRunning = owners.some((runner) => runner.alive);
  return {
    billing: settings.workflow.agent.billing,
    tasks: await taskViews(context, store, stored),
    slots: { used: stored.filter(occupiesSlot).length, max: policy.maxConcurrent },
    paused: loop.pausedBy,
    loopLimit: limit && { ...limit, until: iso(limit.until), text: loopLimitText(limit) },
    accountLimits: usedUp(loop.accountLimits, context.now()).map((one) => ({
      ...one,
      until: iso(one.until)!,
      text: accountLimitText(one),
    })),
    stopRequested: loop.stop === 'no' || !isRunning ? null : loop.stop,
    configProblem: configProblem ?? loop.configProblem,
    deploy: deployView(loop, policy),
    runners: owners,
  };
}

function deployView({ deploy, deployAgain }: LoopRow, policy: Policy): DeployView | null {
  if (!deploy?.last) return null;
  const { sha, status, problem, startedAt, endedAt } = deploy.last;
  return {
    deployedSha: deploy.deployedSha,
    last: { sha, status, problem, startedAt: iso(startedAt)!, endedAt: iso(endedAt) },
    hold: deployHold(deploy, deployAgain !== null, policy.deploy),
  };
}

export async function taskViews(context: Context, store: Store, tasks: readonly Task[]): Promise<TaskView[]> {
  const { maxTurns } = (await context.settings()).settings.policy;
  const owned = await ownedKeys(context, store);
  const places = await context.places();
  const doingOf = async ({ id, turn }: Task): Promise<string | null> =>
    turn && ((await activityOf(places, id, turn))?.doing ?? null);
  const view = async (task: Task): Promise<TaskView> => ({
    ...taskView(task, await store.spend(task.id), maxTurns, await doingOf(task)),
    interrupted: task.turn !== null && !isEnded(task) && !owned.has(taskLease(task.id)),
  });
  return Promise.all(tasks.map(view));
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
): Omit<TaskView, 'interrupted'> {
  const { hold, turn } = task;
  return {
    id: task.id,
    issue: task.issue,
    title: task.contract.title,
    attempt: task.attempt,
    state: task.state,
    reason: task.reason,
    why: task.why,
    hold:
      hold && !isEnded(task) ? { ...hold, until: iso(hold.until), text: holdText(hold, task.issue) } : null,
    turns: task.turns,
    maxTurns,
    criticRounds: task.criticRounds,
    spec: task.spec && specView(task.spec),
    sessionId: task.sessionId,
    sessionIds: task.sessionIds,
    turn: turn && { role: turn.role, turn: turn.turn, startedAt: iso(turn.startedAt)!, doing },
    workspace: task.workspace,
    branch: task.branch,
    pull: task.pull,
    headSha: task.headSha,
    mergedSha: task.mergedSha,
    costUsd: spend.complete || spend.costUsd > 0 ? spend.costUsd : null,
    tokens: spend.complete || spend.tokens > 0 ? spend.tokens : null,
    spendComplete: spend.complete,
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

/** Whoever holds a lease; one with nothing to do holds none and is not seen. */
export function runners(
  leases: readonly Lease[],
  context: Pick<Context, 'now' | 'isOwnerDead'>,
): RunnerView[] {
  const owners = new Map<string, boolean>();
  for (const lease of leases) {
    owners.set(lease.owner, (owners.get(lease.owner) ?? false) || !isStale(lease, context));
  }
  return [...owners].map(([owner, alive]) => {
    const pid = Number.parseInt(owner, 10);
    return { owner, pid: Number.isNaN(pid) ? null : pid, alive };
  });
}

/** Nobody alive holds it: its owner is provably dead, or let it lapse. */
export function isStale(lease: Lease, context: Pick<Context, 'now' | 'isOwnerDead'>): boolean {
  return lease.expiresAt <= context.now() || context.isOwnerDead(lease.owner);
}

export async function isRunnerAlive(store: Store, context: Context): Promise<boolean> {
  return runners(await store.leases(), context).some((runner) => runner.alive);
}

export const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
