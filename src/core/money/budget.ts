/**
 * Money, tokens and working time: of a task, carried across turns, rounds, sessions and restarts; and of all tasks
 * together, each day and ever. A task ends with its own limit. A limit of the loop lets every task wait.
 */
import type { Allowance, Policy } from '../policy.ts';
import type { Task } from '../task.ts';

export interface Spent {
  usd: number;
  tokens: number;
  wallMs: number;
}

/** Sums are lower bounds when not everything is known. */
export interface Spending {
  costUsd: number;
  tokens: number;
  complete: boolean;
}

/**
 * Working time is the time its turns took and the time the one in flight has taken so far; waiting for people costs
 * nothing, nor does a turn that was decided and has not begun.
 */
export function spent(task: Task, spend: { costUsd: number; tokens: number }, inFlightMs: number): Spent {
  return { usd: spend.costUsd, tokens: spend.tokens, wallMs: task.workedMs + inFlightMs };
}

/** Which limit is reached, in words; null when none is. */
export function exhausted(used: Spent, budget: Allowance & { wallMs: number | null }): string | null {
  const reached = limitsOf(used, budget).find(({ used: share, of }) => share >= of);
  return reached ? inWords(reached) : null;
}

/** A limit of the whole loop that is reached: no turn runs until it ends, by itself or by a person's word. */
export interface LoopLimit {
  scope: 'day' | 'loop';
  why: string;
  until: number | null;
}

export function loopLimit(
  spending: { day: Spending; ever: Spending },
  budget: Policy['budget'],
  dayEndsAt: number,
): LoopLimit | null {
  const ever = reached(spending.ever, budget.loop);
  if (ever) return { scope: 'loop', why: `the budget of the loop is spent: ${ever}`, until: null };
  const today = reached(spending.day, budget.day);
  return today ? { scope: 'day', why: `the budget of the day is spent: ${today}`, until: dayEndsAt } : null;
}

/** What may still be spent; null where there is no limit. */
export interface Left {
  usd: number | null;
  tokens: number | null;
}

export interface Room {
  /** Of the task's own budget. */
  task: Left;
  /** Of what all tasks share: the day's budget and the loop's, the least. */
  loop: Left;
  /** Which limit is reached; null when none is. */
  spent: string | null;
}

export function roomWithin(
  own: Spent,
  all: { day: Spending; ever: Spending } | null,
  budget: Policy['budget'],
  limit: LoopLimit | null,
): Room {
  const least = (...limits: [Allowance, Spent][]): Left => {
    const left = (kind: 'usd' | 'tokens'): number | null => {
      const rooms = limits.flatMap(([{ [kind]: of }, used]) => (of === null ? [] : [of - used[kind]]));
      return rooms.length === 0 ? null : Math.min(...rooms);
    };
    return { usd: left('usd'), tokens: left('tokens') };
  };
  const reached = exhausted({ ...own, wallMs: 0 }, { ...budget, wallMs: null });
  const shared: [Allowance, Spent][] = all
    ? [
        [budget.day, ofSpending(all.day)],
        [budget.loop, ofSpending(all.ever)],
      ]
    : [];
  return { task: least([budget, own]), loop: least(...shared), spent: reached ?? limit?.why ?? null };
}

/** A limit that is nearly reached; warned of once. */
export interface Nearing {
  limit: 'usd' | 'tokens' | 'wall_ms';
  used: number;
  of: number;
  says: string;
}

export function nearing(used: Spent, budget: Allowance & { wallMs?: number | null }): Nearing[] {
  return limitsOf(used, budget)
    .filter(({ used: share, of }) => share >= of * WARN_AT)
    .map((one) => ({ ...one, says: inWords(one) }));
}

export const hasLoopLimit = ({ day, loop }: Policy['budget']): boolean =>
  [day.usd, day.tokens, loop.usd, loop.tokens].some((limit) => limit !== null);

export const ofSpending = ({ costUsd, tokens }: Spending): Spent => ({ usd: costUsd, tokens, wallMs: 0 });

const WARN_AT = 0.8;

type Limit = Omit<Nearing, 'says'>;

function limitsOf(used: Spent, budget: Allowance & { wallMs?: number | null }): Limit[] {
  const limits: (Limit | (Omit<Limit, 'of'> & { of: number | null }))[] = [
    { limit: 'usd', used: used.usd, of: budget.usd },
    { limit: 'tokens', used: used.tokens, of: budget.tokens },
    { limit: 'wall_ms', used: used.wallMs, of: budget.wallMs ?? null },
  ];
  return limits.filter((one): one is Limit => one.of !== null);
}

function reached(spending: Spending, allowed: Allowance): string | null {
  const found = limitsOf(ofSpending(spending), allowed).find(({ used, of }) => used >= of);
  return found ? `${spending.complete ? '' : '≥'}${inWords(found)}` : null;
}

function inWords({ limit, used, of }: Limit): string {
  if (limit === 'usd') return `$${used.toFixed(2)} of $${of.toFixed(2)} spent`;
  if (limit === 'tokens') return `${used} of ${of} tokens used`;
  return `${Math.round(used / 1000)} s of ${Math.round(of / 1000)} s worked`;
}
