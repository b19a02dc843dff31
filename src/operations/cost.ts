/** What was spent, on what, and what came of it. */
import type { Context } from '../context.ts';
import { type CostGroup, type CostReport, costReport, type UnknownTurn } from '../core/cost.ts';
import type { EventData } from '../core/event.ts';
import { PRICES_AS_OF } from '../core/price-list.ts';
import { UsageError } from '../errors.ts';
import type { Store } from '../store/store.ts';
import { backlogNow, iso, type Snapshot } from '../view.ts';

export interface CostView extends CostReport {
  /** Null: from the beginning. */
  since: string | null;
  billing: 'usd' | 'subscription';
  /** The date of the list that prices are from, where a provider tells none. */
  pricesAsOf: string;
  /** What waits to be judged and merged: paid for, and not yet of use. */
  backlog: Snapshot['backlog'];
}

export async function cost(
  context: Context,
  input: { by: CostGroup; since?: string | undefined },
): Promise<CostView> {
  const since = input.since === undefined ? 0 : sinceTime(input.since, context);
  const store = await context.reading();
  const isRecent = ({ at }: { at: number }): boolean => at >= since;
  const tasks = store ? (await store.tasks()).map(({ task }) => task) : [];
  const report = costReport({
    by: input.by,
    usage: store ? (await store.usage()).filter(isRecent) : [],
    unknown: store ? (await unknownTurns(store)).filter(isRecent) : [],
    tasks,
    since,
    dayOf: (at) => context.day(at).name,
  });
  const { billing } = (await context.settings()).settings.workflow.agent;
  const backlog = await backlogNow(context, store, tasks);
  return {
    since: input.since === undefined ? null : iso(since),
    billing,
    pricesAsOf: PRICES_AS_OF,
    backlog,
    ...report,
  };
}

async function unknownTurns(store: Store): Promise<UnknownTurn[]> {
  const ended = await store.events({ type: 'turn_completed' });
  return ended.flatMap((one) =>
    one.type === 'turn_completed' && one.task !== null && one.data.usage === 'unknown'
      ? [{ task: one.task, ...turnOf(one.data), at: one.at }]
      : [],
  );
}

const turnOf = ({ role, turn, sessionId }: EventData['turn_completed']) => ({ role, turn, sessionId });

/** `7d`, `12h`, `today`, `2026-11-15`, or a whole ISO time. A date alone begins at midnight here. */
function sinceTime(text: string, context: Pick<Context, 'now' | 'day'>): number {
  const said = text.trim();
  const [, count, unit] = /^(\d+)([dhm])$/.exec(said) ?? [];
  if (count && unit) return context.now() - Number(count) * UNITS[unit as keyof typeof UNITS];
  if (said === 'today') return context.day(context.now()).startsAt;
  const isDate = /^\d{4}-\d\d-\d\d$/.test(said);
  const at =
    /^\d{4}-\d\d-\d\dT/.test(said) || isDate ? Date.parse(isDate ? `${said}T00:00:00` : said) : Number.NaN;
  if (Number.isNaN(at))
    throw new UsageError(
      `"${said}" is no time to begin at.`,
      'Say 7d, 12h, today, or a date like 2026-11-15.',
    );
  return at;
}

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000 };
