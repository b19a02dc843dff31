/** What one asks first after a night: does anything need me, what came of the work, what did it cost, what is next. */
import type { Context } from '../context.ts';
import { needsPerson } from '../core/hold.ts';
import { loopWaits } from '../core/loop/loop-waits.ts';
import { type CostLine, costLine } from '../core/money/cost.ts';
import { isEnded, type Task } from '../core/task.ts';
import { type Choice, choicesForIssue } from '../core/tell/choices.ts';
import { type Result, resultsSince } from '../core/tell/results.ts';
import { readLoopLimit } from '../loop/loop-limit.ts';
import type { Store } from '../store/store.ts';
import { iso, type Snapshot, type TaskView, taskViews } from '../view.ts';
import { why } from '../why.ts';
import { sinceTime, spentSince } from './cost.ts';

export interface Morning {
  trunk: { branch: string; sha: string | null };
  billing: Snapshot['billing'];
  since: string;
  at: string;
  /** Of the whole loop, and of tasks: each with what settles it. */
  needsYou: NeedsYou[];
  results: (Result & Course)[];
  spent: Pick<CostLine, 'turns' | 'tokens' | 'costUsd' | 'complete'>;
  /** What has not begun, and the first of it. */
  waiting: { count: number; lines: Awaited<ReturnType<typeof why>>['issues'] };
  /** What holds the whole loop, in the words of `why`. */
  loop: string[];
}

interface NeedsYou {
  /** Null: the whole loop. */
  task: string | null;
  name: string | null;
  title: string | null;
  reason: string;
  text: string;
  since: string | null;
  choices: Choice[];
}

/** How it came to that. */
interface Course {
  turns: number;
  rounds: number;
  lastedMs: number | null;
  costUsd: number | null;
  tokens: number | null;
  complete: boolean;
  openFindings: number;
  endedAt: string | null;
  choices: Choice[];
}

const MOST_RESULTS = 200;
const MOST_WAITING = 20;

export async function morning(context: Context, input: { since: string }): Promise<Morning> {
  const since = sinceTime(input.since, context);
  const store = await context.reading();
  const { settings } = await context.settings();
  const tasks = store ? await tasksSince(store, since) : [];
  const [{ issues, loop }, trunk] = await Promise.all([why(context, { issue: null }), trunkOf(context)]);
  const live = new Set(tasks.filter((task) => !isEnded(task)).map(({ id }) => id));
  const waiting = issues.filter(({ task }) => task === null || !live.has(task));
  const { turns, tokens, costUsd, complete } = store
    ? await spentSince(store, since)
    : costLine('', '', [], []);
  return {
    trunk,
    billing: settings.workflow.agent.billing,
    since: iso(since)!,
    at: iso(context.now())!,
    needsYou: store ? [...(await ofLoop(context, store)), ...(await ofTasks(context, store, tasks))] : [],
    results: store ? (await resultsNow(context, store, tasks, since)).map(withTitle(issues)) : [],
    spent: { turns, tokens, costUsd, complete },
    waiting: { count: waiting.length, lines: waiting.slice(0, MOST_WAITING) },
    loop,
  };
}

/** Those that have not ended, or did since then; as they were begun. */
async function tasksSince(store: Store, since: number): Promise<Task[]> {
  const live = (await store.tasks({ live: true })).filter(({ task }) => !isEnded(task));
  return [...(await store.ended({ since })), ...live]
    .map(({ task }) => task)
    .sort((a, b) => a.createdAt - b.createdAt);
}

/** What never became a task is known by its issue alone. */
const withTitle =
  (issues: Awaited<ReturnType<typeof why>>['issues']) =>
  <R extends Result>(result: R): R => ({
    ...result,
    title: result.title ?? issues.find(({ issue }) => issue === result.issue)?.title ?? null,
  });

async function trunkOf(context: Context): Promise<Morning['trunk']> {
  const { branch } = await (await context.forge()).trunk();
  const { stdout, exitCode } = await context.git(
    ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`],
    {
      allow: [1, 128],
    },
  );
  return { branch, sha: exitCode === 0 ? stdout.trim() : null };
}

async function ofLoop(context: Context, store: Store): Promise<NeedsYou[]> {
  const { policy } = (await context.settings()).settings;
  const limit = await readLoopLimit({ store, clock: context, settings: { policy: () => policy } });
  const resume: Choice = {
    ...{ operation: 'resume', input: {}, label: 'Resume the loop', settles: true, ends: false },
    says: 'The loop continues, and retries what it waits for.',
  };
  return loopWaits(await store.loop(), policy, limit, context.now())
    .filter(({ endsBy }) => endsBy !== 'time')
    .map(({ reason, text, resumes }) => ({
      ...{ task: null, name: null, title: null, since: null },
      ...{ reason, text, choices: resumes ? [resume] : [] },
    }));
}

async function ofTasks(context: Context, store: Store, tasks: readonly Task[]): Promise<NeedsYou[]> {
  const held = tasks.filter((task) => !isEnded(task) && task.hold !== null && needsPerson(task.hold));
  const views = await taskViews(context, store, held);
  return views.map(({ id, name, title, hold, choices }, at) => ({
    ...{ task: id, name, title, reason: hold!.reason, text: hold!.text, choices },
    since: iso(held[at]!.hold!.since ?? null),
  }));
}

/** The latest first. */
async function resultsNow(
  context: Context,
  store: Store,
  tasks: readonly Task[],
  since: number,
): Promise<Morning['results']> {
  const events = [
    ...(await store.events({ type: 'issue_declined', last: MOST_RESULTS })),
    ...(await store.events({ type: 'readiness_withdrawn', last: MOST_RESULTS })),
  ].sort((a, b) => a.seq - b.seq);
  const found = resultsSince(since, events, tasks);
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const ended = ({ task }: Result): number => (task === null ? 0 : (byId.get(task)!.endedAt ?? 0));
  const results = found.sort((a, b) => ended(b) - ended(a)).slice(0, MOST_RESULTS);
  const views = await taskViews(
    context,
    store,
    results.flatMap(({ task }) => (task === null ? [] : [byId.get(task)!])),
  );
  const viewOf = new Map(views.map((view) => [view.id, view]));
  return Promise.all(
    results.map(async (result) => {
      const view = result.task === null ? null : viewOf.get(result.task)!;
      const course = view ? await courseOf(store, view, byId.get(view.id)!) : unbegun(result);
      return { ...result, ...course };
    }),
  );
}

const unbegun = ({ issue, reason }: Result): Course => ({
  ...{ turns: 0, rounds: 0, lastedMs: null, costUsd: 0, tokens: 0, complete: true },
  ...{ openFindings: 0, endedAt: null },
  choices:
    issue !== null && (reason === 'declined' || reason === 'edited') ? choicesForIssue(issue, reason) : [],
});

async function courseOf(store: Store, view: TaskView, task: Task): Promise<Course> {
  const open = (await store.findings(task.id)).filter(({ status }) => status === 'open');
  return {
    turns: task.turns,
    rounds: task.criticRounds,
    lastedMs: task.startedAt === null || task.endedAt === null ? null : task.endedAt - task.startedAt,
    costUsd: view.costUsd,
    tokens: view.tokens,
    complete: view.spendComplete,
    openFindings: open.length,
    endedAt: view.endedAt,
    choices: view.choices,
  };
}
