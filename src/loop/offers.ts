/**
 * Who waits for a slot, a critic or a place in line is woken when it is theirs, and nobody else is: hundreds may wait, and
 * most of what happens concerns one of them.
 */
import { freePlaces } from '../core/line/line.ts';
import { grants, type Order } from '../core/line/schedule.ts';
import type { Task } from '../core/task.ts';
import { catchAndLog } from './catch-and-log.ts';
import { underWay } from './interrupted.ts';
import type { Ports } from './ports.ts';
import type { Worker } from './worker.ts';

interface Offers {
  /** Something was freed, or somebody came to wait. */
  make(): void;
  /** It waits for a place in line, as far as is known here. */
  waitsForPlace(task: string): boolean;
}

export function createOffers(
  ports: Ports,
  around: {
    workers(): Iterable<Worker>;
    find(id: string): Worker | undefined;
    eligible(): number;
    order(): Order;
  },
): Offers {
  const { store, clock, settings } = ports;
  let isMaking = false;
  let again = false;

  const waitsForPlace = (id: string): boolean => around.find(id)?.rest()?.grant === 'merge';

  return {
    waitsForPlace,
    make() {
      again = true;
      if (!isMaking) void makeAll();
    },
  };

  async function makeAll(): Promise<void> {
    isMaking = true;
    while (again) {
      again = false;
      await catchAndLog(ports, 'offers', makeOnce);
    }
    isMaking = false;
  }

  async function makeOnce(): Promise<void> {
    const waiting = [...around.workers()].filter((one) => one.rest()?.for === 'grant');
    if (waiting.length === 0) return;
    const { live } = await underWay(ports);
    const { accountLimits } = await store.loop();
    const policy = settings.policy();
    const granted = grants(live, around.eligible(), policy, clock.now(), accountLimits, around.order());
    const next = nextInLine(live, policy.merge.queue.ahead);
    for (const one of waiting) {
      const grant = one.rest()?.grant;
      const isTheirs =
        (grant === 'slot' && granted.slots.includes(one.id)) ||
        (grant === 'critic' && granted.critics.includes(one.id)) ||
        (grant === 'merge' && next.has(one.id));
      if (grant === undefined || isTheirs) one.wake();
    }
  }

  /** Those in line, whom every move of it concerns, and who may join them. */
  function nextInLine(live: readonly Task[], length: number): Set<string> {
    const inLine = live.filter(({ state }) => state === 'merging');
    const free = freePlaces(live, length);
    const joining =
      free <= 0
        ? []
        : live
            .filter(({ id, state }) => state !== 'merging' && waitsForPlace(id))
            .sort(around.order())
            .slice(0, free);
    return new Set([...inLine, ...joining].map(({ id }) => id));
  }
}
