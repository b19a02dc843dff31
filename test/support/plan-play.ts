/** Plays of plans: texts, what auditors find, and plays that have come some way. */

import type { Phase } from '../../src/core/plan/phase.ts';
import { type Plan, parsePlan } from '../../src/core/plan/plan.ts';
import { PLACEHOLDERS, planSkeleton } from '../../src/core/plan/skeleton.ts';
import type { Start } from '../../src/core/plan/start.ts';
import { Play } from './play.ts';
import type { PolicyChange } from './policy.ts';

/** The text of a plan of these milestones. */
export function planText(...titles: string[]): string {
  const milestones = titles.map((title) => `<!-- forge-section -->\n## ${title}\n\nDo ${title}.\n`);
  return [
    '<!-- forge-plan:start -->\n# Checkout\n\nPeople can pay.\n',
    ...milestones,
    '## Conventions\n\nNo floats.\n<!-- forge-plan:end -->\n',
  ].join('\n');
}

export function planOf(...titles: string[]): Plan {
  const parsed = parsePlan(planText(...titles));
  if (!parsed.ok) throw new Error(parsed.problem.problem);
  return parsed.plan;
}

/** The skeleton of a plan with its words filled in: nothing is missing in it. */
export const filledPlan = (name: string): string =>
  [...PLACEHOLDERS.keys()].reduce(
    (text, line) => text.replaceAll(line, `${line} Really.`),
    planSkeleton(name),
  );

export function bug(description = 'the total is a float', more: object = {}) {
  return { severity: 'bug', file: 'a.ts', line: 3, description, ...more };
}

/** An audit that found this. */
export const dirty = (...findings: object[]) => ({
  clean: false,
  findings: findings.length > 0 ? findings : [bug()],
});

/** Its first coding turn is at work. */
export const started = (plan: Plan | null, change: PolicyChange = {}, how: Partial<Start> = {}): Play =>
  new Play(change).start(plan, how);

export const TWO = planOf('Schema', 'API');

/** The work at hand is coded as this head, and found clean. */
export const passed = (play: Play, sha: string): Play => play.worked(sha).audit();

export const POST_ACTION = { skill: null, prompt: 'Look once more.', model: null };

/** Two milestones, come to a phase, its turn at work. */
export const IN: Record<Phase, (change?: PolicyChange, how?: Partial<Start>) => Play> = {
  coding: (change, how) => started(TWO, change, how),
  auditing: (change, how) => started(TWO, change, how).worked('c1'),
  final_auditing: (change, how) => passed(passed(started(TWO, change, how), 'c1'), 'c2'),
  final_audit_fix: (change, how) => IN.final_auditing(change, how).audit(dirty()),
  post_action: (change, how) =>
    IN.final_auditing({ ...change, loop: { postAction: POST_ACTION, ...change?.loop } }, how).audit(),
};
