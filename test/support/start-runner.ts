/** Starts child-runner.ts with plain `node`, and waits until its child is held. */
import { spawn } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TurnRequest } from '../../src/agent/agent.ts';
import type { DialogueRequest } from '../../src/process/dialogue.ts';
import type { LaunchRequest } from '../../src/process/process.ts';
import { compiled } from './compiled.ts';

/** For an agent that is installed apart: where its package is, and the environment its credential is in. */
export interface RunnerParts {
  packagePath?: string;
  operator?: Record<string, string>;
}

export type RunnerJob = { release: boolean } & RunnerParts &
  (
    | { launch: Omit<LaunchRequest, 'signal' | 'onHeld' | 'onOutput'> }
    | { talk: Omit<DialogueRequest, 'onHeld' | 'onOutput'> }
    | { agent: string; turn: TurnRequest }
  );

export interface StartedRunner {
  pid: number;
  child: { pid: number; startTime: string; bootId: string };
  /** SIGKILL: the runner gets to do nothing any more. */
  kill(): void;
}

const PROGRAM = 'src/agent/scripted-program.js';

export async function startRunner(job: RunnerJob): Promise<StartedRunner> {
  const { folder, script } = compiled('test/support/child-runner.ts');
  // Nobody imports it: the scripted agent starts it by its path.
  cpSync(fileURLToPath(new URL(`../../${PROGRAM}`, import.meta.url)), join(folder, PROGRAM));
  const runner = spawn(process.execPath, [script, JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  runner.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const { value } = await createInterface(runner.stdout)[Symbol.asyncIterator]().next();
  return { pid: runner.pid as number, child: JSON.parse(value), kill: () => runner.kill('SIGKILL') };
}
