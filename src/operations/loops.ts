/** Plans as people start and steer them. A runner works through them; what is done here is asked of it, or of the row. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { transition } from '../core/decision.ts';
import { event } from '../core/event.ts';
import { type OwnSandbox, whyNotSandbox } from '../core/plan/limits.ts';
import { lintPlan } from '../core/plan/lint.ts';
import { type Plan, type PlanProblem, parsePlan } from '../core/plan/plan.ts';
import type { PlanBirth, PlanMode } from '../core/plan/progress.ts';
import { contractOfPlan, freeName, planTasks, startedEvents } from '../core/plan/start.ts';
import { type StoredPlan, storing } from '../core/plan/stored.ts';
import { isEnded, type Task } from '../core/task.ts';
import { placeText } from '../core/words/plan-text.ts';
import { UsageError, UserError } from '../errors.ts';
import { currentBranch } from '../git/git.ts';
import { dirtyIn } from '../git/repository.ts';
import type { Ports } from '../loop/ports.ts';
import { takeOver } from '../loop/recovery.ts';
import { workspaceKey } from '../loop/workspace-key.ts';
import { type Lease, PLANS_LEASE, type Store } from '../store/store.ts';
import { isRunnerAlive } from '../view.ts';
import { ownLease, restartTask } from './restart.ts';
import { planToStart } from './stored-plans.ts';

interface Wanted {
  /** The text of the plan's file, and its name for messages. */
  text?: string | undefined;
  file?: string | undefined;
  /** A stored plan, by its name or id. Without it, a text or a goal: the last one that was not started. */
  plan?: string | undefined;
  goal?: string | undefined;
  name?: string | undefined;
  mode: PlanMode;
  pullRequest: boolean;
  model?: string | undefined;
  auditorModel?: string | undefined;
  /** These: in place of the settings. */
  maxIterations?: number | undefined;
  maxTurns?: number | undefined;
  budgetUsd?: number | undefined;
  sandbox?: OwnSandbox | undefined;
}

export interface Started {
  task: string;
  name: string;
  branch: string;
  /** The stored plan that it was started from. */
  plan: Pick<StoredPlan, 'id' | 'name' | 'status' | 'source'> | null;
  milestones: number;
  mode: PlanMode;
  delivers: 'branch' | 'pull';
  /** The same plan was at work already: nothing was started. */
  already: boolean;
  warnings: string[];
  runnerAlive: boolean;
}

export async function startLoop(context: Context, wanted: Wanted): Promise<Started> {
  const stored = await storedPlan(context, wanted);
  const read = readPlan(stored ? { ...wanted, text: stored.text, file: `plan ${stored.id}` } : wanted);
  const from = wanted.mode === 'here' ? await checkoutOf(context, wanted) : undefined;
  await refuseSandbox(context, wanted);
  const ports = await context.ports();
  const { store } = ports;
  const started = await starting(context, store, async (lease) => {
    const tasks = planTasks((await store.tasks()).map(({ task }) => task));
    const goal = wanted.goal ?? null;
    const { hash } = contractOfPlan({ plan: read.plan, goal });
    const same = tasks.find((task) => !isEnded(task) && task.issue === null && task.contract.hash === hash);
    return {
      task:
        same ??
        (await begin(context, store, lease, tasks, {
          plan: read.plan,
          goal,
          wanted: wanted.name ?? read.plan?.name ?? read.plan?.title ?? goal ?? '',
          options: wanted,
          ...(from && { from }),
          ...(wanted.text !== undefined && { file: wanted.file ?? 'a text' }),
        })),
      already: Boolean(same),
    };
  });
  const { id, branch } = started.task;
  const plan = started.task.plan!;
  return {
    task: id,
    name: plan.name,
    branch,
    plan: stored && { id: stored.id, name: stored.name, status: stored.status, source: stored.source },
    milestones: plan.milestones.length,
    mode: plan.mode,
    delivers: plan.delivers,
    already: started.already,
    warnings: read.warnings,
    runnerAlive: await isRunnerAlive(store, context),
  };
}

/** Null where a file or a goal says what to start. */
async function storedPlan(context: Context, { text, plan, goal }: Wanted): Promise<StoredPlan | null> {
  if (text !== undefined && plan !== undefined)
    throw new UsageError('loop start: give a plan file or --plan, not both.');
  const isSaid = text !== undefined || (goal !== undefined && plan === undefined);
  return isSaid ? null : planToStart(context, plan);
}

