/**
 * Ends processes for good: asks, waits, kills, and looks again until nobody is left.
 *
 * Looking again is the point: between a look and a signal a process may fork, and its child carries the same mark.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type LiveProcess, liveProcesses, wasGiven } from './table.ts';

interface Lineage {
  /** Process groups that are ours; a session of that number counts too, so that a shell's job control hides nobody. */
  groups: readonly number[];
  /** Whoever has this entry in its environment is ours as well, wherever it went. */
  mark: string;
  /** When the first of them began; what is older can't be theirs, and its environment is not read. */
  since?: string;
}

interface Extinguished {
  stopped: number[];
  /** Still there after the last attempt: in the kernel's hands, or another user's. */
  survivors: number[];
}

const GRACE_MS = 2_000;
const GIVE_UP_MS = 30_000;

export async function extinguish(lineage: Lineage): Promise<Extinguished> {
  const begun = performance.now();
  const asked = new Map<number, string>();
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 100)) {
    const found = membersOf(lineage, asked);
    const survivors = found.map((live) => live.pid);
    const elapsedMs = performance.now() - begun;
    if (found.length === 0 || elapsedMs > GIVE_UP_MS) {
      return { stopped: [...asked.keys()].filter((pid) => !survivors.includes(pid)), survivors };
    }
    if (elapsedMs >= GRACE_MS) kill(found, lineage.groups);
    else for (const pid of survivors) if (!asked.has(pid)) send(pid, 'SIGTERM');
    for (const { pid, startTime } of found) asked.set(pid, startTime);
    await delay(pauseMs);
  }
}

/** Whoever was known is, also without its environment: it may be about to end, or have begun another program. */
function membersOf({ groups, mark, since }: Lineage, known: ReadonlyMap<number, string>): LiveProcess[] {
  const inGroup = (live: LiveProcess) =>
    groups.includes(live.group) || (live.session !== null && groups.includes(live.session));
  // Start times count up where environments can be read at all.
  const isOlder = (live: LiveProcess) => since !== undefined && Number(live.startTime) < Number(since);
  return liveProcesses().filter(
    (live) =>
      live.pid !== process.pid &&
      (inGroup(live) ||
        known.get(live.pid) === live.startTime ||
        (!isOlder(live) && wasGiven(live.pid, mark))),
  );
}

/** A group is killed as one, so that it can't outrun us by forking. */
function kill(found: LiveProcess[], groups: readonly number[]): void {
  for (const group of groups) if (found.some((live) => live.group === group)) send(-group, 'SIGKILL');
  for (const live of found) send(live.pid, 'SIGKILL');
}

/** Gone already, or another user's: the next look tells. */
function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {}
}
