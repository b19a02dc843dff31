/** How channels start a program of the operator's: as a child of the loop, with little of the operator's environment. */
import type { LaunchRequest } from '../process/process.ts';
import type { Sent } from './notify.ts';

interface Run extends Pick<LaunchRequest, 'argv' | 'stdin' | 'signal' | 'onHeld'> {
  /** The id of the message, by which its processes are found after a crash. */
  message: string;
  /** Variables of the operator's that it gets, beside PATH and HOME. */
  pass: readonly string[];
}

/** Resolves when it has ended, by itself or because it took too long. */
export type RunProgram = (run: Run) => Promise<{
  code: number | null;
  timedOut: boolean;
  cancelled: boolean;
  spawnError: string | null;
  tail: string;
}>;

export function sentBy({
  code,
  timedOut,
  cancelled,
  spawnError,
  tail,
}: Awaited<ReturnType<RunProgram>>): Sent {
  if (code === 0) return { kind: 'sent' };
  const how = timedOut
    ? 'took too long'
    : cancelled
      ? 'was stopped'
      : code === null
        ? 'was killed'
        : `exit ${code}`;
  const last = tail.trim().split('\n').at(-1)?.trim() ?? '';
  const why = spawnError ?? `${how}${last === '' ? '' : `: ${last.slice(-300)}`}`;
  return { kind: 'failed', why, retryAt: null };
}
