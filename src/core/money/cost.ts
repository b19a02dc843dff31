/**
 * What was spent, added up by issue, role, model or day. What nobody knows is null and makes the sums lower bounds; it is
 * never counted as nothing.
 */
import { type Role, turnName } from '../role.ts';
import { isEnded, nameOfTask, type Task } from '../task.ts';

/** What one call of an agent used. */
export interface Usage {
  task: string;
  turn: number;
  role: Role;
  sessionId: string;
  model: string;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
  costUsd: number | null;
  at: number;
}

/** What a program used beside the messages it told of, such as calls on the side: no message of its own. */
export const restKey = (of: string): string => `${REST}${of}`;
export const isRest = ({ key }: { key: string }): boolean => key.startsWith(REST);
const REST = 'rest:';

type Amounts = Pick<Usage, 'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning' | 'costUsd'>;

/** What was spent stays spent: nothing below zero is ever booked. */
export const isAmount = ({ input, output, cacheRead, cacheWrite, reasoning, costUsd }: Amounts): boolean =>
  [input, output, cacheRead, cacheWrite, reasoning, costUsd ?? 0].every(
    (amount) => amount >= 0 && Number.isFinite(amount),
  );

/** A turn whose usage nobody knows, or only in part. */
export type UnknownTurn = Pick<Usage, 'task' | 'role' | 'turn' | 'sessionId' | 'at'>;

export const COST_GROUPS = ['issue', 'role', 'model', 'day', 'round', 'turn'] as const;
export type CostGroup = (typeof COST_GROUPS)[number];

export interface CostLine {
  /** `#7`, `coder`, a model, `2026-11-15`, `#7 round 2`, `#7 turn 3`. */
  key: string;
  /** An issue's title; else empty. */
  title: string;
  turns: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
  tokens: number;
  /** Null when no cost at all is known. */
  costUsd: number | null;
  /** Tokens whose price is not known. */
  unpriced: number;
  /** False when something is unknown, so that these are lower bounds. */
  complete: boolean;
  /** Of what went in, the part that was read from a cache; null when nothing went in. */
  cacheHitRatio: number | null;
}

export interface CostReport {
  by: CostGroup;
  lines: CostLine[];
  total: CostLine;
  /** `perPullUsd` is what the merged ones cost themselves; `allInPerPullUsd` with everything that was spent beside them. */
  merged: {
    pulls: number;
    costUsd: number | null;
    perPullUsd: number | null;
    allInPerPullUsd: number | null;
    complete: boolean;
  };
  /** What each of the newest merged ones cost, in the order they landed. */
  pulls: { name: string; task: string; endedAt: number; costUsd: number | null; complete: boolean }[];
  /** `share` is of the money, or of the tokens where no cost is known. */
  abandoned: {
    tasks: number;
    costUsd: number | null;
    share: number | null;
    shareOf: 'usd' | 'tokens';
    complete: boolean;
  };
}

export interface CostInput {
  by: CostGroup;
  /** Already those of the time in question. */
  usage: readonly Usage[];
  unknown: readonly UnknownTurn[];
  /** Every task; `since` is when a merge or an end has to be to count. */
  tasks: readonly Task[];
  since: number;
  dayOf(at: number): string;
  roundOf(turn: UnknownTurn): number;
}

