/**
 * The loop as a scheduler sees it: what runs, what is tried again and when, what all of it used, which accounts are limited.
 * The same facts as `status`, cut as Symphony's state is.
 */
import type { Context } from '../context.ts';
import { event, type LoopEvent } from '../core/event.ts';
import type { Usage } from '../core/money/cost.ts';
import { isEnded, nameOfTask, type Task } from '../core/task.ts';
import type { LimitWindow } from '../core/tell/progress.ts';
import type { Store } from '../store/store.ts';
import { iso, isRunnerAlive, type Snapshot, snapshot, type TaskView, taskViews } from '../view.ts';

interface Tokens {
  input: number;
  output: number;
  total: number;
}

interface LastEvent {
  type: LoopEvent['type'];
  at: string;
}

export interface RunningRow {
  task: TaskView;
  tokens: Tokens;
  lastEvent: LastEvent | null;
}

export interface RetryRow {
  task: TaskView;
  dueAt: string;
  problem: string;
}

export interface Runtime {
  at: string;
  /** Tasks with a turn in progress. */
  running: RunningRow[];
  /** Tasks that go on by themselves at a known time. */
  retrying: RetryRow[];
  /** Of everything that ever ran here. */
  totals: Tokens & { secondsRunning: number };
  accountLimits: Snapshot['accountLimits'];
  /** What the provider of the last turn that was told of them said of its account. */
  limitWindows: readonly LimitWindow[];
}

export async function runtime(context: Context): Promise<Runtime> {
  const now = await snapshot(context, { live: true });
  const store = await context.reading();
  const all = store ? (await store.tasks()).map(({ task }) => task) : [];
  const [last] = store ? await store.events({ type: 'rate_limits_seen', last: 1 }) : [];
  const live = now.tasks;
  return {
    at: iso(context.now())!,
    running: await Promise.all(
      live.filter(({ turn }) => turn !== null).map((task) => runningRow(store!, task)),
    ),
    retrying: live.filter(({ turn }) => turn === null).flatMap(retryRow),
    totals: {
      ...tokensOf(store ? await store.usage() : []),
      secondsRunning: all.reduce((sum, task) => sum + workedMs(task, context.now()), 0) / 1000,
    },
    accountLimits: now.accountLimits,
    limitWindows: last?.type === 'rate_limits_seen' ? last.data.windows : [],
  };
}

export interface TaskRuntime {
  task: TaskView;
  status: 'running' | 'retrying' | 'waiting' | 'ended';
  running: RunningRow | null;
  retry: RetryRow | null;
  /** Attempts before this one. */
  restarts: number;
  events: { type: LoopEvent['type']; at: string; data: LoopEvent['data'] }[];
  logs: string;
}

const RECENT = 20;

/** Of the latest task of this name, or of the latest attempt at the issue of this number. Null where nothing was claimed by it. */
export async function taskRuntime(context: Context, identifier: string): Promise<TaskRuntime | null> {
  const store = await context.reading();
  const known = store ? (await store.tasks()).map((stored) => stored.task) : [];
  const latest = (wanted: string) => known.findLast((one) => nameOfTask(one) === wanted);
  const found = latest(identifier) ?? latest(`#${identifier}`);
  if (!store || !found) return null;
  const task = (await taskViews(context, store, [found]))[0]!;
  const recent = await store.events({ task: task.id, last: RECENT });
  const isRunning = task.turn !== null;
  const [retry = null] = isRunning ? [] : retryRow(task);
  return {
    task,
    status: task.endedAt !== null ? 'ended' : isRunning ? 'running' : retry ? 'retrying' : 'waiting',
    running: isRunning ? await runningRow(store, task) : null,
    retry,
    restarts: task.attempt - 1,
    events: recent.map(({ type, at, data }) => ({ type, at: iso(at)!, data })),
    logs: (await context.places()).log(task.id, ''),
  };
}

async function runningRow(store: Store, task: TaskView): Promise<RunningRow> {
  const [last] = await store.events({ task: task.id, last: 1 });
  return {
    task,
    tokens: tokensOf(await store.usage({ task: task.id })),
    lastEvent: last ? { type: last.type, at: iso(last.at)! } : null,
  };
}

function retryRow(task: TaskView): RetryRow[] {
  const { hold } = task;
  return hold?.until ? [{ task, dueAt: hold.until, problem: hold.text }] : [];
}

function tokensOf(usage: readonly Usage[]): Tokens {
  const input = usage.reduce((sum, one) => sum + one.input + one.cacheRead + one.cacheWrite, 0);
  const output = usage.reduce((sum, one) => sum + one.output + one.reasoning, 0);
  return { input, output, total: input + output };
}

const workedMs = (task: Task, now: number): number =>
  task.workedMs + (task.turn && !isEnded(task) ? Math.max(0, now - task.turn.startedAt) : 0);

/** Wakes every runner: a look at the forge, and at what waits. */
export async function refresh(context: Context): Promise<{ requestedAt: string; runnerAlive: boolean }> {
  const store = await context.writing();
  const at = context.now();
  await store.record({ events: [event('look_requested', { by: await context.operator() })], at });
  return { requestedAt: iso(at)!, runnerAlive: await isRunnerAlive(store, context) };
}
