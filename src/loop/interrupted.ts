/**
 * Plans that people started and whose runner is gone. Nobody goes on with one by itself, so it keeps no slot from others
 * and nothing waits for it.
 */
import { isLeftToPeople } from '../core/recover.ts';
import type { Task } from '../core/task.ts';
import { type Store, taskLease } from '../store/store.ts';
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
