/**
 * Plans that people started and whose runner is gone. Nobody goes on with one by itself, so it keeps no slot from others
 * and nothing waits for it.
 */
import { isInLine } from '../core/line.ts';
import { isLeftToPeople } from '../core/recover.ts';
import { isJudging, occupiesSlot, type Task } from '../core/task.ts';
import { type Commit, type Store, taskLease } from '../store/store.ts';
import type { Ports } from './ports.ts';

export async function interruptedAmong(
  {
    store,
    clock,
    isOwnerDead,
  }: Pick<Ports, 'isOwnerDead'> & {
    store: Pick<Store, 'leases'>;
    clock: Pick<Ports['clock'], 'now'>;
  },
  tasks: readonly Task[],
): Promise<Set<Task>> {
  const left = tasks.filter(isLeftToPeople);
  if (left.length === 0) return new Set();
  const held = (await store.leases()).filter(
    ({ expiresAt, owner }) => expiresAt > clock.now() && !isOwnerDead(owner),
  );
  const keys = new Set(held.map(({ key }) => key));
  return new Set(left.filter(({ id }) => !keys.has(taskLease(id))));
}

/** Limits as they are for the others, since what an interrupted plan takes is nobody's; null when there is none. */
export async function limitsBeside(
  ports: Ports,
  limits: Commit['limits'],
): Promise<NonNullable<Commit['limits']> | null> {
  const live = (await ports.store.tasks({ live: true })).map(({ task }) => task);
  const interrupted = [...(await interruptedAmong(ports, live))];
  if (interrupted.length === 0 || !limits) return null;
  const kinds = Object.keys(limits) as (keyof typeof TAKES)[];
  return Object.fromEntries(
    kinds.map((kind) => [kind, limits[kind]! + interrupted.filter(TAKES[kind]).length]),
  );
}

const TAKES = {
  slots: occupiesSlot,
  critics: isJudging,
  merging: isInLine,
};
