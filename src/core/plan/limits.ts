/** What the operator allows one plan when starting it, in place of the settings. */
import type { Policy } from '../policy.ts';
import type { Task } from '../task.ts';

export interface PlanLimits {
  /** 0: no limit. */
  maxIterations?: number;
  /** For each milestone. */
  maxTurns?: number;
  budgetUsd?: number;
}

/** The settings as they hold for this task. */
export function policyFor({ plan }: Pick<Task, 'plan'>, policy: Policy): Policy {
  if (!plan?.limits) return policy;
  const {
    maxIterations = policy.loop.maxIterations,
    maxTurns = policy.maxTurns,
    budgetUsd = policy.budget.usd,
  } = plan.limits;
  return {
    ...policy,
    maxTurns,
    loop: { ...policy.loop, maxIterations },
    budget: { ...policy.budget, usd: budgetUsd },
  };
}
