/** Appending events through the store against raw inserts into the same kind of database. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { event } from '../src/core/event.ts';
import { openSqliteStore } from '../src/store/sqlite.ts';
import { compare, type Measured } from './measure.ts';

const EVENTS = 400;

export async function events(): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'forge-bench-'));
  const store = await openSqliteStore(join(folder, 'ours.db'));
  const raw = new Database(join(folder, 'raw.db'));
  raw.exec(
    'PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER, type TEXT, task TEXT, data TEXT)',
  );
  const insert = raw.prepare('INSERT INTO events (at, type, task, data) VALUES (?, ?, ?, ?)');
  const data = { owner: 'bench', pid: 1, version: '0' };
  try {
    const { ours, baseline } = await compare(
      5,
      async () => {
        for (let index = 0; index < EVENTS; index++)
          await store.record({ events: [event('runner_started', data)], at: index });
      },
      async () => {
        for (let index = 0; index < EVENTS; index++)
          insert.run(index, 'runner_started', null, JSON.stringify(data));
      },
    );
    const perSecond = (took: number): string => `${Math.round((EVENTS / took) * 1000)}/s`;
    return {
      name: 'event append',
      value: perSecond(ours),
      against: `raw inserts, same durability: ${perSecond(baseline)}`,
      ratio: baseline / ours,
      goal: '≥ 0.5',
      met: baseline / ours >= 0.5,
    };
  } finally {
    await store.close();
    raw.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
