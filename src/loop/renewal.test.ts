import { expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import type { Lease } from '../store/store.ts';
import { createRenewal, type LeaseHolder } from './renewal.ts';

const TTL = 300_000;

/** A runner with a task, the intake, and a task of which it has no lease; all clocks are the test's. */
async function runner() {
  const store = memoryStore();
  const time = { now: 1000 };
  const dropped: string[] = [];
  const take = (key: string, owner = 'me') => store.acquireLease(key, owner, time.now, TTL, () => false);
  const holder = (id: string | null, taken: Lease | null): LeaseHolder => {
    let lease = taken;
    const dropLease = () => {
      dropped.push(lease?.key ?? '');
      lease = null;
    };
    return { id, lease: () => lease, dropLease };
  };
  const holders = [holder('a', await take('task:a')), holder(null, await take('intake')), holder('b', null)];
  const clock = { now: () => time.now, monotonic: () => time.now };
  const needs = { store, clock, timing: { leaseTtlMs: TTL }, owner: 'me', log: () => {} };
  return { store, time, take, dropped, renew: createRenewal(needs, () => holders) };
}

test('what is ours is renewed, and stays', async () => {
  const { store, time, dropped, renew } = await runner();
  time.now += TTL / 5;
  await renew();
  expect(dropped).toEqual([]);
  expect((await store.leases()).map(({ expiresAt }) => expiresAt)).toEqual([time.now + TTL, time.now + TTL]);
});

test('what another took is let go, and what ran under it is stopped', async () => {
  const { time, take, store, dropped, renew } = await runner();
  const [lease] = (await store.leases()).filter(({ key }) => key === 'intake');
  await store.releaseLease(lease!);
  await take('intake', 'other');
  time.now += TTL / 5;
  await renew();
  expect(dropped).toEqual(['intake']);
});

test('past our own expiry everything is stopped before anything is looked at, and it is said', async () => {
  const { store, time, dropped, renew } = await runner();
  time.now += TTL + 1;
  await renew();
  expect(dropped).toEqual(['task:a', 'intake']);
  expect(await store.events()).toMatchObject([
    { type: 'runner_overslept', data: { owner: 'me', sleptMs: TTL + 1, tasks: ['a'] } },
  ]);
  time.now += 1;
  await renew();
  expect(dropped).toHaveLength(2);
});
