/**
 * Children whose runner is gone. Each was started under a lease, and whoever holds that answers for it: as long as
 * somebody alive does, it is nobody else's to stop.
 */
import { event } from '../core/event.ts';
import { type Lease, type ProcessRecord, taskLease } from '../store/store.ts';
import type { Ports } from './ports.ts';

/**
 * Stops what trials, deploys and whatever else was started for no task left behind; a task's own children are stopped
 * with its takeover. `held` is the lease the caller has.
 */
export async function stopOrphans(ports: Ports, held: Lease | null = null): Promise<number[]> {
  const loops = (await ports.store.processes()).filter(({ lease, task }) => lease !== taskLease(task));
  const stopped: number[] = [];
  for (const key of new Set(loops.map(({ lease }) => lease))) {
    const stop = () => stopChildren(ports, key);
    stopped.push(...((key === held?.key ? await stop() : await holding(ports, key, stop)) ?? []));
  }
  return stopped;
}

/** Of a lease that the caller holds. */
export async function stopChildren(ports: Ports, key: string): Promise<number[]> {
  const children = (await ports.store.processes()).filter(({ lease }) => lease === key);
  const stopped: number[] = [];
  for (const task of new Set(children.map((child) => child.task))) {
    const records = children.filter((child) => child.task === task);
    stopped.push(...(await stopRecorded(ports, task, records)));
  }
  return stopped;
}

/** Also what left the group of its record, which is found by its mark. */
export async function stopRecorded(
  ports: Ports,
  task: string,
  records: readonly ProcessRecord[],
): Promise<number[]> {
  const stopped = await ports.processes.stop(task, records);
  await ports.sandbox.clear(task);
  for (const record of records) await ports.store.forgetProcess(record);
  if (stopped.length === 0) return stopped;
  const events = stopped.map((pid) =>
    event('process_stopped', { pid, why: `left over from a dead runner (${task})` }),
  );
  await ports.store.record({ events, at: ports.clock.now() });
  return stopped;
}

/** Null when somebody alive has the lease: then it is in good hands. */
export async function holding<T>(
  ports: Ports,
  key: string,
  work: (lease: Lease) => Promise<T>,
): Promise<T | null> {
  const { store, owner, clock, timing } = ports;
  const lease = await store.acquireLease(key, owner, clock.now(), timing.leaseTtlMs, ports.isOwnerDead);
  if (!lease) return null;
  try {
    return await work(lease);
  } finally {
    await store.releaseLease(lease);
  }
}
