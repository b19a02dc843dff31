/** What the operator allows one plan when starting it, in place of the settings. */
import type { Policy } from '../policy.ts';
import type { Task } from '../task.ts';

export interface PlanLimits {
  /** 0: no limit. */
  maxIterations?: number;
  /** For each milestone. */
  maxTurns?: number;
  budgetUsd?: number;
  sandbox?: OwnSandbox;
}

export const OWN_SANDBOXES = ['required', 'bwrap', 'container', 'srt'] as const;
/** Each of them confines, or nothing runs. */
export type OwnSandbox = (typeof OWN_SANDBOXES)[number];

/**
 * Null when a plan may have this one; else why not. It may be confined where the settings confine nothing, or only what they
 * can, and never less than they say. What they name is what was chosen for this project, and srt keeps less than the others
 * where both work.
 */
export function whyNotSandbox({ kind, image }: Policy['sandbox'], own: OwnSandbox): string | null {
  if (own === 'container' && image === null) return 'sandbox.image is not set';
  if (kind === own || kind === 'none') return null;
  if (own !== 'srt' && (kind === 'auto' || kind === 'required')) return null;
  return `WORKFLOW.md says \`sandbox: ${kind}\`, and that would be another one, which may confine less`;
}

/** The settings as they hold for this task. */
export function policyFor({ plan }: Pick<Task, 'plan'>, policy: Policy): Policy {
  if (!plan?.limits) return policy;
  const {
    maxIterations = policy.loop.maxIterations,
    maxTurns = policy.maxTurns,
    budgetUsd = policy.budget.usd,
    sandbox,
  } = plan.limits;
  // The settings may have become stricter since it was started.
  const isOwn = sandbox !== undefined && whyNotSandbox(policy.sandbox, sandbox) === null;
  return {
    ...policy,
    maxTurns,
    loop: { ...policy.loop, maxIterations },
    budget: { ...policy.budget, usd: budgetUsd },
    sandbox: isOwn ? { ...policy.sandbox, kind: sandbox, isOwn } : policy.sandbox,
  };
}
