/** A database after years of nights: what one real task left behind, again and again under other numbers. */
import { join } from 'node:path';
import Database from 'libsql';
import type { Scratch } from './scratch.ts';

const TABLES = ['tasks', 'events', 'turns', 'usage'] as const;

/** The one task of this repository becomes so many, with at least so many events together. */
export function grow({ repo }: Scratch, tasks: number, events: number): void {
  const database = new Database(join(repo, '.forge', 'forge.db'));
  const count = (table: string): number =>
    (database.prepare(`SELECT count(*) AS n FROM ${table} WHERE task IS NOT NULL`).get() as { n: number }).n;
  const own = count('events');
  const each = Math.max(own, Math.ceil(events / tasks));
  database.exec('BEGIN');
  database.exec(`CREATE TEMP TABLE first AS SELECT * FROM tasks;
    CREATE TEMP TABLE told AS SELECT row_number() OVER (ORDER BY seq) AS at_place, * FROM events WHERE task IS NOT NULL;
    CREATE TEMP TABLE many AS WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${tasks}) SELECT i FROM n;
    CREATE TEMP TABLE places AS WITH RECURSIVE p(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM p WHERE i < ${each}) SELECT i FROM p;`);
  for (const table of TABLES) database.exec(copyOf(database, table, own, each));
  database.exec('COMMIT');
  database.close();
}

/** One task a quarter of an hour: ten thousand are three months of nights and days. */
const earlier = (column: string): string => `${column} - many.i * 900000`;

/** The events of a task begin again where it has fewer than its share: nothing reads the stories of these tasks. */
function copyOf(
  database: Database.Database,
  table: (typeof TABLES)[number],
  own: number,
  each: number,
): string {
  const columns = (database.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name);
  const changed: Record<string, Record<string, string>> = {
    tasks: {
      id: "'t' || many.i",
      issue: 'many.i',
      created_at: earlier('created_at'),
      data: `json_set(data, '$.id', 't' || many.i, '$.issue', many.i, '$.startedAt', ${earlier("data ->> '$.startedAt'")}, '$.endedAt', ${earlier("data ->> '$.endedAt'")})`,
    },
    events: {
      seq: `(SELECT max(seq) FROM events) + (many.i - 2) * ${each} + places.i`,
      at: earlier('at'),
      task: "'t' || many.i",
    },
    turns: {
      id: 'NULL',
      task: "'t' || many.i",
      started_at: earlier('started_at'),
      ended_at: earlier('ended_at'),
    },
    usage: { task: "'t' || many.i", at: earlier('at') },
  };
  const values = columns.map((name) => changed[table]![name] ?? name);
  const from: Record<string, string> = {
    tasks: 'first CROSS JOIN many',
    events: `many CROSS JOIN places JOIN told ON told.at_place = (places.i - 1) % ${own} + 1 ORDER BY many.i, places.i`,
    turns: '(SELECT * FROM turns) CROSS JOIN many',
    usage: '(SELECT * FROM usage) CROSS JOIN many',
  };
  return `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')} FROM ${from[table]}`;
}
