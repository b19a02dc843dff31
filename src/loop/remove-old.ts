/** Removes what nobody needs any more: what ended tasks left outside their workspaces, and what belongs to no task. */
import { event } from '../core/event.ts';
import { isWorthNoting, judgedAt, LOGS_OF_NO_TASK, mayGo, type Part } from '../core/keep.ts';
import type { Ports } from './ports.ts';

export interface Removed {
  /** Of tasks that ended. */
  removed: { task: string; issue: number | null; parts: Part[] }[];
  /** Throwaway trees of runners that were killed. */
  trees: string[];
  /** Of gates tried on trunk, and of deploys. */
  logs: string[];
}

type Needed = Pick<Ports, 'store' | 'places' | 'settings' | 'clock' | 'workspaces'>;

/** With `preview` nothing is removed. A task that is restarted meanwhile begins with fresh folders anyway. */
export async function removeOld(ports: Needed, { preview }: { preview: boolean }): Promise<Removed> {
  const { store, places, settings, clock, workspaces } = ports;
  const now = clock.now();
  const [last] = await store.events({ type: 'swept', last: 1 });
  const at = judgedAt(last?.at ?? null, now);
  const trees = await workspaces.removeAbandonedTrees(preview);
  const removed: Removed['removed'] = [];
  for (const { task } of await store.tasks()) {
    const isPending = (await store.pendingActions(task.id)).length > 0;
    const old = mayGo(task, isPending, settings.policy(), at);
    const parts: Part[] = [];
    for (const part of old) {
      if (!(await places.remove(task.id, part, true))) continue;
      parts.push(part);
      if (preview) continue;
      // Before its logs, by which the next sweep would find it again.
      if (part === 'logs') await workspaces.dropReplay(task.id);
      await places.remove(task.id, part);
    }
    if (parts.length > 0) removed.push({ task: task.id, issue: task.issue, parts });
  }
  const before = (at ?? 0) - settings.policy().keep.logsMs;
  const logs: string[] = [];
  for (const of of Object.values(LOGS_OF_NO_TASK))
    logs.push(...(await places.removeLogs(of, before, preview)));
  if (!preview && isWorthNoting(last?.at ?? null, now))
    await store.record({ events: [event('swept', { removed: removed.length })], at: now });
  return { removed, trees, logs };
}
