/** Codex's own read-only sandbox, which a role that only reads works in: whether it can start here. */
import { execFile } from 'node:child_process';

const ADVICE = 'allow unprivileged user namespaces, or choose another agent for roles that only read';

export const blindText = (said: string): string =>
  `Codex's read-only sandbox can't start here, so it could read no file and was not asked (${lastLine(said)}): ${ADVICE}`;

const lastLine = (said: string): string => said.trim().split('\n').at(-1)?.slice(0, 300) || 'it said nothing';

const USAGE = 2;

/** What it runs to find out; a version that does not know how says so by its exit code. */
export const sandboxed = (codex: readonly string[], ...command: string[]): string[] => [
  ...codex,
  'sandbox',
  '--',
  ...command,
];
export const isBlind = (code: number | null): boolean => code !== 0 && code !== USAGE;

/** Outside of any turn, for the operator. Null when it can, or when this version does not tell. */
export function whyBlindHere(codex: readonly string[]): Promise<{ what: string; fix: string } | null> {
  const [program = '', ...args] = sandboxed(codex, 'true');
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 30_000 }, (error, _, stderr) => {
      const what = `its read-only sandbox can't start (${lastLine(stderr)}): a critic or specifier could read no file, and is not asked`;
      resolve(typeof error?.code === 'number' && isBlind(error.code) ? { what, fix: `${ADVICE}.` } : null);
    });
  });
}
