/**
 * Why is nothing happening? One line for the loop where something holds all of it, and one for each open issue saying
 * what it rests on. Derived from the same schedule the loop itself follows.
 */
import { inOneLine } from './config/problems.ts';
import type { Context } from './context.ts';
import { usedUp } from './core/account.ts';
import { deployHold } from './core/deploy.ts';
import { doing, ending, explain, hangsOnChecks, turnText } from './core/explain.ts';
import type { Policy } from './core/policy.ts';
import { hasLabel, isHeld, type Standing, schedule } from './core/schedule.ts';
import { readiness } from './core/spec.ts';
import { isEnded, type Task } from './core/task.ts';
import { accountLimitText, DEPLOY_ADVICE, loopLimitText } from './core/words.ts';
import { ConfigError, ForgeUnavailable } from './errors.ts';
import type { Issue } from './forge/forge.ts';
import { readLoopLimit } from './loop/loop-limit.ts';
import { type Store, taskLease } from './store/store.ts';
import { iso, ownedKeys, runners } from './view.ts';

export interface WhyLine {
  issue: number | null;
  title: string;
  task: string | null;
  why: string;
  /** When it goes on by itself, if that is known. */
  until: string | null;
}

export interface Why {
  loop: string[];
  issues: WhyLine[];
}

export async function why(context: Context, only: number | null): Promise<Why> {
  const { settings, problem } = await context.settings();
  const { policy } = settings;
  const store = await context.reading();
  const tasks = store ? (await store.tasks()).map(({ task }) => task) : [];
  const { issues, silent } = await openIssues(context);
  const forced = new Set<number>();
  for (const { number } of issues) {
    const last = latest(tasks, number);
    const asked = store && last && isEnded(last) ? await store.requests(last.id) : [];
    if (asked.some((request) => request.kind === 'retry')) forced.add(number);
  }
  const { standings } = schedule({ issues, tasks, policy, now: context.now(), forced });
  const lines: WhyLine[] = [];
  for (const issue of issues) {
    const standing = standings.get(issue.number)!;
    const last = latest(tasks, issue.number);
    lines.push(
      standing.kind === 'in_hand' && store
        ? await taskLine(context, store, last!, tasks, policy)
        : issueLine(issue, standing, last, policy),
    );
  }
  const shown = new Set(issues.map((issue) => issue.number));
  for (const task of tasks) {
    if (store && !isEnded(task) && (task.issue === null || !shown.has(task.issue)))
      lines.push(await taskLine(context, store, task, tasks, policy));
  }
  return {
    loop: [
      ...(silent === null ? [] : [`the forge can't be asked: ${silent}`]),
      ...(await loopReasons(context, store, policy, problem, lines.length > 0)),
    ],
    issues: only === null ? lines : await onlyLine(context, lines, only, tasks),
  };
}

/** `silent`: why the forge gives no answer. What is known of the tasks is still worth saying then. */
async function openIssues(context: Context): Promise<{ issues: Issue[]; silent: string | null }> {
  try {
    return { issues: await (await context.forge()).openIssues(), silent: null };
  } catch (error) {
    // Already said about the loop.
    if (error instanceof ConfigError) return { issues: [], silent: null };
    if (error instanceof ForgeUnavailable) return { issues: [], silent: error.message };
    throw error;
  }
}

