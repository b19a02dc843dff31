/**
 * A program that stays open and is asked again and again, where starting it would cost a hundred times the answer.
 *
 * It is started when it is first needed and let go when nobody has asked for a while. It keeps our process alive only
 * while a question is open, and it ends by itself when its input closes, so that it never outlives us. Its own session
 * keeps a person's Ctrl-C, which is meant for us, from cutting it off in the middle of an answer.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

export interface CompanionProgram {
  argv: readonly [string, ...string[]];
  cwd?: string;
  env: Record<string, string>;
}

export interface Companion {
  /**
   * Writes the request and waits until `answer` makes something of what was said since. One question at a time, in the
   * order they were asked. When the program ends first, its last words come as CompanionEnded.
   */
  ask<T>(request: string, answer: (said: Said) => T | null): Promise<T>;
  /** Waits for it to end. It may be asked again afterwards: then it is started anew. */
  close(): Promise<void>;
}

export interface Said {
  out: Gathered;
  err: Gathered;
}

export interface Gathered {
  readonly size: number;
  /** The last bytes, one character each: cheap enough to be looked at after every piece. */
  readonly tail: string;
  all(): Buffer;
}

export class CompanionEnded extends Error {
  override name = 'CompanionEnded';
  readonly code: number | null;
  readonly stderr: string;
  constructor(program: string, code: number | null, stderr: string) {
    super(`${program} ended (${code ?? 'signal'}) before it had answered: ${stderr.trim().slice(0, 2000)}`);
    this.code = code;
    this.stderr = stderr;
  }
}

const IDLE_MS = 5_000;
const LAST_WORDS_MS = 500;
const TAIL_BYTES = 128;

interface Question {
  request: string;
  /** True when the answer is complete. */
  hear(said: Said): boolean;
  fail(problem: Error): void;
}

export function createCompanion(program: () => CompanionProgram): Companion {
  let child: ChildProcessWithoutNullStreams | null = null;
  let said = { out: gather(), err: gather() };
  let current: Question | null = null;
  let idle: NodeJS.Timeout | null = null;
  const queue: Question[] = [];
  /** Every one that has not ended, also those that were let go. */
  const living = new Map<ChildProcessWithoutNullStreams, Promise<void>>();

  return { ask, close };

  function ask<T>(request: string, answer: (said: Said) => T | null): Promise<T> {
    return new Promise((resolve, reject) => {
      const hear = (so: Said): boolean => {
        try {
          const found = answer(so);
          if (found === null) return false;
          resolve(found);
        } catch (problem) {
          reject(problem);
        }
        return true;
      };
      queue.push({ request, hear, fail: reject });
      if (!current) next();
    });
  }

  function next(): void {
    current = queue.shift() ?? null;
    if (!current) {
      if (child) keepAwake(child, false);
      idle = setTimeout(letGo, IDLE_MS).unref();
      return;
    }
    if (idle) clearTimeout(idle);
    child ??= start();
    said = { out: gather(), err: gather() };
    keepAwake(child, true);
    child.stdin.write(current.request);
  }

  function start(): ChildProcessWithoutNullStreams {
    const { argv, ...options } = program();
    const [file, ...args] = argv;
    const started = spawn(file, args, { ...options, stdio: 'pipe', detached: true });
    const listen = (stream: NodeJS.ReadableStream, which: 'out' | 'err') =>
      stream.on('data', (piece: Buffer) => {
        if (child !== started) return;
        said[which].add(piece);
        if (current?.hear(said)) next();
      });
    listen(started.stdout, 'out');
    listen(started.stderr, 'err');
    started.stdin.on('error', () => {});
    const gone = new Promise<Error>((resolve) => {
      const end = (code: number | null) =>
        resolve(new CompanionEnded(file, code, said.err.all().toString('utf8')));
      started.once('error', resolve);
      started.once('close', end);
      // Its last words are awaited, but not for ever: something it had started may keep its output open.
      started.once('exit', (code) => setTimeout(end, LAST_WORDS_MS, code).unref());
    });
    living.set(
      started,
      gone.then((problem) => ended(started, problem)),
    );
    return started;
  }

  function ended(which: ChildProcessWithoutNullStreams, problem: Error): void {
    living.delete(which);
    for (const stream of [which.stdin, which.stdout, which.stderr]) stream?.destroy();
    if (child !== which) return;
    child = null;
    const lost = current;
    current = null;
    lost?.fail(problem);
    next();
  }

  function letGo(): void {
    const last = child;
    child = null;
    last?.stdin.end();
  }

  async function close(): Promise<void> {
    if (idle) clearTimeout(idle);
    letGo();
    for (const last of living.keys()) keepAwake(last, true);
    await Promise.all(living.values());
  }
}

function gather(): Gathered & { add(piece: Buffer): void } {
  let pieces: Buffer[] = [];
  let size = 0;
  let tail = '';
  return {
    get size() {
      return size;
    },
    get tail() {
      return tail;
    },
    add(piece) {
      pieces.push(piece);
      size += piece.length;
      tail = (tail + piece.subarray(-TAIL_BYTES).toString('latin1')).slice(-TAIL_BYTES);
    },
    all() {
      if (pieces.length !== 1) pieces = [Buffer.concat(pieces)];
      return pieces[0]!;
    },
  };
}

function keepAwake(child: ChildProcessWithoutNullStreams, awake: boolean): void {
  for (const handle of [child, child.stdin as Socket, child.stdout as Socket, child.stderr as Socket]) {
    if (awake) handle.ref();
    else handle.unref();
  }
}
