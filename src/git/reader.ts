/**
 * Answers what a name stands for, and what a file says, from one `git cat-file` that stays open: a task asks some twenty
 * such questions, more than it needs gits for all else. It reads the repository afresh for every question.
 *
 * It is started by the first question, let go when nobody has asked for a while, and ends by itself when its input
 * closes. It keeps our process alive only while a question is open.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { GitFailed } from '../errors.ts';
import { couldNotStart, type Invocation, start } from './run.ts';

interface Reader {
  resolveAll(names: readonly string[]): Promise<(string | null)[]>;
  text(name: string, type?: 'blob' | 'commit'): Promise<string | null>;
  sizes(shas: readonly string[]): Promise<(number | null)[]>;
  close(): Promise<void>;
}

export const READER = ['cat-file', '--batch-command'] as const;

/** `invocation` is of READER. */
export function createReader(invocation: Invocation): Reader {
  let current: CatFile | null = null;

  const ask = async (command: Command, name: string): Promise<Found | null> => {
    // It goes into a line of its own.
    if (name === '' || /[\n\0]/.test(name)) return null;
    if (!current?.isOpen()) current = openCatFile(invocation);
    return current.ask(command, name);
  };
  const infos = (names: readonly string[]) => Promise.all(names.map((name) => ask('info', name)));

  return {
    resolveAll: async (names) => (await infos(names)).map((found) => found?.sha ?? null),
    sizes: async (shas) => (await infos(shas)).map((found) => found?.size ?? null),
    text: async (name, type = 'blob') => {
      const found = await ask('contents', name);
      return found?.type === type ? found.content.toString('utf8') : null;
    },
    close: async () => current?.close(),
  };
}

type Command = 'info' | 'contents';

interface Question {
  command: Command;
  answer(found: Found | null): void;
  fail(problem: Error): void;
}

interface Found {
  sha: string;
  type: string;
  size: number;
  /** Empty where only `info` was asked for. */
  content: Buffer;
}

interface CatFile {
  ask(command: Command, name: string): Promise<Found | null>;
  isOpen(): boolean;
  close(): Promise<void>;
}

const IDLE_MS = 5_000;
const COMPLAINT = 2000;

function openCatFile(invocation: Invocation): CatFile {
  const child = start(invocation);
  const asked: Question[] = [];
  /** What is not yet an answer, and how many bytes there must be to look again. */
  let pieces: Buffer[] = [];
  let [length, needed] = [0, 1];
  let complaint = '';
  let idle: NodeJS.Timeout | undefined;
  let isClosing = false;

  const fail = (problem: Error) => {
    child.stdin.destroy();
    for (const question of asked.splice(0)) question.fail(problem);
  };
  child.once('error', async (error) => fail(await couldNotStart(invocation, error)));
  child.once('close', (code) => fail(new GitFailed(invocation.args, code, complaint)));
  child.stderr.on('data', (piece) => {
    complaint = `${complaint}${piece}`.slice(-COMPLAINT);
  });
  child.stdout.on('data', (piece: Buffer) => {
    pieces.push(piece);
    length += piece.length;
    if (length < needed) return;
    let said = Buffer.concat(pieces);
    needed = 1;
    while (asked.length > 0) {
      const { found, until } = firstAnswer(said, asked[0]!.command);
      if (said.length < until) {
        needed = until;
        break;
      }
      said = said.subarray(until);
      asked.shift()!.answer(found);
    }
    pieces = [said];
    length = said.length;
    // Whoever closes it waits for its end.
    if (asked.length > 0 || isClosing) return;
    keepAwake(child, false);
    idle = setTimeout(() => child.stdin.end(), IDLE_MS).unref();
  });

  return {
    ask: (command, name) =>
      new Promise((answer, fail) => {
        clearTimeout(idle);
        keepAwake(child, true);
        asked.push({ command, answer, fail });
        // Questions that are asked together are written at once.
        child.stdin.cork();
        child.stdin.write(`${command} ${name}\n`);
        process.nextTick(() => child.stdin.uncork());
      }),
    isOpen: () => child.stdin.writable,
    async close() {
      isClosing = true;
      clearTimeout(idle);
      keepAwake(child, true);
      child.stdin.end();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    },
  };
}

const HEADER = /^([0-9a-f]{40,64}) (\w+) (\d+)$/;

/** What was found, and where the answer ends: complete when that much is there. A name that stands for nothing is echoed. */
function firstAnswer(said: Buffer, command: Command): { found: Found | null; until: number } {
  const line = said.indexOf('\n') + 1;
  if (line === 0) return { found: null, until: said.length + 1 };
  const [, sha, type, digits] = HEADER.exec(said.toString('latin1', 0, line - 1)) ?? [];
  if (!sha || !type) return { found: null, until: line };
  const size = Number(digits);
  // A line break follows the content.
  const until = command === 'info' ? line : line + size + 1;
  return { found: { sha, type, size, content: said.subarray(line, until - 1) }, until };
}

function keepAwake(child: ChildProcessWithoutNullStreams, awake: boolean): void {
  for (const handle of [child, child.stdin as Socket, child.stdout as Socket, child.stderr as Socket]) {
    if (awake) handle.ref();
    else handle.unref();
  }
}