async function loopReasons(
  context: Context,
  store: Store | null,
  policy: Policy,
  problem: ConfigError | null,
  hasWork: boolean,
): Promise<string[]> {
  const reasons: string[] = [];
  const loop = await store?.loop();
  const alive = store ? runners(await store.leases(), context).some((runner) => runner.alive) : false;
  const config = problem ? inOneLine(problem) : loop?.configProblem;
  if (config) reasons.push(`WORKFLOW.md can't be used: ${config}`);
  if (loop?.pausedBy) reasons.push(`the loop is paused by ${loop.pausedBy} — \`forge-loop resume\``);
  const undeployed = loop ? deployHold(loop.deploy, loop.deployAgain !== null, policy.deploy) : null;
  if (undeployed) reasons.push(`${undeployed} — ${DEPLOY_ADVICE}`);
  const limit = store && (await readLoopLimit({ store, clock: context, settings: { policy: () => policy } }));
  if (limit) reasons.push(loopLimitText(limit));
  for (const one of usedUp(loop?.accountLimits ?? [], context.now())) reasons.push(accountLimitText(one));
  if (alive && loop && loop.stop !== 'no')
    reasons.push('the runner is stopping: `forge-loop stop` was asked');
  if (!alive) reasons.push('no runner is running — `forge-loop run`');
  if (!hasWork) reasons.push('there is no open issue — `forge-loop issue new --title … --ready`');
  return reasons;
}

async function onlyLine(
  context: Context,
  lines: WhyLine[],
  issue: number,
  tasks: readonly Task[],
): Promise<WhyLine[]> {
  const found = lines.filter((line) => line.issue === issue);
  if (found.length > 0) return found;
  const last = latest(tasks, issue);
  const closed = await (await context.forge()).issue(issue);
  const title = closed?.title ?? last?.contract.title ?? '';
  if (!closed && !last) return [{ issue, title, task: null, why: 'there is no such issue', until: null }];
  const why = last ? `closed; ${ending(last)}` : 'closed';
  return [{ issue, title, task: last?.id ?? null, why, until: null }];
}

function issueLine(issue: Issue, standing: Standing, last: Task | null, policy: Policy): WhyLine {
  const line = (why: string, until: number | null = null): WhyLine => ({
    issue: issue.number,
    title: issue.title,
    task: last?.id ?? null,
    why,
    until: iso(until),
  });
  switch (standing.kind) {
    case 'eligible': {
      const { decision } = readiness(issue.title, issue.body);
      const first = decision === 'unsure' ? '; a specifier turn judges it first' : '';
      return line(`ready: taken up when a slot is free${first}`);
    }
    case 'declined':
      return line(`${standing.problem}: it will be declined with ${standing.questions.length} questions`);
    case 'edited':
      return line(standing.why);
    case 'waiting':
      return line(standing.why, standing.until);
    case 'not_ready': {
      const isUnlabelled = standing.why.startsWith('not labelled');
      const isRejected = last?.reason === 'spec_rejected' && hasLabel(issue.labels, policy.labels.needsSpec);
      if ((isUnlabelled || isRejected) && last && isEnded(last)) return line(ending(last));
      return line(
        isUnlabelled
          ? `not labelled ${policy.labels.ready} — \`forge-loop issue ready ${issue.number}\``
          : standing.why,
      );
    }
    case 'in_hand':
      return line('in hand');
    default:
      return standing satisfies never;
  }
}

async function taskLine(
  context: Context,
  store: Store,
  task: Task,
  all: readonly Task[],
  policy: Policy,
): Promise<WhyLine> {
  const now = context.now();
  const [pending] = await store.pendingActions(task.id);
  const line = (why: string, until: number | null = null): WhyLine => ({
    issue: task.issue,
    title: task.contract.title,
    task: task.id,
    why,
    until: iso(until),
  });
  const isHolding = task.hold !== null && isHeld(task, now);
  const cut = task.turn
    ? turnText(task.turn)
    : pending && pending.startedAt !== null
      ? doing(pending.action)
      : null;
  if (!isHolding && cut !== null && !(await ownedKeys(context, store)).has(taskLease(task.id)))
    return line(`${task.state}: interrupted in ${cut}; the next run takes it up`);
  const said = hangsOnChecks(task) ? await (await context.forge()).feedback(task.pull!) : null;
  const { why, until } = explain(
    task,
    { pending: pending ?? null, all, said, accounts: (await store.loop()).accountLimits },
    policy,
    now,
  );
  return line(why, until);
}

function latest(tasks: readonly Task[], issue: number): Task | null {
  const own = tasks.filter((task) => task.issue === issue);
  return own.sort((a, b) => b.attempt - a.attempt)[0] ?? null;
}
