/** Starts git with arguments as a list, feeds it, and collects what it says. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { GitFailed, UserError } from '../errors.ts';
import type { GitResult } from './git.ts';

export interface Invocation {
  args: readonly string[];
  cwd: string;
  env: Record<string, string>;
  input?: string | Buffer | undefined;
  /** Exit codes besides 0 that are answers, not failures. */
  allow?: readonly number[] | undefined;
  timeoutMs?: number | undefined;
}

export async function run(invocation: Invocation): Promise<GitResult> {
  const child = start(invocation);
  child.stdin.end(invocation.input);
  return outcome(invocation, child, collect(child.stdout));
}

/** Both must succeed: a truncated stream from the first must not pass because the second was content with it. */
export async function runPiped(from: Invocation, to: Invocation): Promise<GitResult> {
  const producer = start(from);
  const consumer = start(to);
  producer.stdout.pipe(consumer.stdin);
  producer.stdin.end(from.input);
  const [produced, consumed] = await Promise.allSettled([
    outcome(from, producer, Promise.resolve('')),
    outcome(to, consumer, collect(consumer.stdout)),
  ]);
  if (produced.status === 'rejected' && !(consumed.status === 'rejected' && diedOfSignal(produced.reason))) {
    throw produced.reason;
  }
  if (consumed.status === 'rejected') throw consumed.reason;
  return consumed.value;
}

/** A producer killed by its closed pipe is a symptom; what the consumer said is the cause. */
function diedOfSignal(reason: unknown): boolean {
  return reason instanceof GitFailed && reason.exitCode === null;
}

/** In a session of its own: Ctrl-C in a terminal is meant for us, not for a git in the middle of a merge. */
export function start({ args, cwd, env }: Invocation): ChildProcessWithoutNullStreams {
  const child = spawn('git', args, { cwd, env, stdio: 'pipe', detached: true });
  // git may end without reading all of its input; its exit code is the answer then, not our broken pipe.
  child.stdin.on('error', () => {});
  return child;
}

async function outcome(
  invocation: Invocation,
  child: ChildProcessWithoutNullStreams,
  stdout: Promise<string>,
): Promise<GitResult> {
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code));
  });
  const timer =
    invocation.timeoutMs === undefined ? null : setTimeout(() => endGroup(child), invocation.timeoutMs);
  const [exit, output, complaint] = await Promise.allSettled([ended, stdout, collect(child.stderr)]);
  if (timer) clearTimeout(timer);
  if (exit.status === 'rejected') throw await couldNotStart(invocation, exit.reason);
  if (output.status === 'rejected') throw output.reason;
  const stderr = complaint.status === 'fulfilled' ? complaint.value : '';
  const exitCode = exit.value;
  if (exitCode === null || (exitCode !== 0 && !invocation.allow?.includes(exitCode))) {
    throw new GitFailed(invocation.args, exitCode, stderr);
  }
  return { stdout: output.value, stderr, exitCode };
}

/** It leads a group of its own, so what it started goes with it. */
function endGroup({ pid }: ChildProcessWithoutNullStreams): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself meanwhile.
  }
}

async function collect(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** A missing working directory and a missing program are the same ENOENT to the system, not to a person. */
export async function couldNotStart({ cwd }: Invocation, error: unknown): Promise<Error> {
  const there = await stat(cwd).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!there) return new UserError(`${cwd} is not a directory.`, null, { cause: error });
  return new UserError(
    "git can't be started.",
    'Install git 2.38 or newer and make sure it is on the PATH.',
    { cause: error },
  );
}
