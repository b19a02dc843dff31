import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { problem } from '../../test/support/play.ts';
import type { Severity } from './change/findings.ts';
import {
  blocking,
  type CriticReport,
  criticReport,
  criticReportSchema,
  effectiveVerdict,
  judgementsOf,
  parseReport,
  VERDICTS,
} from './verdict.ts';

const SCHEMA = new URL('../../schema/critic-report.schema.json', import.meta.url);
const schemaText = (): string => `${JSON.stringify(criticReportSchema(), null, 2)}\n`;
if (process.env.UPDATE_DOCS) writeFileSync(SCHEMA, schemaText());

test('schema/critic-report.schema.json is what the schema says (UPDATE_DOCS=1 rewrites it)', () => {
  expect(readFileSync(SCHEMA, 'utf8')).toBe(schemaText());
});

const fenced = (json: string, info = 'json') => `\`\`\`${info}\n${json}\n\`\`\``;
const APPROVE = '{"verdict":"APPROVE"}';
const verdictOf = (structured: unknown, said = '') => {
  const parsed = parseReport(structured, said);
  return parsed.ok ? parsed.report.verdict : parsed.problem;
};

describe('a report', () => {
  test('may be as short as its verdict; what is missing is filled in', () => {
    expect(parseReport({ verdict: 'APPROVE' }, '')).toEqual({
      ok: true,
      report: {
        verdict: 'APPROVE',
        findings: [],
        criteria: [],
        earlier: [],
        minimalPathToGreen: [],
        specDefects: [],
        summary: '',
      },
    });
  });

  test('keeps all of a finding', () => {
    const full = { ...problem('sev1', 'x'), scenario: 'when', suggestion: 'do', repeats: 't1.4' };
    expect(criticReport.parse({ verdict: 'BLOCK', findings: [full] }).findings).toEqual([full]);
  });

  test.each(VERDICTS)('%s is a verdict', (verdict) => {
    expect(verdictOf({ verdict })).toBe(verdict);
  });

  test('structured output goes before the text', () => {
    expect(verdictOf({ verdict: 'BLOCK' }, fenced(APPROVE))).toBe('BLOCK');
  });
});

describe('in the text', () => {
  test.each([
    ['a fenced block', `Here it is:\n\n${fenced(APPROVE)}\n`],
    ['a fence without a language', fenced(APPROVE, '')],
    ['the bare object', `  ${APPROVE}\n`],
    ['the last of several', `${fenced('{"verdict":"BLOCK"}')}\nNo, rather:\n${fenced(APPROVE)}`],
    ['after a block of code', `${fenced('const a = {};', 'ts')}\nso\n${fenced(APPROVE)}`],
    ['before a block of code', `${fenced(APPROVE)}\n${fenced('npm test', 'sh')}`],
    ['an indented fence', `- verdict:\n  \`\`\`json\n  ${APPROVE}\n  \`\`\``],
    ['with carriage returns', fenced(APPROVE).replaceAll('\n', '\r\n')],
  ])('%s is found', (_what, said) => {
    expect(verdictOf(null, said)).toBe('APPROVE');
  });

  test.each([
    ['nothing', ''],
    ['praise', 'Looks good to me! APPROVE'],
    ['the word in a sentence', 'My verdict: {"verdict": "APPROVE"}'],
    ['broken JSON', fenced('{"verdict":"APPROVE"')],
    ['an unclosed fence', '```json\n{"verdict":"APPROVE"}'],
    ['another language', fenced(APPROVE, 'yaml')],
    ['a list', fenced(`[${APPROVE}]`)],
  ])('%s is no report (dispatch 33)', (_what, said) => {
    expect(parseReport(null, said)).toEqual({
      ok: false,
      problem: 'the critic returned no structured report',
    });
  });
});

