/**
 * Why is nothing happening? One line for the loop where something holds all of it, and one for each open issue saying
 * what it rests on. Derived from the same schedule the loop itself follows.
 */

import { atWork } from './at-work.ts';
import { frontierProblem } from './config/frontier.ts';
import { inOneLine } from './config/problems.ts';
import type { Context } from './context.ts';
import type { WorkItem } from './core/claim.ts';
import { ending } from './core/explain.ts';
import { clashText } from './core/line/apart.ts';
import { backlogText, isFull, NO_PACE } from './core/line/pace.ts';
import {
  hasLabel,
  latestAttempts,
  NO_QUOTA,
  type Quota,
  type Schedule,
  type Standing,
  schedule,
} from './core/line/schedule.ts';
import { loopWaits } from './core/loop/loop-waits.ts';
import type { Policy } from './core/policy.ts';
import { isEnded, nameOfTask, type Task } from './core/task.ts';
import { ordinal } from './core/words/ordinal.ts';
import { skippedText } from './core/words/skipped.ts';
import { count } from './core/words/words.ts';
import { ConfigError, ForgeUnavailable, UsageError, withHint } from './errors.ts';
import type { Forge, ForgeProblem } from './forge/forge.ts';
import { forcedIssues } from './loop/intake.ts';
import { placesInLine, saidOf } from './loop/landing-facts.ts';
import { readLoopLimit } from './loop/loop-limit.ts';
import { readPace } from './loop/read-pace.ts';
import { everySource } from './loop/source.ts';
import { findLoop } from './operations/loops.ts';
import { type Known, restOf } from './rest.ts';
import type { Store } from './store/store.ts';
import { countedAmong } from './under-way.ts';
import { iso, ownedKeys, runners } from './view.ts';

interface WhyLine {
  /** `#7`, a plan's name. */
  name: string;
  issue: number | null;
  title: string;
  task: string | null;
  why: string;
  /** When it goes on by itself, if that is known. */
  until: string | null;
}

interface Why {
  loop: string[];
  issues: WhyLine[];
}

export async function why(
  context: Context,
  only: { issue: number | null; loop?: string | undefined },
): Promise<Why> {
  if (only.issue !== null && only.loop !== undefined)
    throw new UsageError('why: give an issue or a loop, not both.');
  const asked = only.loop === undefined ? null : await findLoop(await context.reading(), only.loop);
  const { loop, lines, latest } = await around(context, NO_QUOTA);
  if (asked) return { loop, issues: loopLine(lines, asked) };
  const { issue } = only;
  return {
    loop,
    issues: issue === null ? lines : await onlyLine(context, lines, issue, latest.get(issue) ?? null),
  };
}

interface Preview {
  /** What keeps the whole loop from working now. */
  loop: string[];
  /** In this order; `now` says whether there is a slot for it. */
  takes: { issue: number; title: string; now: boolean }[];
  others: WhyLine[];
}

/** What a run would take up if it was started now. */
export async function preview(
  context: Context,
  { only, most }: { only?: number[] | undefined; most?: number | undefined },
): Promise<Preview> {
  const quota = { only: only ? new Set(only) : null, left: most ?? Number.POSITIVE_INFINITY };
  const { loop, lines, plan, latest } = await around(context, quota);
  const eligible = new Set(plan.eligible.map(({ number }) => number));
  // Closed, or not there at all: whoever asks for one is told.
  const unlisted = (only ?? []).filter((asked) => !lines.some(({ issue }) => issue === asked));
  return {
    // One that would be started.
    loop: loop.filter((reason) => !reason.startsWith(NO_RUNNER)),
    takes: plan.eligible.map((item) => ({
      issue: item.number,
      title: item.title,
      now: plan.claims.includes(item),
    })),
    others: [
      ...lines.filter(({ issue }) => issue === null || !eligible.has(issue)),
      ...(
        await Promise.all(unlisted.map((issue) => onlyLine(context, lines, issue, latest.get(issue) ?? null)))
      ).flat(),
    ],
  };
}

const NO_RUNNER = 'no runner is running';

/** Everything that there is, and what each rests on. */
async function around(
  context: Context,
  quota: Quota,
): Promise<{
  loop: string[];
  lines: WhyLine[];
  latest: Map<number, Task>;
  plan: Schedule;
}> {
  const { settings, problem } = await context.settings();
  const { policy } = settings;
  const store = await context.reading();
  const tasks = store ? (await store.tasks()).map(({ task }) => task) : [];
  const latest = latestAttempts(tasks);
  const { items, forge, silent, unreadable } = await openWork(context);
  const forced = store ? await forcedIssues(store, items, tasks) : new Set<number>();
  const accountLimits = (await store?.loop())?.accountLimits ?? [];
  const pace = store ? await readPace(store) : NO_PACE;
  const { frontier, problems } = await context.frontier();
  const { live, left } = store
    ? await countedAmong(context, store, tasks)
    : { live: [], left: new Set<Task>() };
  const plan = schedule({
    items,
    tasks,
    left,
    policy,
    now: context.now(),
    accountLimits,
    forced,
    pace,
    frontier,
    quota,
  });
  const { standings } = plan;
  const owned = store ? await ownedKeys(context, store) : new Set<string>();
  const work = store ? await atWork(context, store, owned) : [];
  const { order, startable } = plan;
  const lineLength = forge ? await placesInLine(forge, policy) : policy.merge.queue.ahead;
  const known = {
    all: tasks,
    underWay: { live, order, eligible: startable.length, lineLength },
    said: forge && (await saidOf(forge, live)),
    policy,
    now: context.now(),
    owned,
    work,
  };
  const lines: WhyLine[] = [];
  for (const [item, standing] of standings) {
    const last = latest.get(item.number) ?? null;
    lines.push(
      standing.kind === 'in_hand' && store && last
        ? await taskLine(store, last, known)
        : issueLine(item, standing, last, policy, plan),
    );
  }
  const shown = new Set(items.map((item) => item.number));
  for (const task of tasks) {
    if (store && !isEnded(task) && (task.issue === null || !shown.has(task.issue)))
      lines.push(await taskLine(store, task, known));
  }
  return {
    loop: [
      ...(silent === null ? [] : [`the forge does not answer: ${silent}`]),
      ...unreadable.map(({ what, fix }) => `${skippedText([what])}. ${fix}`),
      ...problems.map((one) => frontierProblem(one)),
      ...(await loopReasons(context, store, policy, problem, lines.length > 0 || silent !== null)),
    ],
    lines,
    latest,
    plan,
  };
}

