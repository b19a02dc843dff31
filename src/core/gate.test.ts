import { describe, expect, test } from 'vitest';
import { testPolicy } from '../../test/support/policy.ts';
import { contractOf } from './criteria.ts';
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
  isFlaky,
  isUnchanged,
  overall,
  wasRedBefore,
} from './gate.ts';

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
  const other = ran('fail', { signature: 's2' });
  const TABLE: [string, CommandResult, GateOutcome, GateOutcome][] = [
    // what, the result, under block, under allow_unchanged
    ['green there', result('fail', ran('pass')), 'fail', 'fail'],
    ['red there in the same way', result('fail', ran('fail')), 'fail', 'pass'],
    ['red there in another way', result('fail', other), 'fail', 'fail'],
    ['could not run there', result('fail', ran('could_not_run')), 'fail', 'fail'],
    ['not run there', result('fail'), 'fail', 'fail'],
    [
      'red in both without a signature',
      result('fail', ran('fail'), { signature: undefined as never }),
      'fail',
      'fail',
    ],
    ['could not run here, red there', result('could_not_run', ran('fail')), 'could_not_run', 'could_not_run'],
    [
      'red in both for want of a program',
      result('fail', ran('fail'), { tail: 'FAIL: jest: not found' }),
      'fail',
      'fail',
    ],
    [
      'red in both for want of a module',
      result('fail', ran('fail'), { tail: "Error: Cannot find module 'x'" }),
      'fail',
      'fail',
    ],
    [
      'red in both for want of a python module',
      result('fail', ran('fail'), { tail: 'No module named pytest' }),
      'fail',
      'fail',
    ],
    [
      'red in both for want of rights',
      result('fail', ran('fail'), { tail: './x: Permission denied' }),
      'fail',
      'fail',
    ],
  ];
  test.each(TABLE)('%s', (_what, one, block, allow) => {
    expect(overall([one])).toBe(block);
    expect(overall([one], 'allow_unchanged')).toBe(allow);
    expect(overall([one, result('pass')], 'allow_unchanged')).toBe(allow);
    expect(overall([one, result('fail')], 'allow_unchanged')).not.toBe('pass');
  });

  test('red before and red before in the same way are two things', () => {
    expect([wasRedBefore(result('fail', other)), isUnchanged(result('fail', other))]).toEqual([true, false]);
    expect(wasRedBefore(result('pass', other))).toBe(false);
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
    ['unless the operator refuses', { criteriaCommands: false }, [own]],
    [
      'unless the operator refuses, with `none` too',
      { commands: 'none' as const, criteriaCommands: false },
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
