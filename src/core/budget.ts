/** Money, tokens and working time of a task, carried across turns, rounds, sessions and restarts. */
import type { Policy } from './policy.ts';
import type { Task } from './task.ts';

export interface Spent {
  usd: number;
  tokens: number;
  wallMs: number;
}

/** Working time is the time its turns took, the one in flight included; waiting for people costs nothing. */
export function spent(task: Task, spend: { costUsd: number; tokens: number }, now: number): Spent {
  const inFlight = task.turn ? Math.max(0, now - task.turn.startedAt) : 0;
  return { usd: spend.costUsd, tokens: spend.tokens, wallMs: task.workedMs + inFlight };
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
