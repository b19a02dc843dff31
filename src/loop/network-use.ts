/** Where a turn or a command went, or wanted to: by host, as one event when it is over. */
import { event, type NetworkRow } from '../core/event.ts';
import type { NetworkRequest } from '../gateway/gateway.ts';
import type { Ports } from './ports.ts';

const MOST_HOSTS = 100;

export function networkUse() {
  const rows = new Map<string, NetworkRow>();
  return {
    onRequest({ host, port, verdict, sentBytes, receivedBytes }: NetworkRequest): void {
      const key = `${verdict} ${host}:${port}`;
      const row = rows.get(key) ?? { host, port, verdict, times: 0, sentBytes: 0, receivedBytes: 0 };
      if (!rows.has(key) && rows.size >= MOST_HOSTS) return;
      rows.set(key, {
        ...row,
        times: row.times + 1,
        sentBytes: row.sentBytes + sentBytes,
        receivedBytes: row.receivedBytes + receivedBytes,
      });
    },
    refused: (): string[] =>
      [...rows.values()]
        .filter(({ verdict }) => verdict === 'refused')
        .map(({ host, port }) => (port === 443 || port === 80 ? host : `${host}:${port}`)),
    /** Of no task, such as the gate on trunk, it is the loop's own. */
    async record({ store, clock }: Pick<Ports, 'store' | 'clock'>, task: string, by: string): Promise<void> {
      if (rows.size === 0) return;
      const used = event('network_used', { by: by.slice(0, 500), requests: [...rows.values()] });
      const isKnown = (await store.task(task)) !== null;
      await store.record({ ...(isKnown && { task }), events: [used], at: clock.now() });
    },
  };
}