/** Nobody is confined less by it than the settings say. */
export async function refuseSandbox(context: Context, { sandbox }: Pick<Wanted, 'sandbox'>): Promise<void> {
  if (sandbox === undefined) return;
  const { policy } = (await context.settings()).settings;
  const why = whyNotSandbox(policy.sandbox, sandbox);
  if (why !== null)
    throw new UserError(
      `The loop can't have \`--sandbox ${sandbox}\`: ${why}.`,
      'Leave it out, or change sandbox in WORKFLOW.md.',
    );
}

/** What a plan starts from that is asked for in the operator's checkout. It is theirs to merge. */
async function checkoutOf({ git, root }: Context, { pullRequest }: Wanted): Promise<Beginning['from']> {
  if (pullRequest)
    throw new UsageError(
      'loop start: give --mode here or --pull-request, not both: the first is not merged.',
    );
  const dirty = await dirtyIn(git);
  if (dirty !== null)
    throw new UserError(
      `${root} is not clean: ${dirty}.`,
      'Commit or stash it first, or leave out --mode here.',
    );
  const { stdout } = await git(['rev-parse', 'HEAD']);
  return { sha: stdout.trim(), branch: await currentBranch(git) };
}

export function readPlan({ text, file = 'the plan', goal }: Pick<Wanted, 'text' | 'file' | 'goal'>): {
  plan: Plan | null;
  warnings: string[];
} {
  if (text === undefined) {
    if (goal !== undefined) return { plan: null, warnings: [] };
    throw new UserError('There is nothing to start.', 'Give a plan file, or --goal.');
  }
  const parsed = parsePlan(text);
  if (!parsed.ok) {
    const { problem, advice } = parsed.problem;
    throw new UserError(`${placeIn(file, parsed.problem)}: ${problem}`, advice);
  }
  const told = parsed.warnings.map((one) => `${placeIn(file, one)}: ${one.problem}`);
  return { plan: parsed.plan, warnings: [...told, ...lintWarning(text, file)] };
}

/** What nobody could work by is told before it is paid for; it is a person's to start it all the same. */
function lintWarning(text: string, file: string): string[] {
  const problems = lintPlan(text);
  const [first, ...more] = problems.filter(({ severity }) => severity === 'error');
  if (!first) return [];
  const others = more.length === 0 ? '' : ` (${more.length} more: \`forge-loop plan lint ${file}\`)`;
  return [`${placeIn(file, first)}: ${first.problem}${others}`];
}

const placeIn = (file: string, { line }: PlanProblem): string => (line === null ? file : `${file}:${line}`);

export interface Beginning {
  plan: Plan | null;
  goal: string | null;
  wanted: string;
  options: Pick<
    Wanted,
    'mode' | 'pullRequest' | 'model' | 'auditorModel' | 'maxIterations' | 'maxTurns' | 'budgetUsd' | 'sandbox'
  >;
  group?: PlanBirth['group'];
  from?: PlanBirth['from'];
  /** Where the plan was read: whoever starts a file has approved it, and it is kept. */
  file?: string;
}

export async function begin(
  context: Context,
  store: Store,
  lease: Lease,
  tasks: readonly Task[],
  { plan, goal, wanted, options, group, from, file }: Beginning,
): Promise<Task> {
  const name = await unusedName(context, tasks, wanted, options);
  const { newId } = await context.ports();
  const taskId = newId().slice(0, 8);
  const { model, auditorModel, mode, pullRequest, maxIterations, maxTurns, budgetUsd, sandbox } = options;
  const limits = {
    ...(maxIterations !== undefined && { maxIterations }),
    ...(maxTurns !== undefined && { maxTurns }),
    ...(budgetUsd !== undefined && { budgetUsd }),
    ...(sandbox !== undefined && { sandbox }),
  };
  const startedBy = await context.operator();
  const events = startedEvents({
    plan,
    goal,
    name,
    mode,
    delivers: pullRequest ? 'pull' : 'branch',
    startedBy,
    models: { ...(model && { coder: model }), ...(auditorModel && { auditor: auditorModel }) },
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(group && { group }),
    ...(from && { from }),
  });
  if (plan && file !== undefined) {
    const about = { source: { kind: 'file', file }, status: 'approved', by: startedBy } as const;
    events.push(event('plan_stored', storing(plan, about)));
  }
  const claimed = await store.claim({ lease, taskId, issue: null, events, actions: [], at: context.now() });
  return claimed!.task;
}

