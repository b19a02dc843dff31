/** Ends what a person did whose process died: as they would have, but for what it used, which nobody told. */
import { detaching } from '../core/attach.ts';
import { event } from '../core/event.ts';
import { isEnded, type StoredTask } from '../core/task.ts';
import type { Lease } from '../store/store.ts';
import type { Ports } from './ports.ts';

/** To be called with the lease of whoever has taken the task over. */
export async function endCutOff(
  { store, clock }: Pick<Ports, 'store' | 'clock'>,
  { task, version }: StoredTask,
  lease: Lease,
): Promise<StoredTask> {
  const { attached } = task;
  if (!attached || isEnded(task)) return { task, version };
  const at = clock.now();
  const why = `${attached.by} was attached, and their terminal is gone`;
  const left = {
    how: 'cut_off' as const,
    detail: 'its terminal is gone',
    durationMs: Math.max(0, at - attached.at),
    tokens: 0,
    costUsd: null,
    usage: 'unknown' as const,
  };
  const { events, actions } = detaching(task, left, null);
  return store.commit({
    lease,
    taskId: task.id,
    expectedVersion: version,
    events: [event('recovered', { plan: 'detached', why }), ...events],
    addActions: actions,
    at,
  });
}
