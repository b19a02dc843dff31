import { describe, expect, test } from 'vitest';
import { testPolicy } from '../../test/support/policy.ts';
import {
  asCriterion,
  type CommandResult,
  type CommandRun,
  classifyExit,
  type Exit,
  type GateOutcome,
  gateCommands,
  gateDigest,
  holdsFor,
  isAllowable,
  isFlaky,
  isUnchanged,
  looksUnchanged,
  overall,
  wasRedBefore,
} from './gate.ts';
import { contractOf } from './issue/criteria.ts';

const exit = (change: Partial<Exit>): Exit => ({
  code: null,
  signal: null,
  timedOut: false,
  spawnError: null,
  ...change,
});

describe('how a command ended', () => {
  const TABLE: [string, Partial<Exit>, GateOutcome, string | null][] = [
    ['exit 0', { code: 0 }, 'pass', null],
    ['exit 1', { code: 1 }, 'fail', 'exit 1'],
    ['exit 125', { code: 125 }, 'fail', 'exit 125'],
    ['exit 126', { code: 126 }, 'could_not_run', 'command not executable (exit 126)'],
    ['exit 127', { code: 127 }, 'could_not_run', 'command not found (exit 127)'],
    ['exit 128', { code: 128 }, 'fail', 'exit 128'],
    ['a signal', { signal: 'SIGKILL' }, 'could_not_run', 'killed by SIGKILL'],
    ['a timeout, whatever it exited with', { timedOut: true, code: 0 }, 'could_not_run', 'timed out'],
    ['a timeout that was killed', { timedOut: true, signal: 'SIGKILL' }, 'could_not_run', 'timed out'],
    ['a program that is not there', { spawnError: 'ENOENT' }, 'could_not_run', 'could not start: ENOENT'],
    ['an end nobody saw', {}, 'could_not_run', 'ended without an exit code'],
  ];
  test.each(TABLE)('%s', (_what, change, outcome, problem) => {
    expect(classifyExit(exit(change))).toEqual({ outcome, problem });
  });

  test.each([
    ['make: *** [Makefile:2: test] Error 127', 'could_not_run'],
    ['sh: foo: not found\nmake[1]: *** [test] Error 127\nmake: *** [all] Error 2', 'could_not_run'],
    ['gmake: *** [Makefile:9: check] Error 126\n', 'could_not_run'],
    ['make: *** [Makefile:2: test] Error 1', 'fail'],
    ['expected "make: *** [x] Error 127" but got ""', 'fail'],
  ] as [string, GateOutcome][])('make swallows the exit code of its command: %j is %s', (tail, outcome) => {
    expect(classifyExit(exit({ code: 2 }), tail).outcome).toBe(outcome);
  });

  test('what make said does not matter when it passed', () => {
    expect(classifyExit(exit({ code: 0 }), 'make: *** [x] Error 127 (ignored)').outcome).toBe('pass');
  });
});

const ran = (outcome: GateOutcome, change: Partial<CommandRun> = {}): CommandRun => ({
  outcome,
  exitCode: outcome === 'pass' ? 0 : 1,
  problem: outcome === 'pass' ? null : 'exit 1',
  tail: 'FAIL a test',
  logPath: null,
  durationMs: 0,
  ...(outcome === 'fail' ? { signature: 's1' } : {}),
  ...change,
});
const result = (
  outcome: GateOutcome,
  base?: CommandRun,
  change: Partial<CommandResult> = {},
): CommandResult => ({
  command: 'x',
  ...ran(outcome),
  ...(base ? { base: { ...base, sha: 'b', command: 'x', setup: '' } } : {}),
  ...change,
});

describe('the whole gate', () => {
  test.each([
    [['pass', 'pass'], 'pass'],
    [['pass', 'fail', 'pass'], 'fail'],
    [['pass', 'could_not_run'], 'could_not_run'],
    [['fail', 'could_not_run', 'pass'], 'could_not_run'],
  ] as [GateOutcome[], GateOutcome][])(
    '%j is %s: one that could not run is never outvoted',
    (outcomes, whole) => {
      for (const policy of ['block', 'allow_unchanged'] as const)
        expect(
          overall(
            outcomes.map((outcome) => result(outcome)),
            policy,
          ),
        ).toBe(whole);
    },
  );
});

