/** The auditor's typed answer, and what it means for the milestone or the whole that was audited. */
import { z } from 'zod';
import { afterRound, type Finding, type NewFinding } from '../change/findings.ts';
import { isRepeated } from '../change/same-finding.ts';
import { lastJsonBlock } from '../verdict.ts';
import type { Amendment, AuditSummary, PlanProgress } from './progress.ts';

const text = z.string().max(20_000);
const optional = text.nullish().transform((value) => value ?? null);

export const auditFinding = z.object({
  severity: z.enum(['bug', 'warning']).describe('A bug keeps the plan from going on; a warning is advice.'),
  file: optional,
  line: z
    .number()
    .int()
    .positive()
    .nullish()
    .transform((value) => value ?? null),
  description: text.min(1),
  scenario: optional.describe('How the defect shows: input, state, what happens instead.'),
});
export type AuditFinding = z.infer<typeof auditFinding>;

const auditReport = z.object({
  clean: z.boolean().describe('true: the part is done as the plan says, and no bug is left in it.'),
  findings: z.array(auditFinding).max(200).default([]).describe('What is new, or open still and seen again.'),
  resolved: z
    .array(z.object({ id: text.describe('The id of an open finding.'), why: text.default('') }))
    .max(500)
    .default([])
    .describe('Open findings that are fixed now. One that is not named here stays open.'),
  summary: z
    .object({
      done: text.default(''),
      deviations: z.array(text).max(50).default([]),
      followUps: z.array(text).max(50).default([]),
    })
    .prefault({}),
  amendments: z
    .array(
      z.object({
        milestone: z
          .number()
          .int()
          .positive()
          .describe('Its number in the plan, from 1; one that is still to come.'),
        text: text.min(1).describe('The whole text of the milestone, as it should be.'),
        rationale: text.min(1),
      }),
    )
    .max(24)
    .default([]),
});
type AuditReport = z.infer<typeof auditReport>;

type ParsedAudit = { ok: true; report: AuditReport } | { ok: false; problem: string };

export const auditReportSchema = (): Record<string, unknown> => {
  shape ??= z.toJSONSchema(auditReport, { io: 'input', unrepresentable: 'any' });
  return shape;
};
let shape: Record<string, unknown> | null = null;

/** Structured output first, else the last fenced JSON block of the text. Anything else is unusable, never clean. */
export function parseAudit(structured: unknown, said: string, plan: PlanProgress): ParsedAudit {
  const raw = structured ?? lastJsonBlock(said);
  if (raw === undefined || raw === null)
    return { ok: false, problem: 'the auditor returned no structured result' };
  const parsed = auditReport.safeParse(raw);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = issue?.path.join('.') || 'its root';
    return { ok: false, problem: `the audit result is invalid at ${where}: ${issue?.message}` };
  }
  const wrong = parsed.data.amendments.find(({ milestone }) => !isPending(plan, milestone - 1));
  if (wrong)
    return {
      ok: false,
      problem: `the audit result amends milestone ${wrong.milestone}; only one that is still to come can be amended`,
    };
  return { ok: true, report: parsed.data };
}

/** What an auditor noted through its tools before it answered. */
export interface AuditNotes {
  findings: AuditFinding[];
  resolved: { id: string; why: string }[];
}

export const NO_NOTES: AuditNotes = { findings: [], resolved: [] };

/** What an auditor that gave no result comes to: what it noted stands, and nothing counts as fixed. */
export const noReport = (): AuditReport => auditReport.parse({ clean: false });

/** The name of a finding that has none in the ledger yet; the auditor may take it back by that. */
export const noteId = (index: number): string => `new-${index + 1}`;

const isPending = ({ milestones, milestone }: PlanProgress, index: number): boolean =>
  index > milestone && index < milestones.length;

interface Audited {
  findings: Finding[];
  isClean: boolean;
  open: Finding[];
  summary: AuditSummary;
  amendments: Amendment[];
}

interface AuditRound {
  task: string;
  /** Which audit it is, from 1. */
  round: number;
  headSha: string;
  at: number;
}

