/**
 * Whether anything outside the loop may have changed for a task that only waits for its turn. Hundreds may wait: a look at
 * each of them for every merge would cost more than the merges.
 */
import type { Task } from '../core/task.ts';
import { catchAndLog } from './catch-and-log.ts';
import type { Ports } from './ports.ts';

interface News {
  /** Of these tasks, those about which something may have changed since this was last asked of them. */
  among(tasks: readonly Task[]): Promise<ReadonlySet<string>>;
  /** To ask costs less than to look. */
  readonly isCheap: boolean;
  /** Trunk may move there by a merge of ours, which is no news to anybody. */
  built(sha: string): void;
  forget(task: string): void;
}

/** Many more than can be in line, so that the last ones that landed are among them. */
const MOST_OURS = 200;

export function createNews(ports: Ports): News {
  const { forge, clock, settings } = ports;
  const seen = new Map<string, { what: readonly unknown[]; at: number }>();
  let trunk: string | null = null;
  let moves = 0;
  const ours = new Set<string>();

  const lookAtTrunk = async (): Promise<void> => {
    const { sha } = await forge.trunk();
    if (sha !== trunk && !ours.delete(sha)) moves += 1;
    trunk = sha;
  };

  const changedThere = async (tasks: readonly Task[]): Promise<Task[]> => {
    await catchAndLog(ports, 'news', lookAtTrunk);
    const found = await forge.seen!(tasks).catch(() => []);
    return tasks.filter(({ id }, at) => {
      const last = seen.get(id)?.what;
      const what = found[at] && [moves, ...found[at]];
      if (what) seen.set(id, { what, at: clock.monotonic() });
      // What can't be asked about may have changed.
      return !what || last === undefined || what.some((one, index) => one !== last[index]);
    });
  };

  const notAskedLately = (tasks: readonly Task[]): Task[] => {
    const at = clock.monotonic();
    const due = tasks.filter(({ id }) => {
      const last = seen.get(id);
      return !last || at - last.at >= settings.policy().pollIntervalMs;
    });
    for (const { id } of due) seen.set(id, { what: [], at });
    return due;
  };

  return {
    isCheap: forge.seen !== undefined,
    async among(tasks) {
      if (tasks.length === 0) return new Set();
      const news = forge.seen ? await changedThere(tasks) : notAskedLately(tasks);
      return new Set(news.map(({ id }) => id));
    },
    built(sha) {
      ours.add(sha);
      const [oldest] = ours;
      if (ours.size > MOST_OURS) ours.delete(oldest!);
    },
    forget: (task) => void seen.delete(task),
  };
}
