/** The built program as a child process, as a user starts it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const PROGRAM = fileURLToPath(new URL('../../../bin/forge-loop.js', import.meta.url));

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Program {
  readonly pid: number;
  send(signal: NodeJS.Signals): void;
  /** SIGKILL, and gone when the promise resolves. */
  kill(): Promise<void>;
  /** Nobody listens to it any more. */
  leave(): void;
  /** What it has said so far. */
  said(): string;
  readonly ended: Promise<Ended>;
}

export function startProgram(
  args: readonly string[],
  options: { cwd: string; env: Record<string, string>; input?: string; program?: string },
): Program {
  const child: ChildProcess = spawn(process.execPath, [options.program ?? PROGRAM, ...args], {
    cwd: options.cwd,
    env: options.env,
    stdio: 'pipe',
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin?.on('error', () => {});
  child.stdin?.end(options.input ?? '');
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return {
    pid: child.pid as number,
    send: (signal) => void child.kill(signal),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    leave() {
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
    said: () => stdout + stderr,
    ended,
  };
}
