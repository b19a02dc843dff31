import { describe, expect, test } from 'vitest';
import {
  type Answer,
  afterRound,
  decided,
  type Finding,
  isStuck,
  leftByPerson,
  type NewFinding,
  revivedFinding,
} from './findings.ts';

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

/** Rounds of a source that looks at everything anew, one after another. */
function rounds(...reports: NewFinding[][]): Finding[] {
  return reports.reduce<Finding[]>((ledger, report, index) => judge(ledger, report, index + 1), []);
}
const judge = (
  ledger: Finding[],
  report: NewFinding[],
  round: number,
  answers: Answer[] | null = null,
): Finding[] =>
  afterRound(ledger, report, {
    task: 't1',
    round,
    headSha: `c${round}`,
    source: 'critic',
    by: 'critic',
    at: round * 100,
    answers,
  });
const brief = (ledger: Finding[]) =>
  ledger.map(({ id, status, rounds: open }) => `${id} ${status} ${open.join()}`);
const yes = (id: string): Answer => ({ id, addressed: 'yes', why: 'it is gone' });
const ANN = { by: 'ann', at: 150, sha: 'c1', why: 'that is how it shall be' };

describe('the ledger', () => {
  test('opens what is new', () => {
    expect(rounds([found('one'), found('two')])).toMatchObject([
      {
        id: 't1.1',
        status: 'open',
        rounds: [1],
        source: 'critic',
        history: [{ status: 'open', by: 'critic', at: 100, sha: 'c1', why: null }],
      },
      { id: 't1.2', status: 'open' },
    ]);
  });

  test('resolves what is no longer reported, and deletes nothing', () => {
    const ledger = rounds([found('one'), found('two')], [found('two')]);
    expect(brief(ledger)).toEqual(['t1.1 resolved 1', 't1.2 open 1,2']);
    expect(ledger[0]?.history.at(-1)).toEqual({
      status: 'resolved',
      by: 'critic',
      at: 200,
      sha: 'c2',
      why: null,
    });
  });

  test('knows a finding again by file and wording, though lines, digits, case and signs moved', () => {
    expect(rounds([found('No role at line 3')], [found('no role, at line 99!', { line: 99 })])).toMatchObject(
      [{ rounds: [1, 2], line: 99 }],
    );
  });

  test('the same wording in another file is another finding', () => {
    expect(rounds([found('wrong')], [found('wrong', { file: 'b.ts' })])).toHaveLength(2);
  });

  test('re-opens what came back, and keeps who did what, when and at which head', () => {
    const [finding] = rounds([found('one')], [], [found('one')]);
    expect(finding).toMatchObject({ status: 'open', rounds: [1, 3] });
    expect(finding?.history.map(({ status, at, sha, why }) => [status, at, sha, why])).toEqual([
      ['open', 100, 'c1', null],
      ['resolved', 200, 'c2', null],
      ['open', 300, 'c3', 'it came back'],
    ]);
  });

  test('takes the severity of the latest report', () => {
    expect(rounds([found('one')], [found('one', { severity: 'sev1' })])[0]?.severity).toBe('sev1');
  });

  test('leaves alone what others found', () => {
    const [first] = rounds([found('one')]);
    const others: Finding[] = [{ ...first!, source: 'person' }];
    expect(judge(others, [found('one')], 2)).toMatchObject([...others, { id: 't1.2', source: 'critic' }]);
  });

  test('two of the same wording in one report are two findings, and each finds its own again', () => {
    const here = found('wrong name', { line: 3, context: 'const first = read();' });
    const there = found('wrong name', { line: 90, context: 'const last = write();' });
    const ledger = rounds([here, there], [{ ...there, line: 92 }]);
    expect(brief(ledger)).toEqual(['t1.1 resolved 1', 't1.2 open 1,2']);
  });

  test('names stay unique although rounds count from one again after a restart', () => {
    const ledger = judge(judge([], [found('one')], 1), [found('two')], 1);
    expect(brief(ledger)).toEqual(['t1.1 resolved 1', 't1.2 open 1']);
  });

  test('a ledger of an older version gets the history it can have', () => {
    const [now] = rounds([found('one')]);
    const { history: _, ...old } = now!;
    const closed = { ...old, status: 'resolved', openedAtSha: 'c1', closedAtSha: 'c2', closedBy: 'critic' };
    const revived = revivedFinding(closed as unknown as Finding);
    expect(revived.history).toEqual([
      { status: 'open', by: 'critic', at: 0, sha: 'c1', why: null },
      { status: 'resolved', by: 'critic', at: 0, sha: 'c2', why: null },
    ]);
    expect(revived).not.toHaveProperty('closedBy');
    expect(revivedFinding(now!)).toBe(now);
  });
});

describe('whoever was shown what is open has to answer for it', () => {
  const two = rounds([found('one'), found('two')]);

  test.each<[string, Answer[], NewFinding[], string[]]>([
    ['yes', [yes('t1.1'), yes('2')], [], ['t1.1 resolved 1', 't1.2 resolved 1']],
    ['no', [{ id: '1', addressed: 'no', why: '' }, yes('2')], [], ['t1.1 open 1,2', 't1.2 resolved 1']],
    [
      'partly',
      [{ id: '1', addressed: 'partly', why: '' }, yes('2')],
      [],
      ['t1.1 open 1,2', 't1.2 resolved 1'],
    ],
    ['nothing', [], [], ['t1.1 open 1,2', 't1.2 open 1,2']],
    ['yes, and reports it again', [yes('1'), yes('2')], [found('one')], ['t1.1 open 1,2', 't1.2 resolved 1']],
    ['about what is not there', [yes('9'), yes('t2.1')], [], ['t1.1 open 1,2', 't1.2 open 1,2']],
  ])('it says %s', (_what, answers, report, expected) => {
    expect(brief(judge(two, report, 2, answers))).toEqual(expected);
  });

  test('its reason is kept', () => {
    expect(judge(two, [], 2, [yes('1')])[0]?.history.at(-1)?.why).toBe('it is gone');
  });
});