/** What is to be pushed must not meet a branch that somebody else pushed: it would be taken for work on the same plan. */
async function unusedName(
  context: Context,
  tasks: readonly Task[],
  wanted: string,
  { pullRequest }: Pick<Wanted, 'pullRequest'>,
): Promise<string> {
  const branches = new Set(await loopBranches(context));
  for (;;) {
    const name = freeName(
      wanted,
      (one) => tasks.some((task) => task.plan?.name === one) || branches.has(`loop/${one}`),
    );
    const branch = `loop/${name}`;
    if (!pullRequest || (await (await context.forge()).branchHead(branch)) === null) return name;
    branches.add(branch);
  }
}

async function loopBranches({ git }: Context): Promise<string[]> {
  const { stdout } = await git(['for-each-ref', '--format=%(refname:short)', 'refs/heads/loop/']);
  return stdout.split('\n').filter(Boolean);
}

/** Of two who start or change plans at once, one goes first. */
export async function starting<T>(
  context: Context,
  store: Store,
  work: (lease: Lease) => Promise<T>,
): Promise<T> {
  const { owner, timing, isOwnerDead } = await context.ports();
  const { now } = context;
  const giveUpAt = now() + STARTING_MS;
  for (;;) {
    const lease = await store.acquireLease(PLANS_LEASE, owner, now(), timing.leaseTtlMs, isOwnerDead);
    if (lease)
      try {
        return await work(lease);
      } finally {
        await store.releaseLease(lease);
      }
    if (now() > giveUpAt)
      throw new UserError('Somebody else is starting or changing a plan.', 'Try again in a minute.');
    await wait(50);
  }
}

const STARTING_MS = 10_000;

/** By its name, by its task's id, or by a part of its name that no other has. */
export async function findLoop(store: Store | null, reference: string): Promise<Task> {
  const loops = planTasks(store ? (await store.tasks()).map(({ task }) => task) : []);
  const wanted = reference.trim().toLowerCase();
  const exact = loops.filter(({ id, plan }) => plan.name === wanted || id === wanted);
  const live = exact.filter((task) => !isEnded(task));
  if (live.length > 1)
    throw new UserError(
      `Several loops are called "${reference}": tasks ${live.map(({ id }) => id).join(', ')}.`,
      'Give the id of one.',
    );
  const found = live[0] ?? exact.at(-1);
  if (found) return found;
  const alike = loops.filter(({ id, plan }) => plan.name.includes(wanted) || id.startsWith(wanted));
  if (alike.length === 1) return alike[0]!;
  const listed = (some: typeof loops) => some.map(({ plan }) => plan.name).join(', ');
  if (alike.length > 1)
    throw new UserError(
      `"${reference}" is a part of several names: ${listed(alike)}.`,
      'Give the whole name.',
    );
  throw new UserError(
    `There is no loop "${reference}".`,
    loops.length === 0
      ? 'Start one: `forge-loop loop start plan.md`.'
      : `Known: ${listed(loops.slice(-8).reverse())}.`,
  );
}

interface Cancelled {
  task: string;
  name: string;
  /** It had ended before. */
  already: boolean;
  /** The worktree that was removed. */
  reaped: string | null;
  /** The next run ends it. */
  pending: boolean;
  /** The worktree that was to be removed, and stays while a runner has to end it. */
  kept: string | null;
}

/**
 * Asked again, or of one that has ended, it changes nothing. The runner that has it ends it; where none has, or it died
 * before it did, it is ended here.
 */
