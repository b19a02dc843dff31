/**
 * Where the program of every agent is started, one that runs to its end and one that is talked to: confined to what its
 * turn may touch, born held, gone with all it started before its confinement is. What it must not run it finds stand-ins for.
 *
 * Two kinds of children do not come through here. The operator's questions about a program (its `--version`, whether
 * it is there) are asked outside of any turn, and with nothing that a branch brought along. What the agent's program starts
 * itself, such as the server of the coder's tools, is inside its confinement.
 */
import { BY_SHAPE, type Redact } from '../core/access/redact.ts';
import type { Access, SandboxKind } from '../core/role.ts';
import { type Dialogue, type Exit, openDialogue } from '../process/dialogue.ts';
import type { LaunchResult, Processes } from '../process/process.ts';
import { runAtTerminal } from '../process/terminal.ts';
import type { Confined, Sandbox } from '../sandbox/sandbox.ts';
import type { TurnHooks, TurnRequest } from './agent.ts';
import { openStandIns } from './stand-ins.ts';

interface Command {
  argv: readonly string[];
  /** The whole environment: built, never inherited. */
  env: Record<string, string>;
  /** What else it has to read to be started. */
  reads?: readonly string[];
}

/** A container is the engine's: whoever takes over its task removes it. */
const endsWithRunner = (sandbox: SandboxKind): boolean => sandbox === 'bwrap' || sandbox === 'srt';

/** Its exit is written down where it says, from outside its confinement. */
interface RunCommand extends Command {
  exitPath: string;
}

/** All reject when the command can't be confined; nothing was started then. */
export interface Programs {
  /** To its end, with the prompt as its input. */
  run(command: RunCommand, turn: TurnRequest, hooks: TurnHooks): Promise<LaunchResult>;
  open(command: Command, turn: TurnRequest, hooks: TurnHooks): Promise<ConfinedDialogue>;
  /** To its end, with a person at the operator's terminal. */
  attach(command: Command, turn: TurnRequest, hooks: TurnHooks): Promise<Exit>;
}

export interface ConfinedDialogue extends Dialogue {
  /** Asked when it has ended: why it never ran; null when it did. */
  problem: Confined['problem'];
}

export function confinedPrograms(
  processes: Processes,
  sandbox: Sandbox,
  redact: Redact = BY_SHAPE.text,
  /** What programs are told of the operator's terminal. */
  terminal: Record<string, string> = {},
): Programs {
  const confine = async (command: Command, turn: TurnRequest, { onProgress }: TurnHooks) => {
    const standIns = openStandIns(turn, command.env, onProgress);
    const access: Access = {
      ...turn.access,
      readRoots: [...turn.access.readRoots, ...(command.reads ?? []), standIns.readRoot],
      writeRoots: [...turn.access.writeRoots, standIns.writeRoot],
    };
    try {
      const { argv } = command;
      const confined = await sandbox.confine({ argv, env: standIns.env, cwd: turn.cwd }, access);
      return { ...confined, dispose: () => confined.dispose().finally(standIns.close) };
    } catch (error) {
      standIns.close();
      throw error;
    }
  };
  const placeOf = ({ logPath }: TurnRequest, { onHeld, onProgress }: TurnHooks) => ({
    logPath,
    onHeld,
    onOutput: () => onProgress(),
  });
  return {
    async run(command, turn, hooks) {
      const { argv, env, cwd, problem, dispose } = await confine(command, turn, hooks);
      try {
        const ended = await processes.launch({
          argv,
          env,
          cwd,
          ...placeOf(turn, hooks),
          exitPath: command.exitPath,
          endsWithRunner: endsWithRunner(turn.access.sandbox),
          stdin: turn.prompt,
          timeoutMs: turn.policy.turnTimeoutMs,
          signal: hooks.signal,
        });
        const why = problem(ended);
        if (why !== null) throw new Error(`${why}: ${ended.tail.trim()}`);
        return ended;
      } finally {
        await dispose();
      }
    },

    async attach(command, turn, hooks) {
      // No program draws for somebody whom it takes for a machine.
      const { CI: _, ...env } = { ...command.env, ...terminal };
      const place = { ...turn, access: { ...turn.access, terminal: true } };
      const confined = await confine({ ...command, env }, place, hooks);
      try {
        const { onHeld, signal } = hooks;
        const { argv, cwd } = confined;
        const exit = await runAtTerminal({ argv, env: confined.env, cwd, onHeld, signal });
        const why = confined.problem(exit);
        if (why !== null) throw new Error(why);
        return exit;
      } finally {
        await confined.dispose();
      }
    },

    async open(command, turn, hooks) {
      const { argv, env, cwd, problem, dispose } = await confine(command, turn, hooks);
      try {
        const child = openDialogue({ argv, env, cwd, redact, ...placeOf(turn, hooks) });
        let ended: Promise<string> | null = null;
        return {
          ...child,
          problem,
          end() {
            ended ??= child.end().finally(dispose);
            return ended;
          },
        };
      } catch (error) {
        await dispose();
        throw error;
      }
    },
  };
}
