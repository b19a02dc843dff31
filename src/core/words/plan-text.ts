/** What agents are told of a plan: where it stands, what was done before, what an audit found. */
import { type Finding, isStuck } from '../change/findings.ts';
import type { CoderSummary } from '../event.ts';
import { openBugs } from '../plan/audit.ts';
import { type Amendment, type AuditSummary, currentMilestone, type PlanProgress } from '../plan/progress.ts';
import type { Policy } from '../policy.ts';
import { findingText } from './feedback-text.ts';
import { fence, oneLine } from './fence.ts';

const numbered = (plan: PlanProgress, index: number): string =>
  `${index + 1} of ${plan.milestones.length}: ${oneLine(plan.milestones[index]?.title ?? '')}`;

/** The commit of a milestone that is done. */
export function sealMessage(plan: PlanProgress): string {
  return `section ${plan.milestone + 1}: ${oneLine(currentMilestone(plan)?.title ?? plan.name)}`;
}

/** Where the plan stands, in a few words. */
export function placeText(plan: PlanProgress): string {
  const { phase, milestones } = plan;
  const at = milestones.length === 0 ? '' : `milestone ${numbered(plan, plan.milestone)}`;
  switch (phase) {
    case 'coding':
      return at || 'coding';
    case 'auditing':
      return at ? `audit of ${at}` : 'audit';
    case 'final_auditing':
      return 'final audit';
    case 'final_audit_fix':
      return 'fixes after the final audit';
    case 'post_action':
      return 'post action';
    case 'delivered':
      return 'done';
    default:
      return phase satisfies never;
  }
}

const isOfTheWhole = ({ phase }: PlanProgress): boolean =>
  phase === 'final_auditing' || phase === 'final_audit_fix';

/** The one at hand; all of them where the whole is audited. */
export function milestoneText(plan: PlanProgress): string {
  const { milestones, milestone } = plan;
  const isWhole = isOfTheWhole(plan);
  return milestones
    .flatMap(({ text }, index) =>
      isWhole || index === milestone
        ? [`Milestone ${numbered(plan, index)}\n\n${fence('milestone', text)}`]
        : [],
    )
    .join('\n\n');
}

/** A milestone by its number from 1, or the one at hand; null when there is none. */
export function milestoneRead(plan: PlanProgress, number: number | null): string | null {
  const index = number === null ? plan.milestone : number - 1;
  const one = plan.milestones[index];
  if (!one) return null;
  const passes = one.attempts === 0 ? '' : `; ${one.attempts} of its audits found something`;
  const stands = one.done
    ? `done: ${summaryText(one.done)}`
    : `${index === plan.milestone ? 'at hand' : 'to come'}${passes}`;
  return `Milestone ${numbered(plan, index)}\n${stands}\n\n${fence('milestone', one.text)}`;
}

export function iterationText(plan: PlanProgress, { loop }: Policy): string {
  const of = loop.maxIterations === 0 ? 'no limit' : `at most ${loop.maxIterations}`;
  return `iteration ${plan.iterations + 1} (${of})`;
}

/** What of the plan holds for all of it. */
export const overviewText = ({ objective, shared }: PlanProgress): string =>
  fence('plan', [objective, shared].filter((part) => part.trim() !== '').join('\n\n'));

/** What the milestones before this one came to. */
export function doneText(plan: PlanProgress): string {
  const lines = plan.milestones.flatMap(({ title, done }, index) =>
    done === null ? [] : [`${index + 1}. ${oneLine(title)}: ${summaryText(done)}`],
  );
  return lines.length === 0 ? '' : fence('done', lines.join('\n'));
}

const isSaid = ({ done, deviations, followUps }: AuditSummary): boolean =>
  done !== '' || deviations.length + followUps.length > 0;

function summaryText({ done, deviations, followUps }: AuditSummary): string {
  return [
    oneLine(done) || 'done',
    ...deviations.map((one) => `   - deviation: ${oneLine(one)}`),
    ...followUps.map((one) => `   - follow-up: ${oneLine(one)}`),
  ].join('\n');
}

/** What is still to come, for an auditor who may word it anew. */
export function pendingText(plan: PlanProgress): string {
  const lines = plan.milestones.flatMap(({ title, text }, index) =>
    index > plan.milestone ? [`Milestone ${index + 1}: ${oneLine(title)}\n${text}`] : [],
  );
  return lines.length === 0 ? '' : fence('pending', lines.join('\n\n'));
}

