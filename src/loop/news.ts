/**
 * Whether anything outside the loop may have changed for a task that only waits for its turn. Hundreds may wait: a look at
 * each of them for every merge would cost more than the merges.
 */
import type { Task } from '../core/task.ts';
import type { Ports } from './ports.ts';

interface News {
  /** Before a round of questions. Trunk at the candidate of one that is `live` is our own doing. */
  begin(live: readonly Task[]): Promise<void>;
  /** Since this was last asked about it. */
  isThere(task: Task): Promise<boolean>;
  /** Trunk moved by a merge of ours, which is no news to anybody. */
  landed(sha: string): void;
  forget(task: string): void;
}

export function createNews({ forge, clock, settings }: Ports): News {
  const seen = new Map<string, { what: readonly unknown[]; at: number }>();
  let trunk: string | null = null;
  let moves = 0;

  return {
    async begin(live) {
      if (!forge.seen) return;
      const { sha } = await forge.trunk();
      const isOurs = live.some(({ landing }) => landing?.candidate.sha === sha);
      if (sha !== trunk && !isOurs) moves += 1;
      trunk = sha;
    },
    async isThere({ id, issue, pull, branch }) {
      const last = seen.get(id);
      const at = clock.monotonic();
      if (!forge.seen) {
        if (last && at - last.at < settings.policy().pollIntervalMs) return false;
        seen.set(id, { what: [], at });
        return true;
      }
      const what = [moves, ...(await forge.seen({ issue, pull, branch }))];
      seen.set(id, { what, at });
      return last === undefined || what.some((one, index) => one !== last.what[index]);
    },
    landed(sha) {
      trunk = sha;
    },
    forget: (task) => void seen.delete(task),
  };
}
