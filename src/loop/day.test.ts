import { afterEach, expect, test } from 'vitest';
import { localDay } from './day.ts';

const zone = process.env.TZ;
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const HOUR = 3_600_000;
const iso = (at: number) => new Date(at).toISOString();

test.each([
  ['UTC', '2026-11-15T00:00:00Z', '2026-11-15', '2026-11-15T00:00:00.000Z', 24],
  ['UTC', '2026-11-15T23:59:59Z', '2026-11-15', '2026-11-15T00:00:00.000Z', 24],
  ['America/New_York', '2026-01-01T03:00:00Z', '2025-12-31', '2025-12-31T05:00:00.000Z', 24],
  ['Asia/Tokyo', '2026-02-28T15:00:00Z', '2026-03-01', '2026-02-28T15:00:00.000Z', 24],
  ['Europe/Berlin', '2026-03-29T12:00:00Z', '2026-03-29', '2026-03-28T23:00:00.000Z', 23],
  ['Europe/Berlin', '2026-10-25T12:00:00Z', '2026-10-25', '2026-10-24T22:00:00.000Z', 25],
])('in %s the day around %s is %s, from %s, and has %i hours', (place, at, name, from, hours) => {
  process.env.TZ = place;
  const day = localDay(Date.parse(at));
  expect([day.name, iso(day.startsAt), (day.endsAt - day.startsAt) / HOUR]).toEqual([name, from, hours]);
});
