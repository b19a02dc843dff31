import { describe, expect, test } from 'vitest';
import { afterRound, type Finding, isStuck, type NewFinding } from './findings.ts';

const found = (message: string, change: Partial<NewFinding> = {}): NewFinding => ({
  severity: 'sev2',
  category: 'bug',
  file: 'a.ts',
  line: 3,
  message,
  scenario: null,
  suggestion: null,
  ...change,
});

/** Rounds of the critic, one after another. */
function rounds(...reports: NewFinding[][]): Finding[] {
  return reports.reduce<Finding[]>((ledger, report, index) => judge(ledger, report, index + 1), []);
}
const judge = (ledger: Finding[], report: NewFinding[], round: number): Finding[] =>
  afterRound(ledger, report, { task: 't1', round, headSha: `c${round}`, source: 'critic', by: 'critic' });
const brief = (ledger: Finding[]) =>
  ledger.map(({ id, status, rounds: open }) => `${id} ${status} ${open.join()}`);

describe('the ledger', () => {
  test('opens what is new', () => {
    expect(rounds([found('one'), found('two')])).toMatchObject([
      { id: 't1.1', status: 'open', rounds: [1], openedAtSha: 'c1', source: 'critic' },
      { id: 't1.2', status: 'open' },
    ]);
  });

  test('resolves what is no longer reported, and deletes nothing', () => {
    const ledger = rounds([found('one'), found('two')], [found('two')]);
    expect(brief(ledger)).toEqual(['t1.1 resolved 1', 't1.2 open 1,2']);
    expect(ledger[0]).toMatchObject({ closedAtSha: 'c2', closedBy: 'critic' });
  });

  test('knows a finding again by file and wording, though lines, digits, case and signs moved', () => {
    expect(rounds([found('No role at line 3')], [found('no role, at line 99!', { line: 99 })])).toMatchObject(
      [{ rounds: [1, 2], line: 99 }],
    );
  });

  test('the same wording in another file is another finding', () => {
    expect(rounds([found('x')], [found('x', { file: 'b.ts' })])).toHaveLength(2);
  });

  test('re-opens what came back', () => {
    expect(rounds([found('one')], [], [found('one')])).toMatchObject([
      { status: 'open', rounds: [1, 3], closedAtSha: null, closedBy: null },
    ]);
  });

  test('takes the severity of the latest report', () => {
    expect(rounds([found('one')], [found('one', { severity: 'sev1' })])[0]?.severity).toBe('sev1');
  });

  test('leaves alone what a person decided and what others found', () => {
    const [first] = rounds([found('one')]);
    const decided: Finding[] = [
      { ...first!, status: 'wontfix', closedBy: 'ann' },
      { ...first!, id: 'p1', source: 'person' },
    ];
    expect(judge(decided, [], 2)).toEqual(decided);
  });

  test('two of the same wording in one report are two findings', () => {
    expect(brief(rounds([found('x'), found('x')]))).toEqual(['t1.1 open 1', 't1.2 open 1']);
  });

  test('names stay unique although rounds count from one again after a restart', () => {
    const ledger = judge(judge([], [found('one')], 1), [found('two')], 1);
    expect(brief(ledger)).toEqual(['t1.1 resolved 1', 't1.2 open 1']);
  });
});

describe('stuck', () => {
  test.each([
    [[1], false],
    [[1, 2], false],
    [[1, 2, 3], true],
    [[1, 3, 4], false],
    [[1, 3, 4, 5], true],
    [[1, 2, 3, 1], false],
    [[1, 2, 3, 1, 2, 3], true],
  ])('open in rounds %j: %s', (open, stuck) => {
    const [finding] = rounds([found('x')]);
    expect(isStuck({ ...finding!, rounds: open })).toBe(stuck);
  });
});
