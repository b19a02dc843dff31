/** How a child is born held: a shell that waits for the word `go` on its fourth file, then becomes the program. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { bootId, processAt } from './table.ts';

/** The runner dies first: the shell reads the end of the file instead, and exits; nothing ran. */
export const HELD = 'read -r go <&3 && [ "$go" = go ] && exec 3<&- && exec "$@"';

/**
 * The same for a child that is talked to. An agent that nobody hears any more may go on asking its provider for ever, so
 * somebody of its own group stays and listens: when the fourth file ends without a word, the runner is dead, and the
 * group is asked to end and then killed. Whoever left the group is found by its mark when a runner takes over.
 */
export const HELD_AND_HEARD = `read -r go <&3 && [ "$go" = go ] || exit
(read -r over || { kill -TERM $$; sleep 1; kill -KILL 0; }) <&3 3<&- >/dev/null 2>&1 &
exec 3<&-
exec "$@"`;

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
