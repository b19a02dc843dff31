/**
 * Leases: each verb compares and changes the row while it has the write lock. None outlives the machine's power, and
 * neither does its owner: nothing waits for the disk.
 */
import { grantLease, type LeaseRow, requireLease } from '../rules.ts';
import type { Lease } from '../store.ts';
import { type Connection, query } from './connection.ts';
import { prepared } from './prepared.ts';

const LEASE = prepared(({ key }: { key: string }) =>
  query.selectFrom('leases').selectAll().where('key', '=', key),
);

export function acquireLease(
  connection: Connection,
  wanted: { key: string; owner: string; now: number; ttlMs: number },
  dead: (owner: string) => boolean,
): Lease | null {
  return connection.unhurried(() => {
    const lease = grantLease(leaseRow(connection, wanted.key), wanted, dead);
    if (lease) {
      const { key, owner, fencing, expiresAt } = lease;
      const row = { owner, fencing, expires_at: expiresAt };
      connection.run(
        query
          .insertInto('leases')
          .values({ key, ...row })
          .onConflict((conflict) => conflict.column('key').doUpdateSet(row)),
      );
    }
    return lease;
  });
}

export function renewLeases(connection: Connection, owner: string, now: number, ttlMs: number): Lease[] {
  return connection.unhurried(() => {
    connection.run(
      query
        .updateTable('leases')
        .set({ expires_at: now + ttlMs })
        .where('owner', '=', owner),
    );
    return leases(connection).filter((lease) => lease.owner === owner);
  });
}

/** Harmless when it was taken over: then it is not ours to give up. */
export function releaseLease(connection: Connection, lease: Lease): void {
  connection.unhurried(() =>
    connection.run(
      query
        .updateTable('leases')
        .set({ owner: null, expires_at: 0 })
        .where('key', '=', lease.key)
        .where('owner', '=', lease.owner)
        .where('fencing', '=', lease.fencing),
    ),
  );
}

export function leases(connection: Connection): Lease[] {
  const rows = connection.all(
    query.selectFrom('leases').selectAll().where('owner', 'is not', null).orderBy('key'),
  );
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
  const row = connection.one(LEASE({ key }));
  return row && { key, owner: row.owner, fencing: row.fencing, expiresAt: row.expires_at };
}
