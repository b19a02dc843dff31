/**
 * The built program's commands without a process of their own, for tests in which only what a command does and says is of
 * interest: a start costs more than most commands do. One at a time, since each has the operator's environment for itself.
 */
import { pathToFileURL } from 'node:url';
import { type Ended, PROGRAM } from './program.ts';

/** Those that only read, or write down what a person wants, and are then over. */
const COMMANDS = [
  'issue',
  'status',
  'why',
  'task',
  'findings',
  'cost',
  'config',
  'pause',
  'resume',
  'pull',
  'loop',
  'plan',
];

/** Whoever watches, asks or opens an editor has its own process. */
const STAYS = ['--follow', '--watch', 'edit'];

export const isShort = ([command = '', ...rest]: readonly string[]): boolean =>
  COMMANDS.includes(command) && !rest.some((one) => STAYS.includes(one));

const main: Promise<(argv: readonly string[]) => Promise<number>> = import(
  new URL('../dist/main.js', pathToFileURL(PROGRAM)).href
).then((program) => program.main);

let last: Promise<unknown> = Promise.resolve();

export function called(
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<Ended> {
  const mine = last.then(async (): Promise<Ended> => {
    const program = await main;
    const [environment, stdout, stderr] = [takeOver(env), listen('stdout'), listen('stderr')];
    try {
      const code = await program([process.execPath, PROGRAM, ...args, '-C', cwd]);
      return { code, signal: null, stdout: stdout.said(), stderr: stderr.said() };
    } finally {
      for (const { end } of [environment, stdout, stderr]) end();
    }
  });
  last = mine.catch(() => {});
  return mine;
}

function takeOver(env: Readonly<Record<string, string>>): { end(): void } {
  const before = { ...process.env };
  become(env);
  return { end: () => become(before) };
}

function become(env: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}

function listen(stream: 'stdout' | 'stderr'): { said(): string; end(): void } {
  const { write } = process[stream];
  let heard = '';
  process[stream].write = ((text: string, ...rest: unknown[]) => {
    heard += text;
    for (const written of rest) if (typeof written === 'function') written();
    return true;
  }) as typeof write;
  return {
    said: () => heard,
    end: () => {
      process[stream].write = write;
    },
  };
}
