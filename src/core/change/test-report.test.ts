import { describe, expect, test } from 'vitest';
import { readJUnit } from './junit.ts';
import { readTap } from './tap.ts';
import { type TestCase, testReport, vanishedTests } from './test-report.ts';

const tap = (...lines: string[]) => readTap(['TAP version 13', ...lines].join('\n'), '/tree');
const shown = (cases: TestCase[] | null) =>
  cases?.map(({ name, outcome, file }) => `${outcome} ${file ? `${file}: ` : ''}${name}`) ?? null;

describe('TAP', () => {
  test('tests by name, with what was skipped or is yet to do', () => {
    const said = tap(
      '1..5',
      'ok 1 - a',
      'not ok 2 - b',
      'ok 3 - c # SKIP no net',
      `not ok 4 - d # ${'to'}do later`,
      'ok 5',
    );
    expect(shown(said)).toEqual(['passed a', 'failed b', 'skipped c', 'skipped d', 'passed ']);
  });

  test('as node prints it: subtests before their parent, the file from the location, times left out', () => {
    const output = `
> project@1.0.0 test
> node --test --test-reporter=tap

TAP version 13
# Subtest: money
    # Subtest: adds
    ok 1 - adds
      ---
      duration_ms: 0.5
      location: '/tree/test/money.test.js:4:3'
      ...
    # Subtest: divides
    not ok 2 - divides
      ---
      duration_ms: 1.25
      location: '/tree/test/money.test.js:9:3'
      failureType: 'testCodeFailure'
      error: |-
        not ok 1 - this is only what it says
        1..7
      ...
    1..2
not ok 1 - money
  ---
  duration_ms: 3
  location: '/tree/test/money.test.js:3:1'
  failureType: 'subtestsFailed'
  ...
ok 2 - other
1..2
# tests 3
`;
    expect(shown(readTap(output, '/tree'))).toEqual([
      'passed test/money.test.js: money > adds',
      'failed test/money.test.js: money > divides',
      'passed other',
    ]);
  });

  test('a parent that fails by itself is a failure', () => {
    expect(shown(tap('    ok 1 - a', '    1..1', 'not ok 1 - hooks', '1..1'))).toEqual([
      'passed hooks > a',
      'failed hooks',
    ]);
  });

  test('several documents, in colour', () => {
    const two = ['ok 1 - a', '1..1', 'TAP version 14', '1..1', '\x1b[31mnot ok 1 - b\x1b[0m'];
    expect(shown(tap(...two))).toEqual(['passed a', 'failed b']);
  });

  test.each([
    ['no version', readTap('1..1\nnot ok 1 - a', '/tree')],
    ['no plan: it was cut off', tap('ok 1 - a', 'not ok 2 - b')],
    ['fewer results than planned', tap('1..3', 'ok 1 - a', 'not ok 2 - b')],
    ['bailed out', tap('1..2', 'ok 1 - a', 'not ok 2 - b', 'Bail out! no database')],
    ['one of two documents cut off', tap('1..1', 'ok 1 - a', 'TAP version 13', 'not ok 1 - b')],
    ['a block that never ends', tap('1..1', 'not ok 1 - a', '  ---', '  error: x')],
    ['no tests', tap('1..0')],
    ['other words', readTap('ok, all is well', '/tree')],
  ])('is no whole report: %s', (_what, cases) => {
    expect(cases).toBeNull();
  });
});

describe('JUnit', () => {
  test('tests by name, with file or class', () => {
    const xml = `<?xml version="1.0" encoding="UTF-8"?>
<!-- <testcase name="no"> -->
<testsuites tests="4">
  <testsuite name="s" tests="4">
    <properties><property name="a" value="1 > 0"/></properties>
    <testcase classname="pkg.Money" name="adds &amp; &#x3c;counts&#62;" time="0.1"/>
    <testcase classname="pkg.Money" name='divides "0"'>
      <failure message="x" type="E"><![CDATA[<testcase name="no"/>]]></failure>
      <system-out>text</system-out>
    </testcase>
    <testcase file="/tree/test/a.py" classname="c" name="breaks"><error/></testcase>
    <testcase name="later"><skipped/></testcase>
  </testsuite>
</testsuites>
`;
    expect(shown(readJUnit(xml, '/tree'))).toEqual([
      'passed pkg.Money: adds & <counts>',
      'failed pkg.Money: divides "0"',
      'failed test/a.py: breaks',
      'skipped later',
    ]);
  });

  test('a failure of a whole suite counts', () => {
    expect(shown(readJUnit('<testsuite><testcase name="a"/><error/></testsuite>', '/'))).toEqual([
      'passed a',
      'failed (testsuite)',
    ]);
  });

  test.each([
    ['a document type', '<!DOCTYPE x [<!ENTITY a "b">]><testsuite><testcase name="&a;"/></testsuite>'],
    ['cut off', '<testsuite><testcase name="a"/>'],
    ['cut off in a comment', '<testsuite><!-- <testcase name="a"/></testsuite>'],
    ['not nested', '<testsuite><testcase name="a"></testsuite></testcase>'],
    ['another document', '<html><testcase name="a"/></html>'],
    ['two roots', '<testsuite/><testsuite/>'],
    ['no XML', '{"tests": 1}'],
    ['empty', ''],
    ['a broken tag', '<testsuite><testcase name="a</testsuite>'],
  ])('is no report: %s', (_what, xml) => {
    expect(readJUnit(xml, '/')).toBeNull();
  });

  test('an entity that nobody declared stays as it is', () => {
    expect(shown(readJUnit('<testsuite><testcase name="&xxe; &amp;amp;"/></testsuite>', '/'))).toEqual([
      'passed &xxe; &amp;',
    ]);
  });
});

