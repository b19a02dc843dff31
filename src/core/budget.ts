/** Money, tokens and working time of a task, carried across turns, rounds, sessions and restarts. */
import type { Policy } from './policy.ts';
import type { Task } from './task.ts';

export interface Spent {
  usd: number;
  tokens: number;
  wallMs: number;
}

/**
 * Working time is the time its turns took and the time the one in flight has taken so far; waiting for people costs
 * nothing, nor does a turn that was decided and has not begun.
 */
export function spent(task: Task, spend: { costUsd: number; tokens: number }, inFlightMs: number): Spent {
  return { usd: spend.costUsd, tokens: spend.tokens, wallMs: task.workedMs + inFlightMs };
}

/** Which limit is reached, in words; null when none is. */
export function exhausted(used: Spent, budget: Policy['budget']): string | null {
  if (budget.usd !== null && used.usd >= budget.usd)
    return `$${used.usd.toFixed(2)} of $${budget.usd.toFixed(2)} spent`;
  if (budget.tokens !== null && used.tokens >= budget.tokens)
    return `${used.tokens} of ${budget.tokens} tokens used`;
  if (budget.wallMs !== null && used.wallMs >= budget.wallMs) {
    return `${Math.round(used.wallMs / 1000)} s of ${Math.round(budget.wallMs / 1000)} s worked`;
  }
  return null;
}
