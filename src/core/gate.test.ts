import { describe, expect, test } from 'vitest';
import { type CommandResult, classifyExit, type Exit, type GateOutcome, overall } from './gate.ts';

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
});

describe('the whole gate', () => {
  const results = (...outcomes: GateOutcome[]): CommandResult[] =>
    outcomes.map((outcome) => ({
      command: 'x',
      outcome,
      exitCode: 0,
      problem: null,
      tail: '',
      logPath: null,
      durationMs: 0,
    }));

  test.each([
    [['pass', 'pass'], 'pass'],
    [['pass', 'fail', 'pass'], 'fail'],
    [['pass', 'could_not_run'], 'could_not_run'],
    [['fail', 'could_not_run', 'pass'], 'could_not_run'],
  ] as [GateOutcome[], GateOutcome][])(
    '%j is %s: one that could not run is never outvoted',
    (outcomes, whole) => {
      expect(overall(results(...outcomes))).toBe(whole);
    },
  );
});
