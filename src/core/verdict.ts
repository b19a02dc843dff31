/** The critic's typed answer, and the rule that turns it into a verdict we act on. */
import { z } from 'zod';
import { type NewFinding, SEVERITIES, type Severity } from './change/findings.ts';
import type { Criterion } from './issue/criteria.ts';

export const VERDICTS = ['APPROVE', 'REQUEST_CHANGES', 'BLOCK', 'BLOCK_ON_SPEC'] as const;
export type Verdict = (typeof VERDICTS)[number];

const MET = ['met', 'unmet', 'unclear'] as const;

/** What was found about one criterion. `id` is null for one that the critic named itself. */
export interface Judgement {
  id: string | null;
  criterion: string;
  met: (typeof MET)[number];
  evidence: string;
}

const text = z.string().max(20_000);
const optional = text.nullish().transform((value) => value ?? null);

export const criticReport = z.object({
  verdict: z
    .enum(VERDICTS)
    .describe(
      'APPROVE: the contract is met and nothing blocking is open. REQUEST_CHANGES: the coder can fix it. BLOCK: the approach is wrong. BLOCK_ON_SPEC: the contract contradicts itself.',
    ),
  findings: z
    .array(
      z.object({
        severity: z
          .enum(SEVERITIES)
          .describe(
            'sev1 breaks the contract, loses data or opens a hole; sev2 must be fixed before merging; sev3 is advice.',
          ),
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
        repeats: optional.describe(
          'The id of a finding that a person decided to leave as it is, if this is the very same defect.',
        ),
      }),
    )
    .max(200)
    .default([]),
  criteria: z
    .array(
      z
        .object({
          id: optional.describe(
            'The id of a criterion of the contract, such as c1; each must be judged once.',
          ),
          criterion: text.default(''),
          met: z.enum(MET),
          evidence: text.default('').describe('A test, a command, file:line; needed for what is met.'),
        })
        .refine(({ met, evidence }) => met !== 'met' || evidence.trim() !== '', {
          path: ['evidence'],
          message: 'what is met needs evidence: a test, a command, file:line',
        }),
    )
    .max(200)
    .default([]),
  earlier: z
    .array(
      z.object({
        id: text.describe('The id of a finding that was open before this round.'),
        addressed: z.enum(['yes', 'no', 'partly']),
        why: text.default(''),
      }),
    )
    .max(500)
    .default([])
    .describe('From the second round on: every finding that was open. One without an answer stays open.'),
  minimalPathToGreen: z
    .array(text)
    .max(50)
    .default([])
    .describe('The fewest steps that would earn an approval.'),
  specDefects: z.array(text).max(50).default([]).describe('What is wrong with the contract itself.'),
  summary: text.default(''),
});
export type CriticReport = z.infer<typeof criticReport>;

type ParsedReport = { ok: true; report: CriticReport } | { ok: false; problem: string };

/**
 * Structured output first, else the last fenced JSON block of the text. Anything else is unusable, never an approval;
 * and so is a report that leaves a criterion of the contract unjudged.
 */
export function parseReport(
  structured: unknown,
  said: string,
  criteria: readonly Criterion[] = [],
): ParsedReport {
  const raw = structured ?? lastJsonBlock(said);
  if (raw === undefined || raw === null)
    return { ok: false, problem: 'the critic returned no structured report' };
  const parsed = criticReport.safeParse(raw);
  if (parsed.success) return complete(parsed.data, criteria);
  const issue = parsed.error.issues[0];
  return {
    ok: false,
    problem: `the report is invalid at ${issue?.path.join('.') || 'its root'}: ${issue?.message}`,
  };
}

function complete(report: CriticReport, criteria: readonly Criterion[]): ParsedReport {
  const judged = judgementsOf(report, criteria);
  const times = (id: string) => judged.filter((one) => one.id === id).length;
  const missing = criteria.filter(({ id }) => times(id) === 0).map(({ id }) => id);
  if (missing.length > 0) return { ok: false, problem: `the report does not judge ${missing.join(', ')}` };
  const twice = criteria.filter(({ id }) => times(id) > 1).map(({ id }) => id);
  if (twice.length > 0) return { ok: false, problem: `the report judges ${twice.join(', ')} more than once` };
  return { ok: true, report };
}

/** In the order of the contract, then what the critic added. A judgement names its criterion by id, or by its very words. */
export function judgementsOf(report: CriticReport, criteria: readonly Criterion[]): Judgement[] {
  const named = report.criteria.map((one) => {
    const found =
      criteria.find(({ id }) => id === one.id) ??
      criteria.find(({ text }) => one.id === null && sameWords(text, one.criterion));
    return { ...one, id: found?.id ?? null, criterion: found?.text ?? (one.criterion || (one.id ?? '')) };
  });
  return [
    ...criteria.flatMap(({ id }) => named.filter((one) => one.id === id)),
    ...named.filter(({ id }) => id === null),
  ];
}

const sameWords = (one: string, other: string): boolean => plain(one) === plain(other);
const plain = (words: string): string =>
  words
    .toLowerCase()
    .replace(/[\W_]+/g, ' ')
    .trim();

/** For agents that can be given the shape of their answer. */
export const criticReportSchema = (): Record<string, unknown> => {
  reportShape ??= z.toJSONSchema(criticReport, { io: 'input', unrepresentable: 'any' });
  return reportShape;
};

let reportShape: Record<string, unknown> | null = null;

/** The JSON in the last fenced block of what an agent said, or in all of it; undefined when there is none. */
export function lastJsonBlock(said: string): unknown {
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
 * The verdict that counts, given what is open in the ledger after this round and what a person decided to leave. An
 * approval beside an open finding of a blocking severity contradicts itself, and an approval with an unmet criterion does
 * too: both are requests for changes. A request for changes whose every blocking finding a person has decided to leave,
 * with nothing else against it, asks for nothing: it is an approval.
 */
export function effectiveVerdict(
  report: CriticReport,
  open: readonly NewFinding[],
  left: readonly NewFinding[],
  blockOn: readonly Severity[],
): Verdict {
  const isClear =
    blocking(open, blockOn).length === 0 && report.criteria.every((criterion) => criterion.met === 'met');
  if (report.verdict === 'APPROVE') return isClear ? 'APPROVE' : 'REQUEST_CHANGES';
  const isOverruled = isClear && blocking(left, blockOn).length > 0;
  return report.verdict === 'REQUEST_CHANGES' && isOverruled ? 'APPROVE' : report.verdict;
}

export function blocking<F extends NewFinding>(findings: readonly F[], blockOn: readonly Severity[]): F[] {
  return findings.filter((finding) => finding.severity === 'sev1' || blockOn.includes(finding.severity));
}