/**
 * The ledger after an audit. It is clean when its author says so and no bug is open in what was audited: the milestone, or
 * at the end all of the plan. The author's word alone is enough for dirty, and never for clean.
 */
export function audited(
  report: AuditReport,
  notes: AuditNotes,
  plan: PlanProgress,
  ledger: readonly Finding[],
  round: AuditRound,
): Audited {
  const isFinal = plan.phase === 'final_auditing';
  const milestone = isFinal || plan.milestones.length === 0 ? null : plan.milestone;
  const resolved = [...notes.resolved, ...report.resolved];
  const said = distinct(report.findings.map((one) => findingOf(one, milestone)));
  // What was noted and is said again at the end is said once.
  const kept = notes.findings.filter((_, index) => !resolved.some(({ id }) => id === noteId(index)));
  const noted = distinct(kept.map((one) => findingOf(one, milestone))).filter(
    (one) => !said.some((again) => isRepeated(one, again)),
  );
  const findings = afterRound(ledger, [...noted, ...said], {
    ...round,
    source: 'auditor',
    by: 'auditor',
    answers: resolved.map(({ id, why }) => ({ id, addressed: 'yes' as const, why })),
  });
  const open = openBugs(findings, isFinal ? 'all' : milestone);
  return {
    findings,
    open,
    isClean: report.clean && open.length === 0,
    summary: report.summary,
    amendments: report.amendments.map((one) => ({ ...one, milestone: one.milestone - 1 })),
  };
}

const isSame = (one: NewFinding, other: NewFinding): boolean =>
  one.line === other.line && isRepeated(one, other);

/** What is said twice of one place is one finding, as it was said last; a bug stays one. */
function distinct(findings: readonly NewFinding[]): NewFinding[] {
  const kept: NewFinding[] = [];
  for (const one of findings) {
    const at = kept.findIndex((other) => isSame(one, other));
    if (at === -1) kept.push(one);
    else kept[at] = { ...one, severity: kept[at]!.severity === 'sev2' ? 'sev2' : one.severity };
  }
  return kept;
}

/**
 * A finding as the ledger keeps it when somebody else than the auditor reports it, with who did. One that is open there
 * already is only told anew.
 */
export function writtenFinding(
  one: AuditFinding,
  { task, plan, ledger }: { task: string; plan: PlanProgress; ledger: readonly Finding[] },
  said: { by: string; at: number; sha: string },
): Finding {
  const isWhole = plan.milestones.length === 0 || plan.phase.startsWith('final');
  const finding = findingOf(one, isWhole ? null : plan.milestone);
  const known = ledger.find(
    (other) =>
      other.status === 'open' &&
      other.source === 'auditor' &&
      (other.milestone ?? null) === finding.milestone &&
      isSame(finding, other),
  );
  if (known) return { ...known, ...finding };
  return {
    ...finding,
    id: `${task}.${ledger.length + 1}`,
    task,
    source: 'auditor',
    status: 'open',
    rounds: [plan.audits],
    history: [{ status: 'open', ...said, why: null }],
  };
}

/** What is open of what is audited now: a person may have found something since the audit. */
export const bugsIn = (plan: PlanProgress, ledger: readonly Finding[]): Finding[] =>
  openBugs(
    ledger,
    plan.phase === 'final_auditing' ? 'all' : plan.milestones.length === 0 ? null : plan.milestone,
  );

/** What keeps a milestone, or the whole plan, from being clean. */
export const openBugs = (ledger: readonly Finding[], of: number | null | 'all'): Finding[] =>
  ledger.filter(
    ({ status, severity, source, milestone = null }) =>
      status === 'open' && severity !== 'sev3' && source === 'auditor' && (of === 'all' || milestone === of),
  );

function findingOf(one: AuditReport['findings'][number], milestone: number | null): NewFinding {
  return {
    severity: one.severity === 'bug' ? 'sev2' : 'sev3',
    category: 'audit',
    file: one.file,
    line: one.line,
    message: one.description,
    scenario: one.scenario,
    suggestion: null,
    milestone,
  };
}
