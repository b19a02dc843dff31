/** One command of a gate, and what has to be run before the first one. */
import { type CommandResult, type CommandRun, classifyExit } from '../core/gate.ts';
import type { Policy } from '../core/policy.ts';
import { failureSignature } from '../core/signature.ts';
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
}

export async function runIn(
  { ports, task, lease, signal, gate }: Circumstances,
  place: GatePlace,
  command: string,
  log: string,
): Promise<CommandRun> {
  const logPath = ports.places.log(task, `${log}.log`);
  const exit = await runCommand(ports, {
    task,
    lease,
    purpose: 'gate',
    command,
    cwd: place.path,
    home: place.home,
    logPath,
    timeoutMs: gate.timeoutMs,
    signal,
  });
  const { outcome, problem } = classifyExit(exit, exit.tail);
  return {
    outcome,
    problem,
    exitCode: exit.code,
    tail: exit.tail.slice(-8000),
    logPath,
    durationMs: exit.durationMs,
    ...(outcome === 'fail' ? { signature: failureSignature(exit.code, exit.tail, place.path) } : {}),
  };
}

/** Null when everything is ready; else what could not be run, which is never held against the work. */
export async function setUp(
  circumstances: Circumstances,
  place: GatePlace,
  log: string,
): Promise<CommandResult | null> {
  for (const [index, command] of circumstances.gate.setup.entries()) {
    const run = await runIn(circumstances, place, command, `${log}-setup-${index + 1}`);
    if (run.outcome === 'pass') continue;
    return { command, ...run, outcome: 'could_not_run', problem: `setup failed: ${run.problem}` };
  }
  return null;
}
