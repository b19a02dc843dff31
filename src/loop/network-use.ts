/**
 * Where a turn or a command went, or wanted to: by host, as one event when it is over, and before that as often as there is
 * news, so that a killed runner loses little of it.
 *
 * Each verdict has places of its own: hosts that were refused, which anybody can make up, hide none that was reached.
 */
import { event, type NetworkRow } from '../core/event.ts';
import type { NetworkRequest } from '../gateway/gateway.ts';
import type { Ports } from './ports.ts';

const MOST_HOSTS = 100;
const WRITTEN_WITHIN_MS = 30_000;
/** In place of the host, of all that have no row. */
const OTHERS = 'other hosts';

/** Of no task, such as the gate on trunk, it is the loop's own. */
export function networkUse({ store, clock }: Pick<Ports, 'store' | 'clock'>, task: string, by: string) {
  let rows = new Map<string, NetworkRow>();
  const refused = new Set<string>();
  let takeBack: (() => void) | null = null;
  let writing: Promise<void> = Promise.resolve();

  const write = (): void => {
    takeBack?.();
    takeBack = null;
    if (rows.size === 0) return;
    const requests = [...rows.values()];
    rows = new Map();
    writing = writing.then(async () => {
      const used = event('network_used', { by: by.slice(0, 500), requests });
      const isKnown = (await store.task(task)) !== null;
      await store.record({ ...(isKnown && { task }), events: [used], at: clock.now() });
    });
    // Whoever closes it hears of it.
    writing.catch(() => {});
  };

  return {
    onRequest({ host, port, verdict, sentBytes, receivedBytes }: NetworkRequest): void {
      const known = `${verdict} ${host}:${port}`;
      const ofVerdict = [...rows.values()].filter((row) => row.verdict === verdict).length;
      const isListed = rows.has(known) || ofVerdict < MOST_HOSTS;
      const key = isListed ? known : `${verdict} ${OTHERS}`;
      const place = isListed ? { host, port } : { host: OTHERS, port: 0 };
      const row = rows.get(key) ?? { ...place, verdict, times: 0, sentBytes: 0, receivedBytes: 0 };
      rows.set(key, {
        ...row,
        times: row.times + 1,
        sentBytes: row.sentBytes + sentBytes,
        receivedBytes: row.receivedBytes + receivedBytes,
      });
      if (verdict === 'refused' && refused.size < MOST_HOSTS)
        refused.add(port === 443 || port === 80 ? host : `${host}:${port}`);
      takeBack ??= clock.after(WRITTEN_WITHIN_MS, write);
    },
    refused: (): string[] => [...refused],
    /** All of it is written when this resolves. */
    close(): Promise<void> {
      write();
      return writing;
    },
  };
}