/** The milestones that an auditor worded anew, as they are now, and why; empty where the plan is as it was started. */
export function amendedText({ milestones, amendments }: PlanProgress): string {
  const parts = milestones.flatMap(({ title, text }, index) => {
    const why = amendments.filter(({ milestone }) => milestone === index);
    if (why.length === 0) return [];
    const reasons = why.map(({ rationale }) => `Amended: ${oneLine(rationale)}`);
    return [[`Milestone ${index + 1}: ${oneLine(title)}`, ...reasons, '', text].join('\n')];
  });
  return parts.join('\n\n');
}

/** What the coder said of the milestone at hand, or of all of them where the whole is audited. `last`: of this very pass. */
export function decisionsText(plan: PlanProgress, last: CoderSummary | null): string {
  const lines = isOfTheWhole(plan) ? decisionsOfAll(plan) : decisionsHere(plan, last);
  return lines.length === 0 ? '' : fence('coder', lines.join('\n'));
}

function decisionsOfAll(plan: PlanProgress): string[] {
  const ofMilestones = plan.milestones.flatMap(({ decisions }, index) =>
    decisions ? [`Milestone ${numbered(plan, index)}`, ...decisionLines(decisions)] : [],
  );
  const ofFixes = plan.fixed ? ['Fixes after the final audit', ...decisionLines(plan.fixed)] : [];
  return [...ofMilestones, ...ofFixes];
}

/** Without milestones there is only the last word of its coder. */
function decisionsHere(plan: PlanProgress, last: CoderSummary | null): string[] {
  if (last) return decisionLines(last);
  const before = currentMilestone(plan)?.decisions;
  return before ? ['Of an earlier pass:', ...decisionLines(before)] : [];
}

const decisionLines = ({ summary, choices = [], tests, open }: CoderSummary): string[] => [
  summary,
  ...choices.map((one) => `- chose: ${oneLine(one)}`),
  ...(tests === '' ? [] : [`- verified: ${oneLine(tests)}`]),
  ...open.map((one) => `- note: ${oneLine(one)}`),
];

/** What is open of the milestone at hand, or of all, with what has been open for too long said apart. */
export function auditFindings(plan: PlanProgress, ledger: readonly Finding[]): string {
  const isWhole = isOfTheWhole(plan);
  const here = plan.milestones.length === 0 ? null : plan.milestone;
  const bugs = openBugs(ledger, isWhole ? 'all' : here);
  const advice = ledger.filter(
    ({ status, severity, source, milestone = null }) =>
      status === 'open' && severity === 'sev3' && source === 'auditor' && (isWhole || milestone === here),
  );
  const all = [...bugs, ...advice];
  if (all.length === 0) return '';
  const lines = all.map((one) => [findingText(one, one.id), takenUp(one), isStuck(one) && `  ${STUCK}`]);
  return fence('findings', lines.flat().filter(Boolean).join('\n'));
}

function takenUp({ history }: Finding): string {
  const last = history.at(-1);
  if (history.length < 2 || last?.status !== 'open' || last.by === 'auditor') return '';
  return `  Taken up again by ${last.by}${last.why ? `: ${oneLine(last.why)}` : ''}`;
}

const STUCK =
  'Open in three audits running. Coder: fix it, or write down in the code or your summary why it is no defect. Auditor: judge it anew.';

/** What came of the last audit, in our own words: what its author said goes to agents fenced, beside it. */
export function auditedText({ lastAudit, audit }: PlanProgress): string {
  if (audit?.isClean) return 'Something was found since the audit.';
  const [verdict] = (lastAudit ?? '').split('\n', 1);
  return verdict ? verdict.replace(/:$/, '.') : 'The audit found something.';
}

/** The result of an audit in words. */
export function auditText({
  isClean,
  open,
  summary,
  amendments,
}: {
  isClean: boolean;
  open: readonly Finding[];
  summary: AuditSummary;
  amendments: readonly Amendment[];
}): string {
  const verdict = isClean
    ? 'Clean.'
    : open.length === 0
      ? 'Not clean, though no bug is open.'
      : `${open.length} open ${open.length === 1 ? 'bug' : 'bugs'}:`;
  return [
    verdict,
    ...open.map((one) => findingText(one, one.id)),
    ...(isSaid(summary) ? [summaryText(summary)] : []),
    ...amendments.map(
      ({ milestone, rationale }) => `Milestone ${milestone + 1} amended: ${oneLine(rationale)}`,
    ),
  ].join('\n');
}
