/**
 * Children as processes of this machine.
 *
 * The held child (held.ts) becomes the program when its record is durable, keeping its pid; one whose exit is to be
 * written down starts the program instead, and waits for it.
 *
 * A launch leaves nothing behind. When the child has ended, for whatever reason, so does everything it started: its
 * process group, and whoever left the group but still carries its mark. A process that left the group *and* cleared
 * its environment escapes; only a sandbox holds that one.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { BY_SHAPE, type Redact } from '../core/access/redact.ts';
import type { Child } from '../store/store.ts';
import { extinguish } from './extinguish.ts';
import { HELD, HELD_AND_RECORDED, type Introduction, introduced } from './held.ts';
import { withoutInherited } from './inherited.ts';
import { collectOutput, LOG_LIMIT_BYTES } from './output.ts';
import { LAUNCH, type LaunchRequest, type LaunchResult, MARK, type Processes } from './process.ts';
import { openStreams, type Streams } from './streams.ts';
import { bootId, given, processAt } from './table.ts';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** `redact`: what is not told of their output, in the log or in its tail. */
export function hostProcesses(redact: Redact = BY_SHAPE.text): Processes {
  return { launch: (request) => launch(request, redact), isAlive, stop, marked: async () => given(MARK) };
}

async function launch(request: LaunchRequest, redact: Redact): Promise<LaunchResult> {
  const begun = performance.now();
  const ended = (part: Partial<LaunchResult>): LaunchResult => ({
    code: null,
    signal: null,
    timedOut: false,
    cancelled: false,
    spawnError: null,
    tail: '',
    ...part,
    durationMs: Math.round(performance.now() - begun),
  });
  try {
    return ended(await live(request, redact));
  } catch (error) {
    return ended({ spawnError: (error as Error).message });
  }
}

async function live(request: LaunchRequest, redact: Redact): Promise<Partial<LaunchResult>> {
  if (request.signal.aborted) return { cancelled: true };
  mustBeDirectory(request.cwd);
  const streams = await openStreams(request.stdin);
  const heard = () => request.onOutput?.();
  const output = await collectOutput(streams.output, request.logPath, heard, redact).catch((error) => {
    streams.handOver();
    streams.output.destroy();
    throw error;
  });
  try {
    const mark = `${LAUNCH}=${randomUUID()}`;
    const held = await hold(request, streams, mark);
    const refused = await refusal(request, held);
    if (refused) {
      held.child.kill('SIGKILL');
      await held.exited;
      return { ...refused, tail: await output.finish() };
    }
    held.gate.write('go\n');
    const end = await firstEnd(held, request);
    held.gate.end('over\n');
    const { survivors } = await extinguish({ groups: [held.pid], mark, since: held.introduction.startTime });
    if (survivors.length > 0) await output.note(`still running after SIGKILL: ${survivors.join(', ')}`);
    const { code, signal } = await held.exited;
    return {
      code,
      signal,
      timedOut: end === 'timed_out',
      cancelled: end === 'cancelled',
      tail: await output.finish(),
    };
  } catch (error) {
    await output.finish();
    throw error;
  }
}

interface Held {
  child: ChildProcess;
  pid: number;
  introduction: Introduction;
  /** Writing `go` here lets the child run; closing it ends the child. */
  gate: Writable;
  exited: Promise<{ code: number | null; signal: string | null }>;
}

async function hold(request: LaunchRequest, streams: Streams, mark: string): Promise<Held> {
  try {
    const { exitPath, logPath, endsWithRunner = false } = request;
    const then = endsWithRunner ? 'ends' : 'goes_on';
    const how =
      exitPath === undefined
        ? ['-c', HELD, 'sh']
        : ['-c', HELD_AND_RECORDED, 'sh', exitPath, logPath, `${LOG_LIMIT_BYTES}`, then];
    const child = spawn('/bin/sh', [...how, ...request.argv], {
      cwd: request.cwd,
      env: { ...request.env, [LAUNCH]: mark.slice(LAUNCH.length + 1) },
      detached: true,
      stdio: withoutInherited([
        streams.stdinFd,
        streams.outputFd,
        streams.outputFd,
        'pipe',
        ...(exitPath === undefined ? [] : [streams.readerFd]),
      ]),
    });
    const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    const gate = child.stdio[3] as Writable;
    // A child that was killed while held has nobody to read the word.
    gate?.on('error', () => {});
    const introduction = await introduced(child);
    return { child, introduction, pid: introduction.pid, gate, exited };
  } finally {
    streams.handOver();
  }
}

/** Why the child may not run; null when its record is durable and nobody has cancelled. */
async function refusal(request: LaunchRequest, held: Held): Promise<Partial<LaunchResult> | null> {
  try {
    await request.onHeld(held.introduction);
  } catch (error) {
    return { spawnError: `not started, because it could not be recorded: ${(error as Error).message}` };
  }
  return request.signal.aborted ? { cancelled: true } : null;
}

async function firstEnd(held: Held, request: LaunchRequest): Promise<'exited' | 'timed_out' | 'cancelled'> {
  const { signal, timeoutMs } = request;
  let timer: NodeJS.Timeout | undefined;
  let onAbort = () => {};
  const interrupted = new Promise<'timed_out' | 'cancelled'>((resolve) => {
    if (timeoutMs !== null)
      timer = setTimeout(() => resolve('timed_out'), Math.min(timeoutMs, LONGEST_TIMER_MS));
    onAbort = () => resolve('cancelled');
    signal.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([held.exited.then(() => 'exited' as const), interrupted]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

function mustBeDirectory(cwd: string): void {
  if (!isDirectory(cwd)) throw new Error(`the working directory ${cwd} does not exist`);
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

async function isAlive(record: Child): Promise<boolean> {
  return record.bootId === bootId() && processAt(record.pid)?.startTime === record.startTime;
}

async function stop(task: string, records: readonly Child[]): Promise<number[]> {
  const groups: number[] = [];
  for (const record of records) if (await isAlive(record)) groups.push(record.pid);
  const { stopped, survivors } = await extinguish({ groups, mark: `${MARK}=${task}` });
  if (survivors.length > 0) {
    throw new Error(
      `task ${task}: processes ${survivors.join(', ')} could not be killed; end them and try again`,
    );
  }
  return stopped;
}
