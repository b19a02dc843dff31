/** What came of a stretch of time, or of one task, on one page: what landed, what did not and why, what it cost. */
import { basename } from 'node:path';
import type { Context } from '../context.ts';
import type { CostLine } from '../core/money/cost.ts';
import { turnName } from '../core/role.ts';
import { isEnded, nameOfTask, type Task } from '../core/task.ts';
import type { Store } from '../store/store.ts';
import { iso, taskViews } from '../view.ts';
import { type CostView, cost, sinceTime } from './cost.ts';
import { type Morning, morning } from './morning.ts';
import { findTask } from './reference.ts';

export type Reported = Morning['results'][number];

/** What has not ended: what it does, or waits for. The whole loop has no title. */
interface Open {
  name: string;
  title: string;
  why: string;
}

/** When a task was at work. */
export interface Span {
  name: string;
  title: string;
  turns: { name: string; status: string | null; startedAt: string; endedAt: string | null }[];
}

export interface Report {
  /** The name of the repository's folder. */
  repository: string;
  /** Of one task; null: of everything in this time. */
  task: string | null;
  since: string;
  until: string;
  billing: CostView['billing'];
  pricesAsOf: string;
  merged: Reported[];
  /** Plans that were delivered as a branch. */
  completed: Reported[];
  notMerged: Reported[];
  needsPerson: Open[];
  atWork: Open[];
  cost: { total: CostLine; byRole: CostLine[]; merged: CostView['merged'] };
  warnings: string[];
  spans: Span[];
}

export async function report(
  context: Context,
  input: { task?: string | undefined; since?: string | undefined },
): Promise<Report> {
  const store = await context.reading();
  const one = input.task === undefined ? null : (await findTask(store, input.task)).task;
  const [first] = one ? await store!.events({ task: one.id, limit: 1 }) : [];
  const since = first && input.since === undefined ? first.at : sinceTime(input.since ?? '24h', context);
  const isIn = (task: string | null): boolean => one === null || task === one.id;
  const tasks = store ? (await store.tasks()).map(({ task }) => task).filter(({ id }) => isIn(id)) : [];
  const seen = await morning(context, { since: iso(since)! });
  const needsYou = seen.needsYou.filter(({ task }) => isIn(task));
  const results = seen.results.filter(({ task }) => isIn(task));
  const atWork = tasks.filter((task) => !isEnded(task) && !needsYou.some((held) => held.task === task.id));
  const byRole = await cost(context, { by: 'role', since: iso(since)!, task: one?.id });
  return {
    repository: basename(context.root),
    task: one && nameOfTask(one),
    since: iso(since)!,
    until: iso(context.now())!,
    billing: byRole.billing,
    pricesAsOf: byRole.pricesAsOf,
    merged: results.filter(({ outcome }) => outcome === 'merged'),
    completed: results.filter(({ outcome }) => outcome === 'completed'),
    notMerged: results.filter(({ outcome }) => outcome !== 'merged' && outcome !== 'completed'),
    needsPerson: needsYou.map(({ name, title, text }) => ({
      name: name ?? 'The loop',
      title: title ?? '',
      why: text,
    })),
    atWork: (store ? await taskViews(context, store, atWork) : []).map(({ name, title, rests, why }) => ({
      ...{ name, title },
      why: rests ?? why,
    })),
    cost: { total: byRole.total, byRole: byRole.lines, merged: byRole.merged },
    warnings: byRole.warnings.map(({ text }) => text),
    spans: store ? await spansOf(store, tasks, since) : [],
  };
}

async function spansOf(store: Store, tasks: readonly Task[], since: number): Promise<Span[]> {
  const spans = tasks.map(async (task) => {
    const turns = (await store.turns(task.id)).filter(
      ({ startedAt, endedAt }) => (endedAt ?? startedAt) >= since,
    );
    return {
      name: nameOfTask(task),
      title: task.contract.title,
      turns: turns.map((turn) => ({
        name: turnName(turn),
        status: turn.status,
        startedAt: iso(turn.startedAt)!,
        endedAt: iso(turn.endedAt),
      })),
    };
  });
  return (await Promise.all(spans)).filter(({ turns }) => turns.length > 0);
}
