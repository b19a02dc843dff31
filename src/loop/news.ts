/**
 * Whether anything outside the loop may have changed for a task that only waits for its turn. Hundreds may wait: a look at
 * each of them for every merge would cost more than the merges.
 */
import type { Task } from '../core/task.ts';
import type { Ports } from './ports.ts';

interface News {
  /** Before a round of questions. */
  begin(): Promise<void>;
  /** Since this was last asked about it. */
  isThere(task: Task): Promise<boolean>;
  /** To ask costs less than to look. */
  readonly isCheap: boolean;
  /** Trunk may move there by a merge of ours, which is no news to anybody. */
  built(sha: string): void;
  forget(task: string): void;
}

/** Many more than can be in line, so that the last ones that landed are among them. */
const MOST_OURS = 200;

export function createNews({ forge, clock, settings }: Ports): News {
  const seen = new Map<string, { what: readonly unknown[]; at: number }>();
  let trunk: string | null = null;
  let moves = 0;
  const ours = new Set<string>();

  return {
    isCheap: forge.seen !== undefined,
    async begin() {
      if (!forge.seen) return;
      const { sha } = await forge.trunk();
      if (sha !== trunk && !ours.delete(sha)) moves += 1;
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
    built(sha) {
      ours.add(sha);
      const [oldest] = ours;
      if (ours.size > MOST_OURS) ours.delete(oldest!);
    },
    forget: (task) => void seen.delete(task),
  };
}
