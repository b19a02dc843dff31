/**
 * Answers "what object does this name stand for?" from one git that stays open: starting git costs a hundred times
 * the answer. It reads refs afresh each time, so it sees what any other process has moved.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Invocation } from './run.ts';

type Answer = { resolve(sha: string | null): void; reject(problem: Error): void };

export function createResolver(invocation: () => Invocation): (name: string) => Promise<string | null> {
  let child: ChildProcessWithoutNullStreams | null = null;
  let waiting: Answer[] = [];
  let unread = '';

  return (name) =>
    new Promise((resolve, reject) => {
      if (/[\n\0]/.test(name)) {
        resolve(null);
        return;
      }
      child ??= start();
      waiting.push({ resolve, reject });
      if (waiting.length === 1) keepAwake(child, true);
      child.stdin.write(`${name}\n`);
    });

  function start(): ChildProcessWithoutNullStreams {
    const { args, cwd, env } = invocation();
    const started = spawn('git', args, { cwd, env, stdio: 'pipe' });
    started.stdout.setEncoding('utf8');
    started.stdout.on('data', (text: string) => {
      const lines = (unread + text).split('\n');
      unread = lines.pop() ?? '';
      for (const line of lines) waiting.shift()?.resolve(/^[0-9a-f]{40,64}$/.test(line) ? line : null);
      if (waiting.length === 0) keepAwake(started, false);
    });
    started.stdin.on('error', () => {});
    started.once('error', (problem) => ended(started, problem));
    started.once('close', () => ended(started, new Error('the git that resolves names ended')));
    keepAwake(started, false);
    return started;
  }

  function ended(which: ChildProcessWithoutNullStreams, problem: Error): void {
    if (child !== which) return;
    child = null;
    unread = '';
    const lost = waiting;
    waiting = [];
    for (const answer of lost) answer.reject(problem);
  }
}

/** It must not keep our process alive when nothing is asked; it ends by itself when its input closes. */
function keepAwake(child: ChildProcessWithoutNullStreams, awake: boolean): void {
  for (const handle of [child, child.stdin as Socket, child.stdout as Socket, child.stderr as Socket]) {
    if (awake) handle.ref();
    else handle.unref();
  }
}
