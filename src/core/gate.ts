/**
 * The gate's rules: three outcomes, what a red command is compared with, and what evidence is bound to.
 *
 * Evidence holds for one tree and one set of commands. A red command is run once more in the same tree, and when it
 * stays red, on the commit the work is measured against: whether it was red before is proved, not argued.
 */

import type { Contract } from './event.ts';
import type { Policy } from './policy.ts';
import { digestOfValue } from './text/digest.ts';

export type GateOutcome = 'pass' | 'fail' | 'could_not_run';

/** One run of one command. */
export interface CommandRun {
  outcome: GateOutcome;
  /** Exit code, or null when a signal, a timeout or a failure to start ended it. */
  exitCode: number | null;
  problem: string | null;
  tail: string;
  logPath: string | null;
  durationMs: number;
  /** What a red run looked like, without what differs from run to run; see signature.ts. */
  signature?: string;
  /** The tests that failed in a red run, by name; absent when no report told. */
  failing?: readonly string[];
}

/** The same command on the commit the work is measured against. */
export interface BaseRun extends CommandRun {
  sha: string;
  command: string;
  /** What it was run with and in: another setup or environment says nothing about this one. */
  setup: string;
  /** Every test that ran in a red run, packed; kept where the run is remembered, for the work to be compared with. */
  tests?: string;
}

export interface CommandResult extends CommandRun {
  command: string;
  /** The criterion of the contract that it verifies; absent for the operator's own commands. */
  criterion?: string;
  /** The task whose criterion it is, where several were tested together. */
  of?: string;
  /** Set when it was red and run again: the first of the two runs. */
  first?: CommandRun;
  base?: BaseRun;
  /** How many tests ran on the base commit and are not reported here, and some of them; absent when not both reported. */
  vanished?: { count: number; some: readonly string[] };
}

export interface Evidence {
  tree: string;
  outcome: GateOutcome;
  results: CommandResult[];
  at: number;
  /** Of the commands and what counts as a pass; absent in rows of older versions, which hold for nothing any more. */
  digest?: string;
  /** The same of others that were tested together with it, where their commands are not the same. */
  alsoFor?: string[];
  /** Of the operator's own commands, where what was judged may become trunk; see trial.ts. */
  trial?: string;
}

export interface GateCommand {
  command: string;
  criterion: string | null;
  of?: string;
}

type GatePolicy = Policy['gate'];

/** The operator's commands, then those by which the contract's criteria are verified. */
export const gateCommands = (gate: GatePolicy, contract: Contract): GateCommand[] => [
  ...ownCommands(gate),
  ...criteriaCommands(gate, contract),
];

/** The same for several tasks that are tested together: each criterion says whose it is. */
export const commandsTogether = (
  gate: GatePolicy,
  tasks: readonly { id: string; contract: Contract }[],
): GateCommand[] => [
  ...ownCommands(gate),
  ...tasks.flatMap(({ id, contract }) => criteriaCommands(gate, contract).map((one) => ({ ...one, of: id }))),
];

const ownCommands = ({ commands }: GatePolicy): GateCommand[] =>
  commands === 'none' ? [] : commands.map((command) => ({ command, criterion: null }));

const criteriaCommands = (gate: GatePolicy, { criteria }: Contract): GateCommand[] =>
  (gate.criteriaCommands === 'never' ? [] : (criteria ?? [])).flatMap(({ id, verify }) =>
    verify === null ? [] : [{ command: verify, criterion: id }],
  );

/** What evidence has to have been made with to count under this policy and contract. */
export function gateDigest(gate: GatePolicy, contract: Contract): string {
  const { setup, preexisting, env, reports, secrets } = gate;
  const used = secrets.length > 0 ? [secrets] : [];
  return digestOfValue([setup, gateCommands(gate, contract), preexisting, env, reports, ...used]);
}

export const setupDigest = ({ setup, env, reports }: GatePolicy): string =>
  digestOfValue([setup, env, reports]);

/** Does this evidence say anything about this tree under these rules? */
export const holdsFor = (evidence: Evidence | null, tree: string, digest: string): evidence is Evidence =>
  evidence !== null && evidence.tree === tree && evidence.digest === digest;

/** Whether it says anything about this tree under the rules of several tasks; the last is the one it was run for. */
export const proves = (
  evidence: Evidence | null,
  tree: string,
  digests: readonly string[],
): evidence is Evidence =>
  holdsFor(evidence, tree, digests.at(-1)!) &&
  digests.every((digest) => digest === evidence.digest || evidence.alsoFor?.includes(digest));

export interface Exit {
  code: number | null;
  signal: string | null;
  timedOut: boolean;
  /** The process could not be started at all. */
  spawnError: string | null;
}

