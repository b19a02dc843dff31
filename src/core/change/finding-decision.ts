/** What follows when a person decides about a finding: leave it as it is, or take it up again. */
import type { Asked, Facts } from '../decision.ts';
import { event, type NewEvent } from '../event.ts';
import type { Policy } from '../policy.ts';
import type { Task } from '../task.ts';
import { blocking } from '../verdict.ts';
import { findingText } from '../words/feedback-text.ts';
import { decided, type Finding } from './findings.ts';

/** Null when there is nothing to decide: no such finding, or it is so already. */
export function decideFinding(
  task: Task,
  facts: Facts,
  policy: Policy,
  { kind, by, finding: id, why = null }: Asked,
  now: number,
): { events: NewEvent[]; findings: Finding[] } | null {
  const finding = facts.ledger.find((one) => one.id === id);
  const status = kind === 'wontfix' ? 'wontfix' : 'open';
  if (!finding || finding.status === status) return null;
  const sha = task.headSha ?? '';
  const settles = status === 'wontfix' && isLast(task, facts, policy, finding);
  const said = event('finding_decided', { finding: finding.id, status, by, why, headSha: sha, settles });
  const text = `${findingText(finding)}\n  Taken up again by ${by}${why ? `: ${why}` : ''}`;
  const told =
    status === 'open' ? [event('feedback_added', { feedback: { kind: 'critic' as const, text } })] : [];
  return { events: [said, ...told], findings: [decided(finding, status, { by, at: now, sha, why })] };
}

/** It alone stood against an approval of this head: no other blocking finding is open and every criterion is met. */
function isLast(task: Task, facts: Facts, policy: Policy, finding: Finding): boolean {
  const { verdict } = task;
  const { blockOn } = policy.critic;
  if (verdict?.verdict !== 'REQUEST_CHANGES' || verdict.headSha !== task.headSha) return false;
  const others = facts.openFindings.filter(({ id }) => id !== finding.id);
  return (
    blocking([finding], blockOn).length > 0 &&
    blocking(others, blockOn).length === 0 &&
    verdict.criteria.every(({ met }) => met === 'met')
  );
}
