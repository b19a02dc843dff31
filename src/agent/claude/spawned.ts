/**
 * A child of ours as the SDK wants to see it: at once, while ours is still being confined. What is said meanwhile waits in a
 * pipe.
 */
import { PassThrough } from 'node:stream';
import type { Dialogue, Exit } from '../../process/dialogue.ts';
import type { SpawnedProcess } from './sdk.ts';

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
      return await child.exited;
    } catch {
      stdout.end();
      return { code: 1, signal: null };
    }
  }
}
