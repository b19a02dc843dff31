/** Starts child-runner.ts with plain `node`, and waits until its child is held. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TurnRequest, UsageReport } from '../../src/agent/agent.ts';
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
  /** What it wrote down of its turn's usage; to be asked when it is dead. */
  told(): Promise<UsageReport[]>;
}

/** Nobody imports them: they are started by their paths. */
const PROGRAMS = [
  'src/agent/scripted-program.js',
  'src/agent/opencode/record-program.js',
  'src/sandbox/door-program.js',
];

export async function startRunner(job: RunnerJob): Promise<StartedRunner> {
  const { folder, script } = compiled('test/support/child-runner.ts');
  for (const program of PROGRAMS)
    cpSync(fileURLToPath(new URL(`../../${program}`, import.meta.url)), join(folder, program));
  const runner = spawn(process.execPath, [script, JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  runner.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const told: UsageReport[] = [];
  const lines = createInterface(runner.stdout);
  const over = once(lines, 'close');
  const child = await new Promise<StartedRunner['child']>((resolve) => {
    lines.on('line', (line) => {
      const { usage, ...held } = JSON.parse(line);
      if (usage) told.push(usage);
      else resolve(held);
    });
  });
  return {
    pid: runner.pid as number,
    child,
    kill: () => runner.kill('SIGKILL'),
    told: () => over.then(() => told),
  };
}
