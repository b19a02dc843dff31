/** What follows when a person decides about a finding: leave it as it is, take it up again, call it fixed, or add one. */
import type { Asked, Facts } from '../decision.ts';
import { event, type NewEvent } from '../event.ts';
import { type AuditFinding, auditFinding, writtenFinding } from '../plan/audit.ts';
import { isInPhases } from '../plan/phase.ts';
import type { Policy } from '../policy.ts';
import { type Task, verdictAt } from '../task.ts';
import { blocking } from '../verdict.ts';
import { commentText, findingText } from '../words/feedback-text.ts';
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

/** In a plan's phases nothing is told to the coder by it: what is open is part of its next prompt, and of the auditor's. */
function write(
  task: Task,
  { ledger }: Facts,
  text: string,
  said: { by: string; at: number; sha: string },
): { events: NewEvent[]; findings: Finding[] } {
  const given = auditFinding.parse(JSON.parse(text));
  const { id, plan } = task;
  const isAudited = plan !== undefined && isInPhases(task);
  const finding = isAudited
    ? writtenFinding(given, { task: id, plan, ledger }, said)
    : personFinding(given, { task: id, ledger }, said);
  const written = event('finding_written', { finding: finding.id, by: said.by, headSha: said.sha });
  const told = event('feedback_added', {
    feedback: { kind: 'review', id: `finding:${finding.id}`, text: commentText(finding, said.by) },
  });
  return { events: isAudited ? [written] : [written, told], findings: [finding] };
}

/** A bug keeps the change from being merged until the critic sees it fixed, a person approves the change, or leaves it as it is. */
const personFinding = (
  { severity, file, line, description, scenario }: AuditFinding,
  { task, ledger }: { task: string; ledger: readonly Finding[] },
  said: { by: string; at: number; sha: string },
): Finding => ({
  id: `${task}.${ledger.length + 1}`,
  task,
  source: 'person',
  status: 'open',
  severity: severity === 'bug' ? 'sev2' : 'sev3',
  category: 'comment',
  file,
  line,
  message: description,
  scenario,
  suggestion: null,
  rounds: [],
  history: [{ status: 'open', ...said, why: null }],
});

/** It alone stood against an approval of this head: no other blocking finding is open and every criterion is met. */
function isLast(task: Task, facts: Facts, policy: Policy, finding: Finding): boolean {
  const verdict = verdictAt(task, task.headSha);
  const { blockOn } = policy.critic;
  if (verdict?.verdict !== 'REQUEST_CHANGES') return false;
  const others = facts.openFindings.filter(({ id }) => id !== finding.id);
  return (
    blocking([finding], blockOn).length > 0 &&
    blocking(others, blockOn).length === 0 &&
    verdict.criteria.every(({ met }) => met === 'met')
  );
}
