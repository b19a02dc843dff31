/** Runs a program of the sandbox's own to its end. */
import { execFile } from 'node:child_process';

interface Run {
  env: Record<string, string>;
  cwd: string;
  timeoutMs: number;
  /** What is said of one that takes longer. */
  late: string;
}

export function run(
  [program = '', ...args]: readonly string[],
  { env, cwd, timeoutMs, late }: Run,
): Promise<{ stdout: string; stderr: string; said: string; code: number }> {
  return new Promise((resolve, reject) => {
    const options = { env, cwd, timeout: timeoutMs, maxBuffer: 16 * 1024 ** 2 };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error?.killed) reject(new Error(late));
      else resolve({ stdout, stderr, said: `${stdout}${stderr}`.trim(), code: child.exitCode ?? 1 });
    });
  });
}
