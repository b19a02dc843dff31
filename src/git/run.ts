/** Starts git with arguments as a list, feeds it, and collects what it says. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { GitFailed, UserError } from '../errors.ts';
import type { Starter } from '../process/starter.ts';
import type { GitResult } from './git.ts';

export interface Invocation {
  args: readonly string[];
  cwd: string;
  /** What every git of a repository is given, and what only this one is. */
  base: Record<string, string>;
  env: Record<string, string>;
  input: string | Buffer | undefined;
  allow: readonly number[];
}

/** Through the starter where it can: it was made with the same `base`. */
export async function run(invocation: Invocation, starter: Starter | null): Promise<GitResult> {
  const { args, cwd, env, input } = invocation;
  const program = { argv: ['git', ...args], cwd, env, input };
  if (!starter?.canStart(program)) return runDirectly(invocation);
  const { code, stdout, stderr } = await starter.run(program);
  if (code === 126 || code === 127) throw await couldNotStart(invocation, new Error(String(stderr)));
  return judged(invocation, code, stdout.toString('utf8'), stderr.toString('utf8'));
}

async function runDirectly(invocation: Invocation): Promise<GitResult> {
  const child = start(invocation);
  child.stdin.end(invocation.input ?? '');
  return outcome(invocation, child, collect(child.stdout));
}

/** Both must succeed: a truncated stream from the first must not pass because the second was content with it. */
export async function runPiped(from: Invocation, to: Invocation): Promise<GitResult> {
  const producer = start(from);
  const consumer = start(to);
  producer.stdout.pipe(consumer.stdin);
  producer.stdin.end(from.input ?? '');
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

function start({ args, cwd, base, env }: Invocation): ChildProcessWithoutNullStreams {
  const child = spawn('git', args, { cwd, env: { ...base, ...env }, stdio: 'pipe' });
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
  const [exit, output, complaint] = await Promise.allSettled([ended, stdout, collect(child.stderr)]);
  if (exit.status === 'rejected') throw await couldNotStart(invocation, exit.reason);
  if (output.status === 'rejected') throw output.reason;
  const stderr = complaint.status === 'fulfilled' ? complaint.value : '';
  return judged(invocation, exit.value, output.value, stderr);
}

function judged(
  { args, allow }: Invocation,
  exitCode: number | null,
  stdout: string,
  stderr: string,
): GitResult {
  if (exitCode === null || (exitCode !== 0 && !allow.includes(exitCode))) {
    throw new GitFailed(args, exitCode, stderr);
  }
  return { stdout, stderr, exitCode };
}

async function collect(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** A missing working directory and a missing program are the same ENOENT to the system, not to a person. */
async function couldNotStart(invocation: Invocation, error: unknown): Promise<Error> {
  const there = await stat(invocation.cwd).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!there) return new UserError(`${invocation.cwd} is not a directory.`, null, { cause: error });
  return new UserError(
    "git can't be started.",
    'Install git 2.38 or newer and make sure it is on the PATH.',
    { cause: error },
  );
}
