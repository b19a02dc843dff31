/**
 * Leases: each verb compares and changes the row while it has the write lock. None outlives the machine's power, and
 * neither does its owner: nothing waits for the disk.
 */
import { boundOf, type LeaseTimes, leaseTimes, momentOf } from '../../core/lease.ts';
import { grantLease, type LeaseRow, requireLease } from '../rules.ts';
import type { Lease } from '../store.ts';
import { type Connection, query } from './connection.ts';
import { prepared } from './prepared.ts';
import type { LeasesTable } from './schema.ts';

const LEASE = prepared(({ key }: { key: string }) =>
  query.selectFrom('leases').selectAll().where('key', '=', key),
);

export function acquireLease(
  connection: Connection,
  wanted: { key: string; owner: string; now: number; ttlMs: number },
  dead: (owner: string) => boolean,
): Lease | null {
  const { key, ttlMs } = wanted;
  const at = momentOf(wanted.now, connection.boot);
  return connection.unhurried(() => {
    const row = leaseRow(connection, key);
    const lease = grantLease(row, { ...wanted, at }, dead);
    if (lease) {
      const columns = { owner: lease.owner, fencing: lease.fencing, ...timeColumns(lease) };
      connection.run(
        query
          .insertInto('leases')
          .values({ key, ...columns })
          .onConflict((conflict) => conflict.column('key').doUpdateSet(columns)),
      );
    } else if (row) bind(connection, key, boundOf(row, at, ttlMs));
    return lease;
  });
}

function bind(connection: Connection, key: string, boundAt: number | undefined): void {
  if (boundAt === undefined) return;
  connection.run(query.updateTable('leases').set({ bound_at: boundAt }).where('key', '=', key));
}

export function renewLeases(connection: Connection, owner: string, now: number, ttlMs: number): Lease[] {
  const times = leaseTimes(momentOf(now, connection.boot), ttlMs);
  return connection.unhurried(() => {
    connection.run(query.updateTable('leases').set(timeColumns(times)).where('owner', '=', owner));
    return leases(connection).filter((lease) => lease.owner === owner);
  });
}

/** Harmless when it was taken over: then it is not ours to give up. */
export function releaseLease(connection: Connection, lease: Lease): void {
  connection.unhurried(() =>
    connection.run(
      query
        .updateTable('leases')
        .set({ owner: null, ...timeColumns({ expiresAt: 0 }) })
        .where('key', '=', lease.key)
        .where('owner', '=', lease.owner)
        .where('fencing', '=', lease.fencing),
    ),
  );
}

export function leases(connection: Connection, key?: string): Lease[] {
  const all = query.selectFrom('leases').selectAll().where('owner', 'is not', null).orderBy('key');
  const rows = connection.all(key === undefined ? all : all.where('key', '=', key));
  return rows.map((row) => ({ ...asLease(row), owner: row.owner ?? '' }));
}

export function checkLease(connection: Connection, lease: Lease, at: number | null): void {
  const row = leaseRow(connection, lease.key);
  requireLease(row, lease, at === null ? null : momentOf(at, connection.boot));
}

function leaseRow(connection: Connection, key: string): LeaseRow | undefined {
  const row = connection.one(LEASE({ key }));
  return row && asLease(row);
}

function asLease({
  key,
  owner,
  fencing,
  expires_at,
  boot,
  boot_expires_at,
  bound_at,
}: LeasesTable): LeaseRow {
  return {
    key,
    owner,
    fencing,
    expiresAt: expires_at,
    ...(boot && boot_expires_at ? { boot: { id: boot, expiresAt: boot_expires_at } } : {}),
    ...(bound_at ? { boundAt: bound_at } : {}),
  };
}

function timeColumns({ expiresAt, boot }: LeaseTimes) {
  return {
    expires_at: expiresAt,
    boot: boot?.id ?? null,
    boot_expires_at: boot?.expiresAt ?? null,
    bound_at: null,
  };
}
