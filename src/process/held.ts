/** How a child is born held: a shell that waits for the word `go` on its fourth file, then becomes the program. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { bootId, processAt } from './table.ts';

/** The runner dies first: the shell reads the end of the file instead, and exits; nothing ran. */
export const HELD = 'read -r go <&3 && [ "$go" = go ] && exec 3<&- && exec "$@"';

export interface Introduction {
  pid: number;
  startTime: string;
  bootId: string;
}

/** Who the child is, once it is there; what recovery needs to find it again. */
export async function introduced(child: ChildProcess): Promise<Introduction> {
  await once(child, 'spawn');
  const pid = child.pid as number;
  const startTime = processAt(pid)?.startTime;
  if (startTime === undefined) throw new Error(`the child ${pid} ended while it was held`);
  return { pid, startTime, bootId: bootId() };
}
