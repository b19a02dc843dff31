/** What came of one run: what merged, what did not and why, what waits for a person, what it cost. */
import type { Context } from '../context.ts';
import { type Result, resultsOf } from '../core/tell/results.ts';
import type { RunEnd } from '../loop/runner.ts';
import { iso } from '../view.ts';
import { type CostView, cost } from './cost.ts';

export interface RunSummary {
  ended: RunEnd['why'];
  merged: Result[];
  /** Plans that were delivered as a branch. */
  completed: Result[];
  /** Ended or declined, with the class of each outcome: only `failure` is one. */
  notMerged: Result[];
  needsPerson: string[];
  /** Of the turns that were taken in this run; null and `complete` as in `cost`. */
  spent: Pick<CostView['total'], 'turns' | 'tokens' | 'costUsd' | 'complete'>;
  billing: CostView['billing'];
}

/** From here on belongs to the run: what other runners do meanwhile, too. */
interface RunStart {
  at: number;
  seq: number;
}

export async function runStart(context: Context): Promise<RunStart> {
  const [last] = await (await context.writing()).events({ last: 1 });
  return { at: context.now(), seq: last?.seq ?? 0 };
}

export async function runSummary(
  context: Context,
  since: RunStart,
  { why, needsPerson }: RunEnd,
): Promise<RunSummary> {
  const store = await context.writing();
  const tasks = (await store.tasks()).map(({ task }) => task);
  const results = resultsOf(await store.events({ after: since.seq }), tasks);
  const { total, billing } = await cost(context, { by: 'issue', since: iso(since.at)! });
  const { turns, tokens, costUsd, complete } = total;
  return {
    ended: why,
    merged: results.filter(({ outcome }) => outcome === 'merged'),
    completed: results.filter(({ outcome }) => outcome === 'completed'),
    notMerged: results.filter(({ outcome }) => outcome !== 'merged' && outcome !== 'completed'),
    needsPerson,
    spent: { turns, tokens, costUsd, complete },
    billing,
  };
}