describe('a red command, compared with the base commit', () => {
  const red = (...failing: string[]) => ran('fail', { failing });
  const NONE = { count: 0, some: [] };
  const now = (base: CommandRun | undefined, ...failing: string[]) =>
    result('fail', base, { failing, vanished: NONE });
  const TABLE: [string, CommandResult, GateOutcome][] = [
    // what, the result, under allow_unchanged; under block none passes
    ['green there', now(ran('pass'), 'a'), 'fail'],
    ['the same failing tests', now(red('a', 'b'), 'b', 'a'), 'pass'],
    ['fewer of them', now(red('a', 'b'), 'a'), 'pass'],
    ['one more', now(red('a'), 'a', 'b'), 'fail'],
    ['another one instead', now(red('a'), 'b'), 'fail'],
    [
      'the same, but tests that ran there have vanished',
      { ...now(red('a'), 'a'), vanished: { count: 1, some: ['b'] } },
      'fail',
    ],
    [
      'the same, by a row that does not know of vanished tests',
      result('fail', red('a'), { failing: ['a'] }),
      'fail',
    ],
    ['the same, with another exit code', { ...now(red('a'), 'a'), exitCode: 2 }, 'fail'],
    ['a report that names no failure', now(red('a')), 'fail'],
    ['a report only here', now(ran('fail'), 'a'), 'fail'],
    ['a report only there', result('fail', red('a')), 'fail'],
    ['no report, and the same failing lines', result('fail', ran('fail')), 'fail'],
    ['could not run there', now(ran('could_not_run', { failing: ['a'] }), 'a'), 'fail'],
    ['not run there', now(undefined, 'a'), 'fail'],
    ['could not run here, red there', result('could_not_run', red('a'), { failing: ['a'] }), 'could_not_run'],
  ];
  test.each(TABLE)('%s', (_what, one, allow) => {
    expect(overall([one])).toBe(one.outcome);
    expect(overall([one], 'allow_unchanged')).toBe(allow);
    expect(overall([one, result('pass')], 'allow_unchanged')).toBe(allow);
    expect(overall([one, result('fail')], 'allow_unchanged')).not.toBe('pass');
  });

  test('red before and red before by the same tests are two things', () => {
    const one = now(red('a'), 'b');
    expect([wasRedBefore(one), isUnchanged(one)]).toEqual([true, false]);
    expect(wasRedBefore(result('pass', red('a')))).toBe(false);
  });

  test('only what `allow_unchanged` would let pass is allowable', () => {
    const of = (...results: CommandResult[]) =>
      isAllowable({ tree: 't', at: 0, outcome: overall(results), results });
    expect(of(result('pass'), now(red('a'), 'a'))).toBe(true);
    expect(of(now(red('a'), 'a'), result('fail', ran('fail')))).toBe(false);
    expect(of(result('pass'))).toBe(false);
  });
});

describe('whether a red looks as it does on the base commit, which proves nothing', () => {
  test.each([
    ['the same', {}, true],
    ['other failing lines', { signature: 's2' }, false],
    ['for want of a program', { tail: 'FAIL: jest: not found' }, false],
    ['for want of a module', { tail: "Error: Cannot find module 'x'" }, false],
    ['for want of a python module', { tail: 'No module named pytest' }, false],
    ['for want of rights', { tail: './x: Permission denied' }, false],
  ] as [string, Partial<CommandResult>, boolean][])('%s', (_what, change, looks) => {
    const one = result('fail', ran('fail'), change);
    expect(looksUnchanged(one)).toBe(looks);
  });

  test('as told by a report, where there is one', () => {
    const base = ran('fail', { signature: 's2', failing: ['a'] });
    const one = result('fail', base, { failing: ['a'], vanished: { count: 0, some: [] } });
    expect(looksUnchanged(one)).toBe(true);
    const other = result('fail', ran('fail', { failing: ['a'] }), { failing: ['b'] });
    expect(looksUnchanged(other), 'although its lines are the same').toBe(false);
  });
});

