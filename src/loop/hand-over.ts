/** Whether a runner has to let go of a task, for a person on this machine who asked for it and is still there. */
import { mayHandOver } from '../core/attach.ts';
import type { Ports } from './ports.ts';

type Needs = Pick<Ports, 'store' | 'owner' | 'isOwnerDead'>;

export async function isWanted({ store, owner, isOwnerDead }: Needs, id: string): Promise<boolean> {
  const asked = (await store.requests(id)).some(
    ({ kind, why }) =>
      (kind === 'attach' || kind === 'attach_now') &&
      why !== null &&
      isSameHost(why, owner) &&
      !isOwnerDead(why),
  );
  return asked && mayHandOver(await store.pendingActions(id));
}

/** Of two owners of leases; see owner.ts. */
export const isSameHost = (one: string, other: string): boolean => hostOf(one) === hostOf(other);

const hostOf = (owner: string): string | undefined => /^\d+@([^/]+)\//.exec(owner)?.[1];
