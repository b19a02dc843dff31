/**
 * Starts short programs from a small process.
 *
 * Forking costs in proportion to the memory of whoever forks, and the runner stands still meanwhile; a shell of one
 * megabyte forks in no time. The shell is never given code: a fixed loop reads each request as lines of data (where to
 * run, from which file to read, what to add to the environment, the program and its arguments) and runs exactly that.
 *
 * The answer ends with a word that was drawn for this request alone, so no output can pass for the end of itself.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Companion, createCompanion } from './companion.ts';
import { tempFolder } from './temp-folder.ts';

export interface ShortProgram {
  argv: readonly string[];
  cwd: string;
  /** Added to the environment the starter was made with. */
  env: Record<string, string>;
  input: string | Buffer | undefined;
}

export interface Ended {
  /** Null when a signal ended it. */
  code: number | null;
  stdout: Buffer;
  stderr: Buffer;
}

export interface Starter {
  /** False for what can't be said in lines: such a program has to be started in another way. */
  canStart(program: ShortProgram): boolean;
  /** A program or directory that is not there ends with 126 or 127, as in any shell. */
  run(program: ShortProgram): Promise<Ended>;
  close(): Promise<void>;
}

const LOOP = `while IFS= read -r word; do
  (
    set --
    IFS= read -r dir && IFS= read -r input || exit 126
    while IFS= read -r pair && [ -n "$pair" ]; do export "$pair"; done
    while IFS= read -r arg && [ "$arg" != "$word" ]; do set -- "$@" "$arg"; done
    cd -P -- "$dir" && unset PWD OLDPWD && exec "$@" <"$input"
    exit 126
  )
  code=$?
  printf '%s %s\\n' "$word" "$code"
  printf '%s %s\\n' "$word" "$code" >&2
done`;

const MOST_IDLE = 4;

export function createStarter(env: () => Record<string, string>): Starter {
  const idle: Companion[] = [];
  const open = new Set<Companion>();

  const borrow = (): Companion => {
    const free = idle.pop();
    if (free) return free;
    const made = createCompanion(() => ({ argv: ['/bin/sh', '-c', LOOP], env: env() }));
    open.add(made);
    return made;
  };
  const giveBack = (shell: Companion): void => {
    if (idle.length < MOST_IDLE) idle.push(shell);
    else {
      open.delete(shell);
      void shell.close();
    }
  };

  return {
    canStart: ({ argv, cwd, env: added }) =>
      [...argv, cwd, ...Object.values(added)].every((text) => !/[\n\0]/.test(text)) &&
      Object.keys(added).every((name) => /^[A-Z_a-z]\w*$/.test(name)),

    run: (program) =>
      withInput(program.input, async (inputPath) => {
        const shell = borrow();
        try {
          return await converse(shell, program, inputPath);
        } finally {
          giveBack(shell);
        }
      }),

    async close() {
      await Promise.all([...open].map((shell) => shell.close()));
    },
  };
}

function converse(shell: Companion, program: ShortProgram, inputPath: string): Promise<Ended> {
  const word = randomBytes(16).toString('hex');
  const added = Object.entries(program.env).map(([name, value]) => `${name}=${value}`);
  const lines = [word, program.cwd, inputPath, ...added, '', ...program.argv, word];
  const last = new RegExp(`${word} (\\d+)\\n$`);
  return shell.ask(`${lines.join('\n')}\n`, ({ out, err }) => {
    const ended = last.exec(out.tail);
    if (!ended || !last.test(err.tail)) return null;
    const without = (all: Buffer): Buffer => all.subarray(0, all.length - ended[0].length);
    return { code: exitCode(Number(ended[1])), stdout: without(out.all()), stderr: without(err.all()) };
  });
}

/** A shell tells of a signal by a number above those that programs choose themselves. */
const exitCode = (status: number): number | null => (status > 129 && status < 193 ? null : status);

async function withInput<T>(
  input: string | Buffer | undefined,
  use: (path: string) => Promise<T>,
): Promise<T> {
  if (input === undefined || input.length === 0) return use('/dev/null');
  const folder = tempFolder('input');
  try {
    const path = join(folder.path, 'input');
    writeFileSync(path, input, { mode: 0o600 });
    return await use(path);
  } finally {
    folder.remove(['input']);
  }
}