test('flaky is red at first and green when run again', () => {
  expect(isFlaky(result('pass', undefined, { first: ran('fail') }))).toBe(true);
  expect(isFlaky(result('fail', undefined, { first: ran('fail') }))).toBe(false);
  expect(isFlaky(result('pass'))).toBe(false);
});

describe('evidence', () => {
  const { gate } = testPolicy();
  const contract = contractOf({ title: 't', body: 'b', textHash: 'h' });
  const digest = gateDigest(gate, contract);

  test.each([
    ['another command', { commands: ['npm run lint'] }],
    ['one command more', { commands: ['npm test', 'npm run lint'] }],
    ['none', { commands: 'none' as const }],
    ['another setup', { setup: ['npm ci'] }],
    ['another rule for what was red before', { preexisting: 'allow_unchanged' as const }],
    ['another environment', { env: { ...gate.env, set: { A: '1' } } }],
    ['other reports', { reports: ['reports/*.xml'] }],
  ])('counts no more under %s', (_what, change) => {
    expect(gateDigest({ ...gate, ...change }, contract)).not.toBe(digest);
  });

  test('still counts under another timeout', () => {
    expect(gateDigest({ ...gate, timeoutMs: 1 }, contract)).toBe(digest);
  });

  test('is about one tree and one set of commands', () => {
    const evidence = { tree: 't', outcome: 'pass' as const, results: [], at: 0, digest };
    expect(holdsFor(evidence, 't', digest)).toBe(true);
    expect(holdsFor(evidence, 'u', digest)).toBe(false);
    expect(holdsFor(evidence, 't', 'other')).toBe(false);
    expect(holdsFor({ tree: 't', outcome: 'pass', results: [], at: 0 }, 't', digest)).toBe(false);
    expect(holdsFor(null, 't', digest)).toBe(false);
  });
});

describe('criteria that name a command', () => {
  const { gate } = testPolicy();
  const body = '## Acceptance\n\n- [ ] It revokes. verify: npm test -- revoke\n- [ ] It is nice.\n';
  const contract = contractOf({ title: 't', body, textHash: 'h' });
  const verify = { command: 'npm test -- revoke', criterion: 'c1' };
  const own = { command: 'npm test', criterion: null };

  test.each([
    ['after the configured ones', {}, [own, verify]],
    ['with `gate: none` too', { commands: 'none' as const }, [verify]],
    ['unless the operator refuses', { criteriaCommands: 'never' as const }, [own]],
    [
      'unless the operator refuses, with `none` too',
      { commands: 'none' as const, criteriaCommands: 'never' as const },
      [],
    ],
  ])('are run %s', (_what, change, commands) => {
    expect(gateCommands({ ...gate, ...change }, contract)).toEqual(commands);
  });

  test('a row of an older version has none', () => {
    const { criteria: _, ...old } = contract;
    expect(gateCommands(gate, old as never)).toEqual([own]);
  });

  test('evidence without them counts no more once the contract has them', () => {
    const before = contractOf({ title: 't', body: 'b', textHash: 'h' });
    expect(gateDigest(gate, contract)).not.toBe(gateDigest(gate, before));
  });

  test.each([
    ['./bin/tool --version', 127, 'fail'],
    ['scripts/check.sh', 126, 'fail'],
    ['scripts/check.sh', 1, 'fail'],
    ['pytset -k revoke', 127, 'could_not_run'],
    ['/opt/tool', 127, 'could_not_run'],
  ] as [string, number, GateOutcome][])(
    '%s ending with %i is %s: what the work has to bring may be missing',
    (command, code, outcome) => {
      const run = ran(classifyExit(exit({ code })).outcome, { exitCode: code });
      expect(asCriterion(run, command).outcome).toBe(outcome);
    },
  );

  test('a timeout is never the fault of the work', () => {
    expect(asCriterion(ran('could_not_run', { exitCode: null }), './bin/tool').outcome).toBe('could_not_run');
  });
});
