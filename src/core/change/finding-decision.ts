/** What follows when a person decides about a finding: leave it as it is, take it up again, call it fixed, or add one. */
import type { Asked, Facts } from '../decision.ts';
import { event, type NewEvent } from '../event.ts';
import { auditFinding, writtenFinding } from '../plan/audit.ts';
import { isInPhases } from '../plan/phase.ts';
import type { Policy } from '../policy.ts';
import type { Task } from '../task.ts';
import { blocking } from '../verdict.ts';
import { findingText } from '../words/feedback-text.ts';
import { type DecidedStatus, decided, type Finding } from './findings.ts';

/** Null when there is nothing to decide: no such finding, or it is so already. */
export function decideFinding(
  task: Task,
  facts: Facts,
  policy: Policy,
  { kind, by, finding: id, why = null }: Asked,
  now: number,
): { events: NewEvent[]; findings: Finding[] } | null {
  const sha = task.headSha ?? '';
  if (kind === 'write') return write(task, facts, id ?? '', { by, at: now, sha });
  const finding = facts.ledger.find((one) => one.id === id);
  const status = DECIDES[kind];
  if (!finding || !status || finding.status === status) return null;
  const settles = status === 'wontfix' && isLast(task, facts, policy, finding);
  const said = event('finding_decided', { finding: finding.id, status, by, why, headSha: sha, settles });
  const text = `${findingText(finding)}\n  Taken up again by ${by}${why ? `: ${why}` : ''}`;
  // What is open of a plan is part of its prompts.
  const isTold = status === 'open' && !(finding.source === 'auditor' && isInPhases(task));
  const told = isTold ? [event('feedback_added', { feedback: { kind: 'critic' as const, text } })] : [];
  return { events: [said, ...told], findings: [decided(finding, status, { by, at: now, sha, why })] };
}

const DECIDES: Partial<Record<string, DecidedStatus>> = {
  wontfix: 'wontfix',
  reopen: 'open',
  resolve: 'resolved',
};

/** Nothing is told to the coder by it: what is open is part of its next prompt, and of the auditor's. */
function write(
  { id: task, plan }: Task,
  { ledger }: Facts,
  text: string,
  said: { by: string; at: number; sha: string },
): { events: NewEvent[]; findings: Finding[] } | null {
  if (!plan) return null;
  const finding = writtenFinding(auditFinding.parse(JSON.parse(text)), { task, plan, ledger }, said);
  const written = event('finding_written', { finding: finding.id, by: said.by, headSha: said.sha });
  return { events: [written], findings: [finding] };
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