/** 126 and 127 are the shell's words for "cannot execute" and "not found": the environment failed, not the work. */
export function classifyExit(exit: Exit, tail = ''): { outcome: GateOutcome; problem: string | null } {
  if (exit.spawnError) return { outcome: 'could_not_run', problem: `could not start: ${exit.spawnError}` };
  if (exit.timedOut) return { outcome: 'could_not_run', problem: 'timed out' };
  if (exit.signal) return { outcome: 'could_not_run', problem: `killed by ${exit.signal}` };
  if (exit.code === 127) return { outcome: 'could_not_run', problem: 'command not found (exit 127)' };
  if (exit.code === 126) return { outcome: 'could_not_run', problem: 'command not executable (exit 126)' };
  if (exit.code === null) return { outcome: 'could_not_run', problem: 'ended without an exit code' };
  if (exit.code === 0) return { outcome: 'pass', problem: null };
  const inMake = MAKE_COULD_NOT_RUN.exec(tail)?.[1];
  if (inMake) return { outcome: 'could_not_run', problem: `make could not run a command (Error ${inMake})` };
  return { outcome: 'fail', problem: `exit ${exit.code}` };
}

/** make ends with 2 whatever its command ended with, and says the rest in its last words. */
const MAKE_COULD_NOT_RUN = /^g?make(?:\[\d+\])?: \*\*\* .* Error (12[67])$/m;

/**
 * A criterion may well name a program that the work has to bring (`./bin/tool --version`): that it is not there yet is
 * the work's own red, not the environment's.
 */
export function asCriterion(run: CommandRun, command: string): CommandRun {
  const [program = ''] = command.trim().split(/\s/, 1);
  const isOfTheTree = program.includes('/') && !program.startsWith('/');
  const isMissing = run.exitCode === 126 || run.exitCode === 127;
  return isOfTheTree && isMissing && run.outcome === 'could_not_run' ? { ...run, outcome: 'fail' } : run;
}

/** Red on the base commit as well. */
export const wasRedBefore = (result: CommandResult): boolean =>
  result.outcome === 'fail' && result.base?.outcome === 'fail';

/**
 * Red on the base commit by the same failing tests, or more of them, each known by name from a report that has passing
 * ones, too. Without such a report of both runs never: a command whose tool could not start looks the same twice. Nor
 * when tests have vanished: those of a file that can't be loaded, or of a module that does not compile, fail in no report.
 */
export function isUnchanged(result: CommandResult): boolean {
  const { base, failing = [], vanished } = result;
  if (!base || !wasRedBefore(result) || result.exitCode !== base.exitCode) return false;
  if (vanished?.count !== 0) return false;
  return failing.length > 0 && failing.every((name) => base.failing?.includes(name));
}

/**
 * Looks as it does on the base commit: the same failing tests, or where no report names them the same exit code and the
 * same failing lines. Lines prove nothing, so they let nothing pass; a run that speaks of a missing program or module
 * does not even look the same.
 */
export function looksUnchanged(result: CommandResult): boolean {
  const { base, signature, failing } = result;
  if (failing && base?.failing) return isUnchanged(result);
  if (!base || !wasRedBefore(result) || signature === undefined) return false;
  return base.signature === signature && !BROKEN.test(result.tail);
}

/** Whether `allow_unchanged` would let this evidence pass. */
export const isAllowable = ({ outcome, results }: Evidence): boolean =>
  outcome === 'fail' && results.every((result) => result.outcome !== 'fail' || isUnchanged(result));

/** Nothing is red but what is red on the base commit too, in whatever way. */
export const isTrunksRed = ({ outcome, results }: Evidence): boolean =>
  outcome === 'fail' && results.every((result) => result.outcome !== 'fail' || wasRedBefore(result));

/** A red command is what the contract is about: its text or a criterion names it. */
export function isAskedFor({ results }: Evidence, { title, body, criteria }: Contract): boolean {
  const told = squeezed([title, body, ...criteria.map(({ text, verify }) => `${text} ${verify}`)].join('\n'));
  return results.some(({ outcome, command }) => outcome === 'fail' && told.includes(squeezed(command)));
}

const squeezed = (text: string): string => text.replace(/\s+/g, ' ').trim();

const BROKEN =
  /\b(?:command )?not found\b|No such file or directory|No module named|Cannot find (?:module|package)|permission denied/i;

/** Red at first and green when it was run again. */
export const isFlaky = (result: CommandResult): boolean =>
  result.outcome === 'pass' && result.first !== undefined;

/** One command that could not run makes the whole gate undecided; it is never outvoted by passes or fails. */
export function overall(
  results: readonly CommandResult[],
  preexisting: GatePolicy['preexisting'] = 'block',
): GateOutcome {
  if (results.some((result) => result.outcome === 'could_not_run')) return 'could_not_run';
  const blocks = (result: CommandResult): boolean =>
    result.outcome === 'fail' && !(preexisting === 'allow_unchanged' && isUnchanged(result));
  return results.some(blocks) ? 'fail' : 'pass';
}
