/** The specifier's typed answer, and what it means for the task. */
import { z } from 'zod';
import type { Policy } from '../policy.ts';
import { lastJsonBlock } from '../verdict.ts';
import type { Criterion } from './criteria.ts';
import type { Readiness } from './readiness.ts';

const line = z.string().trim().min(1).max(2000);
const list = z.array(line).max(50).default([]);

export const specReport = z
  .object({
    decision: z.enum(['ready', 'expand', 'decline']),
    problem: z.string().trim().max(10_000).default(''),
    criteria: z
      .array(
        z.object({
          text: line,
          verify: line
            .max(1000)
            .nullish()
            .transform((value) => value ?? null),
        }),
      )
      .max(30)
      .default([]),
    testMatrix: list,
    outOfScope: list,
    filePointers: list,
    questions: list,
    contradictions: list,
  })
  .superRefine(({ decision, problem, criteria, questions, contradictions }, problems) => {
    const refuse = (path: string, message: string): void =>
      problems.addIssue({ code: 'custom', path: [path], message });
    if (decision === 'expand' && problem === '') refuse('problem', 'an expansion states the problem');
    if (decision === 'expand' && criteria.length === 0) refuse('criteria', 'an expansion has criteria');
    if (decision === 'decline' && questions.length + contradictions.length === 0)
      refuse('questions', 'who declines asks what is missing');
  });
type SpecReport = z.infer<typeof specReport>;

type ParsedSpec = { ok: true; report: SpecReport } | { ok: false; problem: string };

/** Structured output first, else the last fenced JSON block of the text. Anything else is unusable. */
export function parseSpecReport(structured: unknown, said: string): ParsedSpec {
  const raw = structured ?? lastJsonBlock(said);
  if (raw === undefined || raw === null)
    return { ok: false, problem: 'the specifier returned no structured report' };
  const parsed = specReport.safeParse(raw);
  if (parsed.success) return { ok: true, report: parsed.data };
  const issue = parsed.error.issues[0];
  return {
    ok: false,
    problem: `the specifier's report is invalid at ${issue?.path.join('.') || 'its root'}: ${issue?.message}`,
  };
}

/** For agents that can be given the shape of their answer. */
export const specReportSchema = (): Record<string, unknown> => {
  reportShape ??= z.toJSONSchema(specReport, { io: 'input', unrepresentable: 'any' });
  return reportShape;
};

let reportShape: Record<string, unknown> | null = null;

/** What an issue was expanded into. The issue's own text stays the contract; this stands beside it. */
export type Specification = Pick<
  SpecReport,
  'problem' | 'criteria' | 'testMatrix' | 'outOfScope' | 'filePointers'
>;

/** What was settled about a task's contract before its first coder turn. */
export type Spec =
  | { status: 'taken'; why: string }
  /** `at`: when it was written; absent in rows of older versions. */
  | { status: 'proposed' | 'adopted'; specification: Specification; by: string | null; at?: number }
  | { status: 'declined'; problem: string; questions: string[] };

/**
 * The answer that counts. A report that lists contradictions declines, whatever it says. An expansion is adopted by
 * itself only where the author's own words can be checked; else nobody but an agent would have said what is wanted, and
 * a person is asked.
 */
export function settle(report: SpecReport, judged: Readiness, expand: Policy['spec']['expand']): Spec {
  const { decision, questions, contradictions } = report;
  if (contradictions.length > 0) {
    const named = contradictions.map((one) => `These can't both hold: ${one}. Which one does, and when?`);
    return { status: 'declined', problem: 'it contradicts itself', questions: [...named, ...questions] };
  }
  if (decision === 'decline')
    return { status: 'declined', problem: report.problem || 'its author has to answer first', questions };
  if (decision === 'ready') return { status: 'taken', why: 'the specifier found it ready' };
  if (expand === 'off') {
    if (judged.checkable) return { status: 'taken', why: 'spec.expand is off' };
    const asked = questions.length > 0 ? questions : judged.questions;
    return { status: 'declined', problem: judged.problem, questions: asked };
  }
  const { problem, criteria, testMatrix, outOfScope, filePointers } = report;
  const specification = { problem, criteria, testMatrix, outOfScope, filePointers };
  const isAdopted = expand === 'auto' && judged.checkable;
  return { status: isAdopted ? 'adopted' : 'proposed', specification, by: null };
}

/** As people and agents read it. Every line of it begins with a word of ours, so that none passes for a command. */
export function specificationText(specification: Specification): string {
  const { problem, criteria, testMatrix, outOfScope, filePointers } = specification;
  const part = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : ['', `${title}:`, ...items.map((item) => `- ${oneLine(item)}`)];
  return [
    `Problem: ${problem.split(/\s*\n\s*/).join('\n  ')}`,
    ...part(
      'Criteria',
      criteria.map(({ text, verify }) => (verify === null ? text : `${text} (check: \`${verify}\`)`)),
    ),
    ...part('Test matrix', testMatrix),
    ...part('Out of scope', outOfScope),
    ...part('Where to look', filePointers),
  ].join('\n');
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

/**
 * The task's criteria with those of an accepted specification, without repeating one. The specifier's commands are run
 * only when a person has agreed to them: it reads what strangers wrote, and so its words are theirs.
 */
export function withSpecified(
  criteria: readonly Criterion[],
  specification: Specification,
  agreedBy: string | null,
): Criterion[] {
  const known = new Set(criteria.map(({ text }) => plain(text)));
  const added = specification.criteria.filter(({ text }) => !known.has(plain(text)));
  return [
    ...criteria,
    ...added.map(({ text, verify }, index) => ({
      id: `s${index + 1}`,
      text,
      verify: agreedBy === null ? null : verify,
    })),
  ];
}

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
