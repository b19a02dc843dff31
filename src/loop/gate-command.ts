/** One command of a gate, and what has to be run before the first one. */

import { redactValue } from '../core/access/redact.ts';
import { failureSignature } from '../core/change/signature.ts';
import type { TestReport } from '../core/change/test-report.ts';
import { type CommandResult, type CommandRun, classifyExit } from '../core/gate.ts';
import type { Policy } from '../core/policy.ts';
import type { Lease } from '../store/store.ts';
import { runCommand } from './command.ts';
import type { Ports } from './ports.ts';

/** Where a gate runs. */
export interface GatePlace {
  path: string;
  home: string;
}

export interface Circumstances {
  ports: Ports;
  task: string;
  lease: Lease;
  signal: AbortSignal;
  gate: Policy['gate'];
  /** Whose logs it goes to; the task's own unless another is named. */
  logs?: string;
}

/** A run, and what a red one reports of its tests: too much to be kept with every run. */
interface Ended {
  run: CommandRun;
  report: TestReport | null;
}

export async function runIn(
  { ports, task, lease, signal, gate, logs = task }: Circumstances,
  place: GatePlace,
  command: string,
  log: string,
): Promise<Ended> {
  const logPath = ports.places.log(logs, `${log}.log`);
  const readReport = await ports.watchTestReports({ tree: place.path, logPath, patterns: gate.reports });
  const exit = await runCommand(ports, {
    task,
    lease,
    purpose: 'gate',
    command,
    cwd: place.path,
    home: place.home,
    child: gate.env,
    network: gate.network,
    secrets: gate.secrets,
    logPath,
    timeoutMs: gate.timeoutMs,
    signal,
  });
  const { outcome, problem: said } = classifyExit(exit, exit.tail);
  const problem = outcome === 'pass' ? said : refusedText(said, exit.refused);
  // As the store keeps what it is compared with.
  const report = outcome === 'fail' ? redactValue(await readReport(), ports.redact) : null;
  const run: CommandRun = {
    outcome,
    problem,
    exitCode: exit.code,
    tail: exit.tail.slice(-8000),
    logPath,
    durationMs: exit.durationMs,
    ...(outcome === 'fail' ? { signature: failureSignature(exit.code, exit.tail, place.path) } : {}),
    ...(report && { failing: report.failing }),
  };
  return { run, report };
}

/** What it was not let go to may be all that is wrong with it. */
const refusedText = (problem: string | null, hosts: readonly string[]): string | null =>
  hosts.length === 0
    ? problem
    : `${problem}; it needs ${hosts.slice(0, 5).join(', ')}: add ${hosts.length === 1 ? 'it' : 'them'} to gate.network in WORKFLOW.md`;

/** Null when everything is ready; else what could not be run, which is never held against the work. */
export async function setUp(
  circumstances: Circumstances,
  place: GatePlace,
  log: string,
): Promise<CommandResult | null> {
  for (const [index, command] of circumstances.gate.setup.entries()) {
    const { run } = await runIn(circumstances, place, command, `${log}-setup-${index + 1}`);
    if (run.outcome === 'pass') continue;
    return { command, ...run, outcome: 'could_not_run', problem: `setup failed: ${run.problem}` };
  }
  return null;
}
