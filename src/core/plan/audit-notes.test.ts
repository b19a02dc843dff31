/** What an auditor notes with its tools becomes part of its result, and of nothing before. */
import { expect, test } from 'vitest';
import type { Finding } from '../change/findings.ts';
import { type AuditFinding, type AuditNotes, audited, noReport, writtenFinding } from './audit.ts';
import { bornPlan } from './progress.ts';

const plan = bornPlan({
  name: 'tidy',
  mode: 'loop',
  delivers: 'branch',
  recovery: 'manual',
  startedBy: 'ada',
  models: {},
  objective: '',
  shared: '',
  milestones: [{ title: 'First', text: 'make the first' }],
});
const round = { task: 't', round: 2, headSha: 'abc', at: 0 };
const bug = (description: string, line: number | null = null): AuditFinding => ({
  severity: 'bug',
  description,
  file: 'a.ts',
  line,
  scenario: null,
});
const report = (more: Partial<ReturnType<typeof noReport>> = {}) => ({ ...noReport(), clean: true, ...more });
const after = (notes: Partial<AuditNotes>, said = report(), ledger: readonly Finding[] = []) =>
  audited(said, { findings: [], resolved: [], ...notes }, plan, ledger, round);
const known = after({ findings: [bug('crashes without input', 3)] }).findings;

test('a noted bug is in the ledger, and no result is clean beside it', () => {
  const { findings, isClean } = after({ findings: [bug('crashes without input')] });
  expect(findings).toMatchObject([
    { id: 't.1', message: 'crashes without input', source: 'auditor', milestone: 0 },
  ]);
  expect(isClean).toBe(false);
});

test('what was noted and is said again is one finding, as it was said last', () => {
  const said = report({ findings: [{ ...bug('It crashes without any input', 4), severity: 'warning' }] });
  expect(after({ findings: [bug('crashes without input', 3)] }, said).findings).toMatchObject([
    { severity: 'sev3', line: 4 },
  ]);
});

test('another defect at the same line is another finding', () => {
  const said = report({ findings: [bug('leaks the handle', 3)] });
  expect(after({ findings: [bug('crashes without input', 3)] }, said).findings).toHaveLength(2);
});

test('what is noted as fixed is resolved, by the auditor and with its reason', () => {
  const { findings, isClean } = after(
    { resolved: [{ id: 't.1', why: 'there is a check now' }] },
    report(),
    known,
  );
  expect(findings).toMatchObject([
    { status: 'resolved', history: [{}, { status: 'resolved', by: 'auditor', why: 'there is a check now' }] },
  ]);
  expect(isClean).toBe(true);
});

test.each([
  ['with the tool', { resolved: [{ id: 'new-1', why: '' }] }, report()],
  ['in the result', {}, report({ resolved: [{ id: 'new-1', why: '' }] })],
])('a noted finding can be taken back %s', (_, notes, said) => {
  expect(after({ findings: [bug('crashes')], ...notes }, said)).toMatchObject({
    findings: [],
    isClean: true,
  });
});

test('what is said twice of one place within one audit is one finding (loops 34)', () => {
  const twice = [
    bug('crashes without input', 3),
    { ...bug('It crashes without input', 3), severity: 'warning' as const },
  ];
  const elsewhere = bug('crashes without input', 9);
  for (const { findings } of [
    after({ findings: [...twice, elsewhere] }),
    after({}, report({ findings: [...twice, elsewhere] })),
  ])
    expect(findings.map(({ severity, line }) => [severity, line])).toEqual([
      ['sev2', 3],
      ['sev2', 9],
    ]);
});

test('what a person writes again updates the finding that is open, and only that (loops 34)', () => {
  const said = { by: 'ann', at: 1, sha: 'def' };
  const written = (one: AuditFinding, ledger: readonly Finding[], at = plan) =>
    writtenFinding(one, { task: 't', plan: at, ledger }, said);
  const again = written({ ...bug('crashes without input', 3), scenario: 'no arguments' }, known);
  expect(again).toMatchObject({ id: 't.1', scenario: 'no arguments', rounds: [2] });
  expect(written(bug('crashes without input', 4), known).id, 'another line').toBe('t.2');
  expect(written(bug('leaks a file handle', 3), known).id, 'another defect').toBe('t.2');
  const resolved = known.map((one) => ({ ...one, status: 'resolved' as const }));
  expect(written(bug('crashes without input', 3), resolved).id, 'it is fixed').toBe('t.2');
  expect(written(bug('crashes without input', 3), known, { ...plan, milestone: 1 }).id).toBe('t.2');
});