describe('what a person decided to leave', () => {
  const [first] = rounds([found('one')]);
  const left = decided(first!, 'wontfix', ANN);

  test('says who, when, at which head and why', () => {
    expect(left).toMatchObject({ status: 'wontfix', history: [{}, { status: 'wontfix', ...ANN }] });
  });

  test('stays so when it is reported again, and is not found anew', () => {
    expect(judge([left], [found('one')], 2, [])).toEqual([left]);
    expect(leftByPerson([left], [found('one'), found('other')])).toEqual([found('one')]);
  });

  const keepsName = found('`parse` does not handle empty input', { context: 'function parse(text) {' });
  test.each<[string, NewFinding]>([
    [
      'another case of the same function',
      { ...keepsName, message: '`parse` does not handle negative input' },
    ],
    ['the same words at other code', { ...keepsName, context: 'export const parse = (line) => {' }],
  ])('does not stand for another defect in the file: %s', (_what, other) => {
    const [known] = rounds([keepsName]);
    const ledger = [decided(known!, 'wontfix', ANN)];
    expect(brief(judge(ledger, [other], 2, []))).toEqual(['t1.1 wontfix 1', 't1.2 open 2']);
    expect(leftByPerson(ledger, [other])).toEqual([]);
    expect(leftByPerson(ledger, [{ ...keepsName, line: 40 }])).toHaveLength(1);
  });

  const reworded = (change: Partial<NewFinding> = {}): NewFinding =>
    found('Nobody can tell what this is for', { repeats: 't1.1', context: CODE, ...change });
  const CODE = 'const one = read();\nreturn one;';
  const decidedOn = decided(rounds([found('one', { context: CODE })])[0]!, 'wontfix', ANN);

  test.each<[string, Partial<NewFinding>]>([
    ['by its id', {}],
    ['by the number of its id', { repeats: '1' }],
    ['at another line', { line: 90 }],
    ['with nothing known of the code', { context: null }],
    ['as advice only', { severity: 'sev3' }],
  ])('stays so in other words, when whoever reports it says that it is the same: %s', (_what, change) => {
    expect(judge([decidedOn], [reworded(change)], 2, [])).toEqual([decidedOn]);
    expect(leftByPerson([decidedOn], [reworded(change)])).toEqual([reworded(change)]);
  });

  test.each<[string, Partial<NewFinding>]>([
    ['it is a sev1', { severity: 'sev1' }],
    ['it is in another file', { file: 'b.ts' }],
    ['it is at other code', { context: 'export const two = () => write();' }],
    ['there is no such finding', { repeats: 't1.9' }],
    ['nobody says that it is the same', { repeats: null }],
  ])('does not stand for what is told in other words, when %s', (_what, change) => {
    const ledger = judge([decidedOn], [reworded(change)], 2, []);
    expect(brief(ledger)).toEqual(['t1.1 wontfix 1', 't1.2 open 2']);
    expect(ledger[1]).not.toHaveProperty('repeats');
    expect(leftByPerson([decidedOn], [reworded(change)])).toEqual([]);
  });

  test('a sev1 that they left does not stand for another sev1 either, whatever is said of it', () => {
    const grave = decided(rounds([found('one', { severity: 'sev1' })])[0]!, 'wontfix', ANN);
    const other = reworded({ severity: 'sev1', context: null });
    expect(brief(judge([grave], [other], 2, []))).toEqual(['t1.1 wontfix 1', 't1.2 open 2']);
  });

  test('stands for one finding, not for all that are said to be the same', () => {
    const both = [reworded(), reworded({ message: 'It loses the second line' })];
    expect(brief(judge([decidedOn], both, 2, []))).toEqual(['t1.1 wontfix 1', 't1.2 open 2']);
  });

  test('comes back when it is said to be the same, and worse', () => {
    const advice = { ...decidedOn, severity: 'sev3' as const };
    expect(judge([advice], [reworded()], 2, [])).toMatchObject([{ status: 'open', severity: 'sev2' }]);
  });

  test.each<[string, Partial<NewFinding>, string | null]>([
    ['at the same code', { line: 90 }, 'next to finding t1.1, which ann left as is'],
    ['a few lines away', { line: 9, context: null }, 'next to finding t1.1, which ann left as is'],
    ['far away', { line: 90, context: null }, null],
    ['of another kind', { category: 'naming' }, null],
    ['in another file', { file: 'b.ts' }, null],
  ])('is named by a new finding %s', (_what, change, why) => {
    const ledger = judge([decidedOn], [reworded({ repeats: null, ...change })], 2, []);
    expect(ledger[1]?.history).toMatchObject([{ status: 'open', why }]);
  });

  test('stays so when nobody speaks of it', () => {
    expect(judge([left], [], 2, [yes('1')])).toEqual([left]);
  });

  test('comes back when it is worse than they saw it', () => {
    const worse = found('one', { severity: 'sev1' });
    expect(judge([left], [worse], 2, [])).toMatchObject([
      {
        status: 'open',
        severity: 'sev1',
        rounds: [1, 2],
        history: [{}, {}, { why: 'it is not what was decided about' }],
      },
    ]);
    expect(leftByPerson([left], [worse])).toEqual([]);
  });

  test('may be taken up again by them', () => {
    expect(decided(left, 'open', ANN)).toMatchObject({ status: 'open', history: [{}, {}, { by: 'ann' }] });
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