/** `silent`: why the forge gives no answer. What is known of the tasks is still worth saying then. */
async function openWork(context: Context): Promise<OpenWork> {
  const none = { items: [], forge: null, silent: null, unreadable: [] };
  try {
    const forge = await context.forge();
    const items = await everySource(forge).items();
    return { ...none, items, forge, unreadable: (await forge.unreadable?.()) ?? [] };
  } catch (error) {
    // Already said about the loop.
    if (error instanceof ConfigError) return none;
    if (error instanceof ForgeUnavailable) return { ...none, silent: withHint(error) };
    throw error;
  }
}

interface OpenWork {
  items: WorkItem[];
  /** Null where it can't be asked. */
  forge: Forge | null;
  silent: string | null;
  unreadable: ForgeProblem[];
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
  const config = problem ? inOneLine(problem) : alive && loop?.configProblem;
  if (config) reasons.push(`WORKFLOW.md can't be used: ${config}`);
  const limit = store && (await readLoopLimit({ store, clock: context, settings: { policy: () => policy } }));
  const waits = loop ? loopWaits(loop, policy, limit, context.now()) : [];
  // Without work nobody waits for what the gate says.
  const ofGate = ['gate_could_not_run', 'gate_empty'];
  reasons.push(...waits.filter(({ reason }) => hasWork || !ofGate.includes(reason)).map(({ text }) => text));
  if (alive && loop && loop.stop !== 'no') reasons.push('the runner is stopping (`forge-loop stop`)');
  if (!alive) reasons.push(`${NO_RUNNER} — \`forge-loop run\``);
  if (!hasWork) reasons.push('there is no open issue — `forge-loop issue new --title … --ready`');
  return reasons;
}

async function onlyLine(
  context: Context,
  lines: WhyLine[],
  issue: number,
  last: Task | null,
): Promise<WhyLine[]> {
  const found = lines.filter((line) => line.issue === issue);
  if (found.length > 0) return found;
  const closed = await (await context.forge()).issue(issue);
  const name = `#${issue}`;
  const title = closed?.title ?? last?.contract.title ?? '';
  if (!closed && !last)
    return [{ name, issue, title, task: null, why: 'there is no such issue', until: null }];
  const why = last ? `closed; ${ending(last)}` : 'closed';
  return [{ name, issue, title, task: last?.id ?? null, why, until: null }];
}

function loopLine(lines: readonly WhyLine[], loop: Task): WhyLine[] {
  if (!isEnded(loop)) return lines.filter(({ task }) => task === loop.id);
  const { id, issue, contract } = loop;
  const name = nameOfTask(loop);
  return [{ name, issue, title: contract.title, task: id, why: ending(loop), until: null }];
}

function issueLine(
  issue: WorkItem,
  standing: Standing,
  last: Task | null,
  policy: Policy,
  { backlog, clashes, eligible, alignment }: Schedule,
): WhyLine {
  const line = (why: string, until: number | null = null): WhyLine => ({
    name: `#${issue.number}`,
    issue: issue.number,
    title: issue.title,
    task: last?.id ?? null,
    why,
    until: iso(until),
  });
  switch (standing.kind) {
    case 'eligible': {
      const first = issue.readiness().decision === 'unsure' ? '; a specifier turn judges it first' : '';
      if (isFull(backlog))
        return line(`ready: starts when others have landed (${backlogText(backlog)})${first}`);
      const clash = clashes.get(issue);
      const behind = clash ? `; ${clashText(clash)}` : '';
      const aligned = alignment(issue).why;
      const place = aligned ? `; ${ordinal(eligible.indexOf(issue) + 1)} in line: ${aligned}` : '';
      return line(`ready: starts when a slot is free${place}${behind}${first}`);
    }
    case 'declined':
      return line(
        `${standing.problem}: it will be declined with ${count(standing.questions.length, 'question')}`,
      );
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
      return line('being worked on');
    default:
      return standing satisfies never;
  }
}

async function taskLine(store: Store, task: Task, known: Known): Promise<WhyLine> {
  const { why, until } = await restOf(store, task, known);
  return {
    name: nameOfTask(task),
    issue: task.issue,
    title: task.contract.title,
    task: task.id,
    why,
    until: iso(until),
  };
}
