/** The store on SQLite, shared by every process of one repository on one machine. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { StoreUnavailable, UserError } from '../errors.ts';
import { type Connection, fileProblem, openConnection } from './sqlite/connection.ts';
import { damage, moveAside, refuse, strandedLog } from './sqlite/integrity.ts';
import { migrate, requireCurrentVersion, requireKnownVersion } from './sqlite/migrations.ts';
import { sqliteStore } from './sqlite/verbs.ts';
import type { Store } from './store.ts';

/**
 * Checks the file before it is used. A damaged one is moved aside and reported with a `UserError`; opening again then
 * starts an empty database. With `readOnly` nothing is created, moved or changed.
 */
export async function openSqliteStore(path: string, options: { readOnly?: boolean } = {}): Promise<Store> {
  return options.readOnly ? openToRead(path) : openToWrite(path);
}

async function openToWrite(path: string): Promise<Store> {
  mkdirSync(dirname(path), { recursive: true });
  const stranded = strandedLog(path);
  if (stranded) moveAside(path, stranded, new Date());

  const connection = openConnection(path, { readOnly: false });
  try {
    const problem = damage(connection);
    if (problem) moveAside(path, problem, new Date());
    requireKnownVersion(connection);
    await writeAhead(connection);
    migrate(connection);
    return sqliteStore(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
}

function openToRead(path: string): Store {
  if (!existsSync(path)) {
    throw new UserError(`There is no database at ${path} yet.`, 'Run `forge-loop run` once: it makes one.');
  }
  const stranded = strandedLog(path);
  if (stranded) refuse(path, stranded);

  const connection = openConnection(path, { readOnly: true });
  try {
    const problem = damage(connection);
    if (problem) refuse(path, problem);
    requireCurrentVersion(connection);
    return sqliteStore(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Every commit reaches the disk before it counts. Only the switch needs the file to itself, and it does not queue. */
async function writeAhead(connection: Connection): Promise<void> {
  connection.exec('PRAGMA synchronous = FULL');
  for (let tries = 1; connection.pragma('journal_mode') !== 'wal'; tries++) {
    try {
      connection.exec('PRAGMA journal_mode = WAL');
    } catch (error) {
      const busy = error instanceof StoreUnavailable && fileProblem(error.cause) === 'SQLITE_BUSY';
      if (!busy || tries === 100) throw error;
      await wait(20);
    }
  }
}
