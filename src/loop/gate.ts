/**
 * Runs the gate: in the workspace for the coder's feedback, and on a throwaway tree of the exact candidate for the
 * merge. The commands come from the operator's configuration, never from the tree they judge.
 */
import type { Action } from '../core/action.ts';
import { type CommandResult, classifyExit, type Evidence, overall } from '../core/gate.ts';
import type { Task } from '../core/task.ts';
import type { Lease } from '../store/store.ts';
import { runCommand } from './command.ts';
import type { Ports } from './ports.ts';

type GateAction = Extract<Action, { kind: 'gate' }>;

export async function runGate(
  ports: Ports,
  task: Task,
  action: GateAction,
  lease: Lease,
  signal: AbortSignal,
): Promise<Evidence> {
  const { gate } = ports.settings.policy();
  const commands = gate.commands === 'none' ? [] : gate.commands;
  const place =
    action.scope === 'work'
      ? { path: task.workspace!, dispose: async () => {} }
      : await ports.workspaces.export(action.commit, `gate-${task.id}`);
  const results: CommandResult[] = [];
  try {
    for (const command of gate.setup) {
      const result = await one(command, `setup-${results.length + 1}`);
      if (result.outcome === 'pass') continue;
      results.push({ ...result, outcome: 'could_not_run', problem: `setup failed: ${result.problem}` });
      return evidence(results);
    }
    for (const command of commands) {
      if (signal.aborted) break;
      results.push(await one(command, `${results.length + 1}`));
    }
    return evidence(results);
  } finally {
    await place.dispose();
  }

  async function one(command: string, name: string): Promise<CommandResult> {
    const logPath = ports.places.log(task.id, `gate-${action.scope}-${action.tree.slice(0, 10)}-${name}.log`);
    const exit = await runCommand(ports, {
      task: task.id,
      lease,
      purpose: 'gate',
      command,
      cwd: place.path,
      logPath,
      timeoutMs: gate.timeoutMs,
      signal,
    });
    const { outcome, problem } = classifyExit(exit);
    return {
      command,
      outcome,
      problem,
      exitCode: exit.code,
      tail: exit.tail.slice(-8000),
      logPath,
      durationMs: exit.durationMs,
    };
  }

  function evidence(all: CommandResult[]): Evidence {
    return { tree: action.tree, outcome: overall(all), results: all, at: ports.clock.now() };
  }
}
