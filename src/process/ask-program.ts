/** A short question to a program of the operator's, in their own environment: what it said, and how it ended. */
import { execFile } from 'node:child_process';

interface Said {
  /** Null when it could not be started, or took too long. */
  code: number | null;
  output: string;
}

const TIMEOUT_MS = 30_000;

export const askProgram = (argv: readonly string[], cwd: string): Promise<Said> =>
  new Promise((resolve) => {
    const [program = '', ...args] = argv;
    const child = execFile(program, args, { cwd, timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null;
      resolve({ code, output: `${stdout}${stderr}`.trim() || (error?.message ?? '') });
    });
    child.stdin?.end();
  });