export async function cancelLoop(
  context: Context,
  input: { loop: string; cleanupWorktree: boolean },
): Promise<Cancelled> {
  const found = await findLoop(await context.reading(), input.loop);
  const { id } = found;
  const answer = { task: id, name: found.plan!.name, reaped: null, pending: false, kept: null };
  if (isEnded(found) && !input.cleanupWorktree) return { ...answer, already: true };
  const ports = await context.ports();
  const { store } = ports;
  const wasAsked = (await store.requests(id)).some(({ kind }) => kind === 'cancel');
  if (!isEnded(found) && !wasAsked)
    await store.request({ task: id, kind: 'cancel', by: await context.operator(), at: context.now() });
  const lease = await ownLease(ports, found, isEnded(found) ? undefined : 'it was asked to cancel it');
  try {
    const { task } = (await store.task(id))!;
    // An issue has to be told, and a pull request taken out of a queue: that is a runner's, and one takes it up by itself.
    if (!isEnded(task) && (task.issue !== null || task.plan!.phase === 'delivered'))
      return {
        ...answer,
        already: wasAsked,
        pending: true,
        kept: input.cleanupWorktree ? task.workspace : null,
      };
    await endHere(context, ports, lease, id);
    const reaped = input.cleanupWorktree ? await cleanUp(context, ports, lease, id) : null;
    return { ...answer, already: isEnded(found), reaped };
  } finally {
    await store.releaseLease(lease);
  }
}

/** Whatever a dead runner left at work on it is stopped first. */
async function endHere(context: Context, ports: Ports, lease: Lease, id: string): Promise<void> {
  await takeOver(ports, id, lease);
  const { task, version } = (await ports.store.task(id))!;
  if (isEnded(task)) return;
  const why = `cancel requested by ${await context.operator()}`;
  await ports.store.commit({
    lease,
    taskId: id,
    expectedVersion: version,
    events: [transition(task, 'abandoned', why, 'cancelled')],
    at: context.now(),
    dropActions: 'all',
    addActions: task.workspace ? [{ kind: 'preserve_workspace' }] : [],
    consumeRequests: (await ports.store.requests(id)).map((request) => request.id),
  });
}

/** What was not committed is committed first; what was to be taken back is. */
async function cleanUp(context: Context, ports: Ports, lease: Lease, id: string): Promise<string | null> {
  const { task, version } = (await ports.store.task(id))!;
  const path = task.workspace;
  if (path === null) return null;
  const pending = await ports.store.pendingActions(id);
  const key = workspaceKey(task);
  for (const { action } of pending)
    if (action.kind === 'adopt_head' && (await ports.workspaces.probe(key)).exists)
      await ports.workspaces.adopt(key, action.sha);
  await ports.workspaces.reap(key, { keepsFormer: task.plan?.tookBack !== undefined });
  await ports.store.commit({
    lease,
    taskId: id,
    expectedVersion: version,
    events: [event('worktree_reaped', { path })],
    at: context.now(),
    finishActions: pending.flatMap(({ id: action, action: { kind } }) =>
      ['adopt_head', 'reap_workspace', 'preserve_workspace'].includes(kind) ? [action] : [],
    ),
  });
  return path;
}

interface Swept {
  name: string;
  /** `registration`: the refs under which the repository keeps its former work. The branch stays in any case. */
  removed: ('worktree' | 'registration')[];
  problem: string | null;
}

/** One that fails does not keep the others. What is at work, or can go on, keeps its worktree. */
export async function sweepLoops(context: Context): Promise<Swept[]> {
  const reader = await context.reading();
  if (!reader) return [];
  const ports = await context.ports();
  const ended = planTasks((await ports.store.tasks()).map(({ task }) => task)).filter(isEnded);
  const swept: Swept[] = [];
  for (const task of ended) swept.push({ name: task.plan.name, ...(await sweepOne(context, ports, task)) });
  return swept.filter(({ removed, problem }) => removed.length > 0 || problem !== null);
}

async function sweepOne(context: Context, ports: Ports, task: Task): Promise<Omit<Swept, 'name'>> {
  try {
    const lease = await ownLease(ports, task);
    try {
      const isDone = task.state === 'completed' || task.state === 'merged';
      const path = isDone ? await cleanUp(context, ports, lease, task.id) : null;
      const isForgotten = await ports.workspaces.forget(workspaceKey(task));
      return {
        removed: [...(path ? ['worktree' as const] : []), ...(isForgotten ? ['registration' as const] : [])],
        problem: null,
      };
    } finally {
      await ports.store.releaseLease(lease);
    }
  } catch (problem) {
    return { removed: [], problem: problem instanceof Error ? problem.message : String(problem) };
  }
}

export async function restartLoop(
  context: Context,
  input: { loop: string; force: boolean; recreateWorktree: boolean },
) {
  const { id, plan } = await findLoop(await context.reading(), input.loop);
  const { phase, milestone } = plan!;
  const restarted = await restartTask(context, { ...input, task: id });
  return { ...restarted, name: plan!.name, phase, milestone, place: placeText(plan!) };
}
