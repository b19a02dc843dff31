/** What was spent, on what, and what came of it. */
import type { Context } from '../context.ts';
import { type CostGroup, type CostLine, type CostReport, costLine, costReport } from '../core/money/cost.ts';
import { PRICES_AS_OF } from '../core/money/price-list.ts';
import { roundOf, type TurnKey, type TurnWarning, turnWarnings } from '../core/money/turn-cost.ts';
import { turnName } from '../core/role.ts';
import { nameOfTask, type Task } from '../core/task.ts';
import { turnWarningText } from '../core/words/words.ts';
import { UsageError } from '../errors.ts';
import type { Store, UsageDelta } from '../store/store.ts';
import { backlogNow, iso, type Snapshot } from '../view.ts';

export interface CostView extends CostReport {
  /** Null: from the beginning. */
  since: string | null;
  billing: 'usd' | 'subscription';
  /** The date of the list that prices are from, where a provider tells none. */
  pricesAsOf: string;
  /** Turns that cost more than they should have. */
  warnings: TurnWarningView[];
  /** What waits to be judged and merged: paid for, and not yet of use. */
  backlog: Snapshot['backlog'];
}

export async function cost(
  context: Context,
  input: { by: CostGroup; since?: string | undefined; task?: string | undefined },
): Promise<CostView> {
  const since = input.since === undefined ? 0 : sinceTime(input.since, context);
  const store = await context.reading();
  const wanted = { since, ...(input.task !== undefined && { task: input.task }) };
  const usage = (await store?.usage(wanted)) ?? [];
  const unknown = (await store?.unknownTurns(wanted)) ?? [];
  const tasks = store ? await tasksOf(store, wanted, [...usage, ...unknown]) : [];
  const { policy, workflow } = (await context.settings()).settings;
  const started = input.by === 'round' && store ? await startedTurns(store, tasks) : new Map();
  const report = costReport({
    by: input.by,
    usage,
    unknown,
    tasks,
    since,
    dayOf: (at) => context.day(at).name,
    roundOf: (turn) => {
      const { turns, verdicts } = started.get(turn.task) ?? { turns: [], verdicts: 0 };
      return roundOf(turns, verdicts, turn);
    },
  });
  const live = store ? (await store.tasks({ live: true })).map(({ task }) => task) : [];
  const backlog = await backlogNow(context, store, live);
  return {
    since: input.since === undefined ? null : iso(since),
    billing: workflow.agent.billing,
    pricesAsOf: PRICES_AS_OF,
    warnings: store ? await warningsSince(store, usage, tasks, policy.budget.warnTurnUsd, since) : [],
    backlog,
    ...report,
  };
}

/** Those that something was spent on, or that ended, since then; as they were begun. */
async function tasksOf(
  store: Store,
  { since, task }: { since: number; task?: string },
  spent: readonly { task: string }[],
): Promise<Task[]> {
  if (task !== undefined) return [(await store.task(task))?.task ?? []].flat();
  if (since === 0) return (await store.tasks()).map((stored) => stored.task);
  const found = new Map((await store.ended({ since })).map((stored) => [stored.task.id, stored.task]));
  for (const { task: id } of spent) {
    const stored = found.has(id) ? null : await store.task(id);
    if (stored) found.set(id, stored.task);
  }
  return [...found.values()].sort((a, b) => a.createdAt - b.createdAt);
}

export interface TurnWarningView extends TurnKey {
  task: string;
  kind: TurnWarning['kind'];
  /** With the name of the turn. */
  text: string;
}

/** What was spent at that time and later, on everything. */
export async function spentSince(store: Store, since: number): Promise<CostLine> {
  return costLine('total', '', await store.usage({ since }), await store.unknownTurns({ since }));
}

