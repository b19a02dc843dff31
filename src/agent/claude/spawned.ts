/** A child of ours as the SDK wants to see it. */
import type { Dialogue } from '../../process/dialogue.ts';
import type { SpawnedProcess } from './sdk.ts';

type ExitListener = (code: number | null, signal: NodeJS.Signals | null) => void;

export function asSpawned(child: Dialogue): SpawnedProcess {
  let exitCode: number | null = null;
  let killed = false;
  const listeners = new Set<ExitListener>();
  void child.exited.then(({ code, signal }) => {
    exitCode = code;
    for (const listener of listeners) listener(code, signal);
  });
  // An error at birth is told by `begun`, and the child counts as ended.
  const listen = (event: 'exit' | 'error', listener: ExitListener | ((error: Error) => void)): void => {
    if (event === 'exit') listeners.add(listener as ExitListener);
  };
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    get killed() {
      return killed;
    },
    get exitCode() {
      return exitCode;
    },
    kill(signal) {
      killed = true;
      child.send(signal);
      return true;
    },
    on: listen,
    once: listen,
    off: (_event: 'exit' | 'error', listener: unknown) => void listeners.delete(listener as ExitListener),
  };
}