describe('garbage', () => {
  test.each([
    ['another word', { verdict: 'LGTM' }, 'invalid at verdict'],
    ['lower case', { verdict: 'approve' }, 'invalid at verdict'],
    ['no verdict', { findings: [] }, 'invalid at verdict'],
    ['a text', 'APPROVE', 'invalid at its root'],
    ['true', true, 'invalid at its root'],
    [
      'an unknown severity',
      { verdict: 'APPROVE', findings: [problem('minor', 'x')] },
      'invalid at findings.0.severity',
    ],
    [
      'an empty message',
      { verdict: 'APPROVE', findings: [problem('sev1', '')] },
      'invalid at findings.0.message',
    ],
    [
      'a line that is none',
      { verdict: 'APPROVE', findings: [{ ...problem('sev1', 'x'), line: -3 }] },
      'invalid at findings.0.line',
    ],
    [
      'a criterion neither met nor unmet',
      { verdict: 'APPROVE', criteria: [{ criterion: 'x', met: true }] },
      'invalid at criteria.0.met',
    ],
  ])('%s is unusable and says where (dispatch 33)', (_what, structured, says) => {
    expect(verdictOf(structured)).toContain(says);
  });

  test('a flood of findings or a giant text is refused, not kept', () => {
    const many = Array.from({ length: 201 }, () => problem('sev3', 'x'));
    expect(verdictOf({ verdict: 'APPROVE', findings: many })).toContain('invalid at findings');
    expect(verdictOf({ verdict: 'APPROVE', summary: 'x'.repeat(20_001) })).toContain('invalid at summary');
  });

  test('hostile text of megabytes is read in one pass', () => {
    const flood = '```json\n'.repeat(300_000);
    expect(parseReport(null, flood).ok).toBe(false);
    expect(parseReport(null, '`'.repeat(3_000_000)).ok).toBe(false);
    expect(parseReport(null, `{${'"a":['.repeat(500_000)}`).ok).toBe(false);
    expect(verdictOf(null, `${'x'.repeat(3_000_000)}\n${fenced(APPROVE)}`)).toBe('APPROVE');
  });

  test('keys that would reach a prototype are dropped', () => {
    const report = parseReport(
      null,
      fenced('{"verdict":"APPROVE","__proto__":{"findings":[1]},"constructor":1}'),
    );
    expect(report).toMatchObject({ ok: true, report: { findings: [] } });
  });
});

describe('the criteria of the contract', () => {
  const CONTRACT = [
    { id: 'c1', text: 'It opens `a`', verify: null },
    { id: 'c2', text: 'It closes', verify: 'npm test' },
  ];
  const met = (id: string, change: object = {}) => ({ id, met: 'met', evidence: 'a.test.ts', ...change });
  const problemOf = (criteria: object[]) => {
    const parsed = parseReport({ verdict: 'APPROVE', criteria }, '', CONTRACT);
    return parsed.ok ? 'usable' : parsed.problem;
  };

  test.each<[string, object[], string]>([
    ['every one judged', [met('c1'), met('c2')], 'usable'],
    ['in another order, with one of its own', [met('c2'), met('c9'), met('c1')], 'usable'],
    [
      'unmet and unclear',
      [met('c1', { met: 'unmet', evidence: '' }), met('c2', { met: 'unclear' })],
      'usable',
    ],
    ['by the very words', [{ ...met('x'), id: null, criterion: 'it opens "a"' }, met('c2')], 'usable'],
    ['none judged', [], 'the report does not judge c1, c2'],
    ['one left out', [met('c2')], 'the report does not judge c1'],
    ['one twice', [met('c1'), met('c1', { met: 'unmet' }), met('c2')], 'the report judges c1 more than once'],
    [
      'other words',
      [{ ...met('x'), id: null, criterion: 'it opens b' }, met('c2')],
      'the report does not judge c1',
    ],
    [
      'met without evidence',
      [met('c1', { evidence: ' ' }), met('c2')],
      'the report is invalid at criteria.0.evidence',
    ],
  ])('%s', (_what, criteria, says) => {
    expect(problemOf(criteria)).toContain(says);
  });

  test('are told in the order of the contract, in its words, then what the critic added', () => {
    const report = criticReport.parse({
      verdict: 'APPROVE',
      criteria: [met('c9', { criterion: 'own' }), met('c2'), met('c1', { criterion: 'a paraphrase' })],
    });
    expect(judgementsOf(report, CONTRACT)).toMatchObject([
      { id: 'c1', criterion: 'It opens `a`' },
      { id: 'c2', criterion: 'It closes' },
      { id: null, criterion: 'own' },
    ]);
  });
});

