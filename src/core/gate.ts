/** The gate's rules: three outcomes, and evidence bound to the tree it ran on. */

export type GateOutcome = 'pass' | 'fail' | 'could_not_run';

export interface CommandResult {
  command: string;
  outcome: GateOutcome;
  /** Exit code, or null when a signal, a timeout or a failure to start ended it. */
  exitCode: number | null;
  problem: string | null;
  tail: string;
  logPath: string | null;
  durationMs: number;
}

export interface Evidence {
  tree: string;
  outcome: GateOutcome;
  results: CommandResult[];
  at: number;
}

export interface Exit {
  code: number | null;
  signal: string | null;
  timedOut: boolean;
  /** The process could not be started at all. */
  spawnError: string | null;
}

/** 126 and 127 are the shell's words for "cannot execute" and "not found": the environment failed, not the work. */
export function classifyExit(exit: Exit): { outcome: GateOutcome; problem: string | null } {
  if (exit.spawnError) return { outcome: 'could_not_run', problem: `could not start: ${exit.spawnError}` };
  if (exit.timedOut) return { outcome: 'could_not_run', problem: 'timed out' };
  if (exit.signal) return { outcome: 'could_not_run', problem: `killed by ${exit.signal}` };
  if (exit.code === 127) return { outcome: 'could_not_run', problem: 'command not found (exit 127)' };
  if (exit.code === 126) return { outcome: 'could_not_run', problem: 'command not executable (exit 126)' };
  if (exit.code === null) return { outcome: 'could_not_run', problem: 'ended without an exit code' };
  return exit.code === 0
    ? { outcome: 'pass', problem: null }
    : { outcome: 'fail', problem: `exit ${exit.code}` };
}

/** One command that could not run makes the whole gate undecided; it is never outvoted by passes or fails. */
export function overall(results: readonly CommandResult[]): GateOutcome {
  if (results.some((result) => result.outcome === 'could_not_run')) return 'could_not_run';
  return results.some((result) => result.outcome === 'fail') ? 'fail' : 'pass';
}
