/**
 * A child of ours as the SDK wants to see it: at once, while ours is still being confined. What is said meanwhile waits in a
 * pipe. The SDK keeps a line until it ends, so a child that never ends one is killed before the memory is full.
 */
import { PassThrough } from 'node:stream';
import type { Dialogue, Exit } from '../../process/dialogue.ts';
import type { SpawnedProcess } from './sdk.ts';

const LONGEST_LINE = 64 * 1024 * 1024;

type ExitListener = (code: number | null, signal: NodeJS.Signals | null) => void;

export function asSpawned(opening: Promise<Dialogue>): SpawnedProcess {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  let exitCode: number | null = null;
  let killed = false;
  const listeners = new Set<ExitListener>();
  void exitOf().then(({ code, signal }) => {
    exitCode = code;
    for (const listener of listeners) listener(code, signal);
  });
  // An error at birth is told by who opens it, and the child counts as ended.
  const listen = (event: 'exit' | 'error', listener: ExitListener | ((error: Error) => void)): void => {
    if (event === 'exit') listeners.add(listener as ExitListener);
  };
  return {
    stdin,
    stdout,
    get killed() {
      return killed;
    },
    get exitCode() {
      return exitCode;
    },
    kill(signal) {
      killed = true;
      void opening.then(
        (child) => child.send(signal),
        () => {},
      );
      return true;
    },
    on: listen,
    once: listen,
    off: (_event: 'exit' | 'error', listener: unknown) => void listeners.delete(listener as ExitListener),
  };

  async function exitOf(): Promise<Exit> {
    try {
      const child = await opening;
      stdin.pipe(child.stdin);
      child.stdout.pipe(stdout);
      let unended = 0;
      child.stdout.on('data', (chunk: Buffer) => {
        const end = chunk.lastIndexOf('\n');
        unended = end < 0 ? unended + chunk.length : chunk.length - end - 1;
        if (unended <= LONGEST_LINE) return;
        child.send('SIGKILL');
        child.stdout.unpipe(stdout).destroy();
        stdout.end();
      });
      return await child.exited;
    } catch {
      stdout.end();
      return { code: 1, signal: null };
    }
  }
}