describe('the verdict that counts', () => {
  const report = (change: Partial<CriticReport>): CriticReport => ({
    ...criticReport.parse({ verdict: 'APPROVE' }),
    ...change,
  });
  const finding = (severity: Severity) =>
    criticReport.parse({ verdict: 'APPROVE', findings: [problem(severity, 'x')] }).findings;
  const criterion = (met: 'met' | 'unmet' | 'unclear') => [{ id: null, criterion: 'c', met, evidence: 'x' }];

  const TABLE: [string, Partial<CriticReport>, Severity[], string][] = [
    ['nothing against it', {}, ['sev1', 'sev2'], 'APPROVE'],
    ['only advice', { findings: finding('sev3') }, ['sev1', 'sev2'], 'APPROVE'],
    ['an open sev1', { findings: finding('sev1') }, ['sev1', 'sev2'], 'REQUEST_CHANGES'],
    ['an open sev2', { findings: finding('sev2') }, ['sev1', 'sev2'], 'REQUEST_CHANGES'],
    ['an open sev2 that does not block', { findings: finding('sev2') }, ['sev1'], 'APPROVE'],
    ['a sev1 when nothing is configured to block', { findings: finding('sev1') }, [], 'REQUEST_CHANGES'],
    ['every criterion met', { criteria: criterion('met') }, ['sev1'], 'APPROVE'],
    ['a criterion unmet', { criteria: criterion('unmet') }, ['sev1'], 'REQUEST_CHANGES'],
    ['a criterion nobody could judge', { criteria: criterion('unclear') }, ['sev1'], 'REQUEST_CHANGES'],
  ];
  test.each(TABLE)('an approval with %s', (_what, change, blockOn, verdict) => {
    expect(effectiveVerdict(report(change), report(change).findings, [], blockOn)).toBe(verdict);
  });

  test.each(['REQUEST_CHANGES', 'BLOCK', 'BLOCK_ON_SPEC'] as const)('%s is taken at its word', (verdict) => {
    expect(effectiveVerdict(report({ verdict }), finding('sev1'), [], ['sev1', 'sev2'])).toBe(verdict);
  });

  test('an approval that does not mention what is open in the ledger is none', () => {
    expect(effectiveVerdict(report({}), finding('sev1'), [], [])).toBe('REQUEST_CHANGES');
  });

  const OVERRULED: [string, Partial<CriticReport>, Severity | null, Severity | null, string][] = [
    ['all that blocks was left by a person', {}, null, 'sev2', 'APPROVE'],
    ['something else is open', {}, 'sev2', 'sev2', 'REQUEST_CHANGES'],
    ['only advice was left', {}, null, 'sev3', 'REQUEST_CHANGES'],
    ['nothing was left', {}, null, null, 'REQUEST_CHANGES'],
    ['a criterion is unmet', { criteria: criterion('unmet') }, null, 'sev2', 'REQUEST_CHANGES'],
    ['it blocks', { verdict: 'BLOCK' }, null, 'sev2', 'BLOCK'],
  ];
  test.each(OVERRULED)('a request for changes where %s', (_what, change, open, left, verdict) => {
    const said = report({ verdict: 'REQUEST_CHANGES', ...change });
    const of = (severity: Severity | null) => (severity === null ? [] : finding(severity));
    expect(effectiveVerdict(said, of(open), of(left), ['sev1', 'sev2'])).toBe(verdict);
  });

  test('sev1 always blocks, the others as configured', () => {
    const all = [...finding('sev1'), ...finding('sev2'), ...finding('sev3')];
    expect(blocking(all, []).map(({ severity }) => severity)).toEqual(['sev1']);
    expect(blocking(all, ['sev3']).map(({ severity }) => severity)).toEqual(['sev1', 'sev3']);
  });
});
