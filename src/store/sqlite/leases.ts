/**
 * Leases: each verb compares and changes the row while it has the write lock. None outlives the machine's power, and
 * neither does its owner: nothing waits for the disk.
 */
import { grantLease, type LeaseRow, requireLease } from '../rules.ts';
import type { Lease } from '../store.ts';
import type { Connection } from './connection.ts';
import type { LeasesTable } from './schema.ts';

export function acquireLease(
  connection: Connection,
  wanted: { key: string; owner: string; now: number; ttlMs: number },
  dead: (owner: string) => boolean,
): Lease | null {
  return connection.unhurried(() => {
    const lease = grantLease(leaseRow(connection, wanted.key), wanted, dead);
    if (lease) {
      const { key, owner, fencing, expiresAt } = lease;
      connection.insert(
        'leases',
        { key, owner, fencing, expires_at: expiresAt },
        'ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, fencing = excluded.fencing, expires_at = excluded.expires_at',
      );
    }
    return lease;
  });
}

export function renewLeases(connection: Connection, owner: string, now: number, ttlMs: number): Lease[] {
  return connection.unhurried(() => {
    connection.update('leases', { expires_at: now + ttlMs }, 'owner = ?', owner);
    return leases(connection).filter((lease) => lease.owner === owner);
  });
}

/** Harmless when it was taken over: then it is not ours to give up. */
export function releaseLease(connection: Connection, lease: Lease): void {
  connection.unhurried(() =>
    connection.update(
      'leases',
      { owner: null, expires_at: 0 },
      'key = ? AND owner = ? AND fencing = ?',
      lease.key,
      lease.owner,
      lease.fencing,
    ),
  );
}

export function leases(connection: Connection): Lease[] {
  const rows = connection.all<LeasesTable>('SELECT * FROM leases WHERE owner IS NOT NULL ORDER BY key');
  return rows.map(({ key, owner, fencing, expires_at }) => ({
    key,
    owner: owner ?? '',
    fencing,
    expiresAt: expires_at,
  }));
}

export function checkLease(connection: Connection, lease: Lease, at: number | null): void {
  requireLease(leaseRow(connection, lease.key), lease, at);
}

function leaseRow(connection: Connection, key: string): LeaseRow | undefined {
  const row = connection.one<LeasesTable>('SELECT * FROM leases WHERE key = ?', key);
  return row && { key, owner: row.owner, fencing: row.fencing, expiresAt: row.expires_at };
}