describe('the tests of a report', () => {
  const cases = (said: readonly string[]): TestCase[] =>
    said.map((one) => {
      const [, outcome, name] = /^(\w+) (.*)$/.exec(one)!;
      return { name: name!, outcome: outcome as TestCase['outcome'] };
    });
  const of = (...said: string[]) => testReport(cases(said));

  test('that failed: by name, a second one of the same name told apart', () => {
    expect(of('passed a', 'failed b', 'skipped c', 'failed b')).toEqual({
      passed: ['a'],
      failed: ['b', 'b'],
      failing: ['b', 'b (2)'],
      skipped: ['c'],
    });
  });

  test('that failed, with the file where only a failure tells it', () => {
    const [a, b] = cases(['passed a', 'failed b']) as [TestCase, TestCase];
    expect(testReport([a, { ...b, file: 'b.js' }])).toMatchObject({ failing: ['b.js: b'], failed: ['b'] });
  });

  test('are unknown where nothing passed: what ran may not have come to testing', () => {
    expect(of('failed a')).toBeNull();
    expect(of('failed a', 'skipped b')).toBeNull();
    expect(of()).toBeNull();
  });

  test('long names are told apart, and too many are not compared', () => {
    const [one, other] = of('passed p', `failed ${'x'.repeat(400)}1`, `failed ${'x'.repeat(400)}2`)!.failing;
    expect(one).not.toBe(other);
    expect(one!.length).toBeLessThan(330);
    expect(of('passed p', ...Array.from({ length: 501 }, (_, i) => `failed t${i}`))).toBeNull();
    expect(of(...Array.from({ length: 14_000 }, (_, i) => `passed ${i} ${'x'.repeat(300)}`))).toBeNull();
  });

  const BEFORE = ['passed a.js: adds', 'passed b.js: adds', 'failed b.js: divides', 'skipped b.js: later'];
  test.each([
    ['none, when all are there', BEFORE, []],
    ['none, when one is skipped now', ['skipped a.js: adds', ...BEFORE.slice(1)], []],
    ['none, when one was skipped before', BEFORE.slice(0, 3), []],
    ['none, when others are new', [...BEFORE, 'passed c.js: adds'], []],
    ['none, when a red one is gone from a file that is there', [BEFORE[0]!, BEFORE[1]!], []],
    ['a whole file, its red tests too', [BEFORE[0]!], ['b.js: adds', 'b.js: divides']],
    ['one that has another name now', ['passed a.js: sums', ...BEFORE.slice(1)], ['a.js: adds']],
  ])('that vanished: %s', (_what, now, vanished) => {
    expect(vanishedTests(of(...BEFORE)!, of(...now)!)).toEqual(vanished);
  });

  test('that vanished: one of two of the same name', () => {
    expect(vanishedTests(of('passed a', 'passed a')!, of('passed a')!)).toEqual(['a']);
  });

  test.each([
    ['a file that could not be loaded', 'failed tests.b', 'passed tests.b: adds'],
    ['a test with subtests that failed before them', 'failed money', 'passed money > adds'],
    ['a file reported as a test of its own', 'failed b.ts: b.ts', 'passed b.ts: adds'],
  ])('that did not vanish: %s, once it is mended', (_what, before, now) => {
    expect(vanishedTests(of('passed a', before)!, of('passed a', now)!)).toEqual([]);
    expect(vanishedTests(of('passed a', before)!, of('passed a')!)).toHaveLength(1);
  });

  test('that did not vanish: a failure of a whole suite, once it is mended', () => {
    const report = (failure: string) =>
      testReport(readJUnit(`<testsuite><testcase name="a"/>${failure}</testsuite>`, '/')!)!;
    expect(vanishedTests(report('<error/>'), report(''))).toEqual([]);
  });
});
