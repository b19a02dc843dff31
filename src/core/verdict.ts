/** The critic's typed answer, and the rule that turns it into a verdict we act on. */
import { z } from 'zod';
import { type NewFinding, SEVERITIES, type Severity } from './findings.ts';

export const VERDICTS = ['APPROVE', 'REQUEST_CHANGES', 'BLOCK', 'BLOCK_ON_SPEC'] as const;
export type Verdict = (typeof VERDICTS)[number];

const text = z.string().max(20_000);
const optional = text.nullish().transform((value) => value ?? null);

export const criticReport = z.object({
  verdict: z.enum(VERDICTS),
  findings: z
    .array(
      z.object({
        severity: z.enum(SEVERITIES),
        category: text.default('general'),
        file: optional,
        line: z
          .number()
          .int()
          .positive()
          .nullish()
          .transform((value) => value ?? null),
        message: text.min(1),
        scenario: optional,
        suggestion: optional,
      }),
    )
    .max(200)
    .default([]),
  criteria: z
    .array(
      z.object({ criterion: text, met: z.enum(['met', 'unmet', 'unclear']), evidence: text.default('') }),
    )
    .max(200)
    .default([]),
  minimalPathToGreen: z.array(text).max(50).default([]),
  specDefects: z.array(text).max(50).default([]),
  summary: text.default(''),
});
export type CriticReport = z.infer<typeof criticReport>;

export type ParsedReport = { ok: true; report: CriticReport } | { ok: false; problem: string };

/** Structured output first, else the last fenced JSON block of the text. Anything else is unusable, never an approval. */
export function parseReport(structured: unknown, said: string): ParsedReport {
  const raw = structured ?? lastJsonBlock(said);
  if (raw === undefined || raw === null)
    return { ok: false, problem: 'the critic returned no structured report' };
  const parsed = criticReport.safeParse(raw);
  if (parsed.success) return { ok: true, report: parsed.data };
  const issue = parsed.error.issues[0];
  return {
    ok: false,
    problem: `the report is invalid at ${issue?.path.join('.') || 'its root'}: ${issue?.message}`,
  };
}

function lastJsonBlock(said: string): unknown {
  const last = fencedObjects(said).at(-1) ?? (said.trimStart().startsWith('{') ? said : undefined);
  if (last === undefined) return undefined;
  try {
    return JSON.parse(last);
  } catch {
    return undefined;
  }
}

/** Fenced blocks that could be a report, in one pass over the lines: this text may be long and hostile. */
function fencedObjects(said: string): string[] {
  const found: string[] = [];
  let block: { info: string; lines: string[] } | null = null;
  for (const line of said.split('\n')) {
    const mark = line.trim();
    if (block === null) {
      if (mark.startsWith('```')) block = { info: mark.slice(3).trim(), lines: [] };
    } else if (mark === '```') {
      const text = block.lines.join('\n').trim();
      if (text.startsWith('{') && ['', 'json'].includes(block.info)) found.push(text);
      block = null;
    } else block.lines.push(line);
  }
  return found;
}

/**
 * The verdict that counts. An approval beside a finding of a blocking severity contradicts itself, and an approval
 * with an unmet criterion does too: both are requests for changes.
 */
export function effectiveVerdict(report: CriticReport, blockOn: readonly Severity[]): Verdict {
  if (report.verdict !== 'APPROVE') return report.verdict;
  const blocked = blocking(report.findings, blockOn).length > 0;
  const unmet = report.criteria.some((criterion) => criterion.met !== 'met');
  return blocked || unmet ? 'REQUEST_CHANGES' : 'APPROVE';
}

export function blocking<F extends NewFinding>(findings: readonly F[], blockOn: readonly Severity[]): F[] {
  return findings.filter((finding) => finding.severity === 'sev1' || blockOn.includes(finding.severity));
}
