/**
 * A child that a person works with at this terminal.
 *
 * It gets a terminal of its own, and what is typed and shown goes back and forth between the two (`script`, which every Unix
 * has). So it never has the operator's: it can neither type into their shell nor read what they type when it is over, its size
 * follows theirs, and Ctrl-C is its own. Like every child it is born held, runs only when its record is durable, and leaves nothing
 * behind; whoever started it dies, and so does it.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import type { Redact } from '../core/access/redact.ts';
import { visible } from '../core/words/visible.ts';
import type { Exit } from './dialogue.ts';
import { extinguish } from './extinguish.ts';
import { HELD_AT_TERMINAL, type Introduction, introduced } from './held.ts';
import { withoutInherited } from './inherited.ts';
import { LAUNCH } from './process.ts';

interface TerminalRequest {
  argv: readonly string[];
  cwd: string;
  /** The whole environment: built, never inherited. */
  env: Record<string, string>;
  /** Committed before the child is let go; when it rejects, the child never runs. */
  onHeld(child: Introduction): Promise<void>;
  signal: AbortSignal;
}

const GOING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Whoever types here and sees what is shown; null where nobody does. */
export function atTerminal(
  redact: Redact,
): { note(text: string): void; gone: AbortSignal; close(): void } | null {
  if (!isatty(0) || !isatty(1)) return null;
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  for (const signal of GOING) process.on(signal, leave);
  // A terminal that was closed takes no more words.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', leave);
  return {
    note: (text) => void process.stderr.write(`${visible(redact(text))}\n`),
    gone: gone.signal,
    close() {
      for (const signal of GOING) process.off(signal, leave);
    },
  };
}

/** Resolves when the child and all it started are gone, and the terminal is as it was. Rejects when it was not let go. */
export async function runAtTerminal(request: TerminalRequest): Promise<Exit> {
  const launch = randomUUID();
  const before = settings();
  const { SHELL: _, ...env } = request.env;
  const child = spawn('/bin/sh', ['-c', HELD_AT_TERMINAL, 'sh', ...relayed(request)], {
    cwd: request.cwd,
    env: { ...env, [LAUNCH]: launch },
    detached: true,
    stdio: withoutInherited(['inherit', 'inherit', 'inherit', 'pipe']),
  });
  const gate = child.stdio[3] as Writable;
  gate?.on('error', () => {});
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
  const send = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // It is gone already.
    }
  };
  const cut = (): void => send('SIGTERM');
  const resized = (): void => send('SIGWINCH');
  try {
    const held = await introduced(child);
    try {
      await request.onHeld(held);
    } catch (error) {
      throw new Error(`not started, because it could not be recorded: ${(error as Error).message}`);
    }
    request.signal.addEventListener('abort', cut);
    process.on('SIGWINCH', resized);
    if (!request.signal.aborted) gate.write('go\n');
    else child.kill('SIGKILL');
    const exit = await exited;
    gate.end('over\n');
    await extinguish({ groups: [held.pid], mark: `${LAUNCH}=${launch}`, since: held.startTime });
    return exit;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    process.off('SIGWINCH', resized);
    request.signal.removeEventListener('abort', cut);
    restore(before);
  }
}

/** With its own shell between, which is the same everywhere; the program has the operator's choice of one back. */
function relayed({ argv, env }: TerminalRequest): string[] {
  const said = env.SHELL === undefined ? argv : ['env', `SHELL=${env.SHELL}`, ...argv];
  const line = `exec ${said.map(quoted).join(' ')}`;
  if (process.platform === 'linux') return ['script', '-q', '-e', '-c', line, '/dev/null'];
  return ['script', '-q', '/dev/null', '/bin/sh', '-c', line];
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

function settings(): string | null {
  const { status, stdout } = spawnSync('stty', ['-g'], { stdio: ['inherit', 'pipe', 'ignore'] });
  return status === 0 ? stdout.toString().trim() : null;
}

/** Also what a program that was killed did not get to take back: its own screen, the mouse, a hidden cursor. */
function restore(before: string | null): void {
  if (before !== null) spawnSync('stty', [before], { stdio: ['inherit', 'ignore', 'ignore'] });
  process.stdout.write(
    '\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[<u\x1b[0m',
  );
}