export function costReport(input: CostInput): CostReport {
  const { by, usage, unknown, tasks, since } = input;
  const known = new Map(tasks.map((task) => [task.id, task]));
  const keyOf = (one: UnknownTurn & { model?: string }): string => {
    if (by === 'role') return one.role;
    if (by === 'model') return one.model ?? 'unknown';
    if (by === 'day') return input.dayOf(one.at);
    const task = known.get(one.task);
    const name = task ? nameOfTask(task) : one.task;
    if (by === 'issue') return name;
    const attempt = task && task.attempt > 1 ? ` (attempt ${task.attempt})` : '';
    return `${name}${attempt} ${by === 'turn' ? turnName(one) : `round ${input.roundOf(one)}`}`;
  };
  // As tasks and their turns followed each other.
  const order = new Map(tasks.map((task, at) => [task.id, at]));
  const inOrder = [...usage, ...unknown].sort(
    (a, b) => (order.get(a.task) ?? 0) - (order.get(b.task) ?? 0) || a.at - b.at,
  );
  const groups = new Map<string, { usage: Usage[]; unknown: UnknownTurn[] }>();
  for (const one of inOrder) {
    const key = keyOf(one);
    const group = groups.get(key) ?? { usage: [], unknown: [] };
    groups.set(key, group);
    if (isUsage(one)) group.usage.push(one);
    else group.unknown.push(one);
  }
  const titles = new Map(tasks.map((task) => [nameOfTask(task), task.contract.title]));
  const lines = [...groups].map(([key, group]) =>
    costLine(key, by === 'issue' ? (titles.get(key) ?? '') : '', group.usage, group.unknown),
  );
  const total = costLine('total', '', usage, unknown);
  const ended = tasks.filter((task) => isEnded(task) && (task.endedAt ?? 0) >= since);
  const merged = ended.filter(({ state }) => state === 'merged');
  const spentOn = (some: readonly Task[]): CostLine => {
    const ids = new Set(some.map(({ id }) => id));
    const mine = (one: UnknownTurn): boolean => ids.has(one.task);
    return costLine('', '', usage.filter(mine), unknown.filter(mine));
  };
  const landed = spentOn(merged);
  return {
    by,
    lines: by === 'turn' || by === 'round' ? lines : lines.sort(by === 'day' ? byKey : byCost),
    total,
    merged: {
      pulls: merged.length,
      costUsd: merged.length === 0 ? null : landed.costUsd,
      perPullUsd: perPull(landed.costUsd, merged.length),
      allInPerPullUsd: perPull(total.costUsd, merged.length),
      complete: landed.complete,
    },
    pulls: [...merged]
      .sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))
      .slice(-MOST_PULLS)
      .map((task) => {
        const { costUsd, complete } = spentOn([task]);
        return { name: nameOfTask(task), task: task.id, endedAt: task.endedAt ?? 0, costUsd, complete };
      }),
    abandoned: wasted(ended, spentOn, total),
  };
}

/** As many as a plot shows. */
const MOST_PULLS = 40;

/** The sum of some calls and of turns whose usage nobody knows. */
export function costLine(
  key: string,
  title: string,
  usage: readonly Usage[],
  unknown: readonly UnknownTurn[],
): CostLine {
  const sum = (of: (one: Usage) => number): number => usage.reduce((all, one) => all + of(one), 0);
  const priced = usage.filter(({ costUsd }) => costUsd !== null);
  const into = sum((one) => one.input + one.cacheRead + one.cacheWrite);
  const sums = {
    input: sum((one) => one.input),
    output: sum((one) => one.output),
    cacheRead: sum((one) => one.cacheRead),
    cacheWrite: sum((one) => one.cacheWrite),
    reasoning: sum((one) => one.reasoning),
  };
  const turns = new Set(
    [...usage, ...unknown].map((one) => [one.task, one.role, one.turn, one.sessionId].join(' ')),
  );
  return {
    key,
    title,
    turns: turns.size,
    ...sums,
    tokens: into + sums.output + sums.reasoning,
    costUsd: priced.length === 0 ? null : sum(({ costUsd }) => costUsd ?? 0),
    unpriced: sum((one) =>
      one.costUsd === null ? one.input + one.output + one.cacheRead + one.cacheWrite + one.reasoning : 0,
    ),
    complete: priced.length === usage.length && unknown.length === 0,
    cacheHitRatio: into === 0 ? null : sums.cacheRead / into,
  };
}

function wasted(
  ended: readonly Task[],
  spentOn: (tasks: readonly Task[]) => CostLine,
  total: CostLine,
): CostReport['abandoned'] {
  const abandoned = ended.filter(({ state }) => state === 'abandoned');
  const { costUsd, tokens, complete } = spentOn(abandoned);
  const isPriced = total.costUsd !== null && total.costUsd > 0;
  const [part, all] = isPriced ? [costUsd ?? 0, total.costUsd!] : [tokens, total.tokens];
  return {
    tasks: abandoned.length,
    costUsd: abandoned.length === 0 ? null : costUsd,
    share: all === 0 ? null : part / all,
    shareOf: isPriced ? 'usd' : 'tokens',
    complete,
  };
}

const isUsage = (one: Usage | UnknownTurn): one is Usage => 'model' in one;

const perPull = (costUsd: number | null, pulls: number): number | null =>
  costUsd === null || pulls === 0 ? null : costUsd / pulls;

const byKey = (a: CostLine, b: CostLine): number => (a.key < b.key ? -1 : 1);
const byCost = (a: CostLine, b: CostLine): number =>
  (b.costUsd ?? 0) - (a.costUsd ?? 0) || b.tokens - a.tokens || byKey(a, b);