/** A turn may continue a session of before that time: of tasks that are older, all calls are looked at. */
async function warningsSince(
  store: Store,
  recent: readonly UsageDelta[],
  tasks: readonly Task[],
  limitUsd: number | null,
  since: number,
): Promise<TurnWarningView[]> {
  const spentOn = new Set(recent.map(({ task }) => task));
  const older = tasks.filter(({ id, createdAt }) => createdAt < since && spentOn.has(id)).map(({ id }) => id);
  const isOlder = new Set(older);
  const calls = [
    ...recent.filter(({ task }) => !isOlder.has(task)),
    ...(await Promise.all(older.map((task) => store.usage({ task })))).flat(),
  ];
  const differing = await differingAccounts(store, tasks, { since });
  return [...warningsOf(calls, tasks, limitUsd, since), ...differing];
}

/** Turns of which the gateway counted something else than their agent says. */
export async function differingAccounts(
  store: Store,
  tasks: readonly Task[],
  of: { task?: string; since?: number },
): Promise<TurnWarningView[]> {
  const known = new Map(tasks.map((task) => [task.id, task]));
  return (await store.events({ type: 'accounts_differ', ...of })).flatMap((one) => {
    const task = known.get(one.task ?? '');
    if (one.type !== 'accounts_differ' || !task) return [];
    const { role, turn, sessionId, ...found } = one.data;
    return [warningView(task, { role, turn, sessionId }, { kind: 'accounts_differ', ...found })];
  });
}

const warningView = (
  task: Task,
  { role, turn, sessionId }: TurnKey,
  warning: TurnWarning,
): TurnWarningView => ({
  task: task.id,
  ...{ role, turn, sessionId, kind: warning.kind },
  text: `${nameOfTask(task)} ${turnName({ role, turn })} ${turnWarningText(warning)}`,
});

/** Of the turns that began at this time or later. `calls` are all those of these tasks, in the order they were booked. */
export function warningsOf(
  calls: readonly UsageDelta[],
  tasks: readonly Task[],
  limitUsd: number | null,
  since: number,
): TurnWarningView[] {
  const byTask = groupedBy(calls, ({ task }) => task);
  return tasks.flatMap((task) => {
    const mine = byTask.get(task.id) ?? [];
    const turns = [...groupedBy(mine, nameOfTurn).values()].map(([first]) => first!);
    return turns
      .filter(({ at }) => at >= since)
      .flatMap((turn) =>
        turnWarnings(mine, turn, limitUsd).map((warning) => warningView(task, turn, warning)),
      );
  });
}

const nameOfTurn = ({ role, turn, sessionId }: TurnKey): string => `${role} ${turn} ${sessionId}`;

function groupedBy<T>(all: readonly T[], nameOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(nameOf(one));
    if (group) group.push(one);
    else groups.set(nameOf(one), [one]);
  }
  return groups;
}

async function startedTurns(store: Store, tasks: readonly Task[]) {
  const known = tasks.map(
    async ({ id, criticRounds }) => [id, { turns: await store.turns(id), verdicts: criticRounds }] as const,
  );
  return new Map(await Promise.all(known));
}

/** `7d`, `12h`, `today`, `2026-11-15`, or a whole ISO time. A date alone begins at midnight here. */
export function sinceTime(text: string, context: Pick<Context, 'now' | 'day'>): number {
  const said = text.trim();
  const [, count, unit] = /^(\d+)([dhm])$/.exec(said) ?? [];
  if (count && unit) return context.now() - Number(count) * UNITS[unit as keyof typeof UNITS];
  if (said === 'today') return context.day(context.now()).startsAt;
  const isDate = /^\d{4}-\d\d-\d\d$/.test(said);
  const at =
    /^\d{4}-\d\d-\d\dT/.test(said) || isDate ? Date.parse(isDate ? `${said}T00:00:00` : said) : Number.NaN;
  if (Number.isNaN(at))
    throw new UsageError(`"${said}" is not a time.`, 'Say 7d, 12h, today, or a date like 2026-11-15.');
  return at;
}

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000 };
