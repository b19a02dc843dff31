/** The store on SQLite, shared by every process of one repository on one machine. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { BootClock } from '../core/lease.ts';
import { StoreUnavailable, UserError } from '../errors.ts';
import { type Connection, fileProblem, openConnection } from './sqlite/connection.ts';
import { damage, moveAside, refuse, strandedLog } from './sqlite/integrity.ts';
import { type Known, keepKnown, readKnown, requireFirst, requireNothingLost } from './sqlite/known.ts';
import {
  isEmpty,
  migrate,
  requireCurrentVersion,
  requireKnownVersion,
  requireOurs,
} from './sqlite/migrations.ts';
import { bePresent } from './sqlite/presence.ts';
import { sqliteStore } from './sqlite/verbs.ts';
import type { Store } from './store.ts';

interface Opening {
  readOnly?: boolean;
  /** The clock that all processes of this machine share. */
  boot?: BootClock;
  /** Told of the events of every transaction, once it is committed, in the course of the call that wrote them. */
  committed?: (events: readonly number[]) => void;
  /** What else tells that the loop has worked here, in words; asked where there is no database, or an empty one. */
  otherWork?: () => Promise<readonly string[]>;
}

/**
 * Checks the file before it is used. A damaged one is moved aside and reported with a `UserError`. One that is missing,
 * empty or older beside known work is an error too, and left as it is. With `readOnly` nothing is created, moved or
 * changed.
 */
export async function openSqliteStore(path: string, options: Opening = {}): Promise<Store> {
  return options.readOnly ? openToRead(path, options) : openToWrite(path, options);
}

async function openToWrite(path: string, options: Opening): Promise<Store> {
  mkdirSync(dirname(path), { recursive: true });
  const presence = bePresent(path);
  try {
    const store = await openPresent(path, options);
    return {
      ...store,
      async close() {
        await store.close();
        presence.leave();
      },
    };
  } catch (error) {
    presence.leave();
    throw error;
  }
}

async function openPresent(path: string, options: Opening): Promise<Store> {
  const known = readKnown(path);
  const stranded = strandedLog(path);
  if (stranded) moveAside(path, stranded, new Date());
  // Before the file is made by opening it.
  await requireFirstWhere(() => !hasPages(path), path, known, options);

  const connection = openConnection(path, { ...options, readOnly: false });
  try {
    const problem = damage(connection);
    if (problem) moveAside(path, problem, new Date());
    await requireWhole(connection, known, options);
    await writeAhead(connection);
    migrate(connection);
    return writingStore(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
}

async function openToRead(path: string, options: Opening): Promise<Store> {
  const known = readKnown(path);
  const stranded = strandedLog(path);
  if (stranded) refuse(path, stranded);
  if (!hasPages(path)) await refuseEmpty(path, known, options);

  const connection = openConnection(path, { ...options, readOnly: true });
  try {
    const problem = damage(connection);
    if (problem) refuse(path, problem);
    await requireWhole(connection, known, options);
    if (isEmpty(connection)) await refuseEmpty(path, known, options);
    requireCurrentVersion(connection);
    return sqliteStore(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Throws when there should be a database. */
export async function requireNone(path: string, options: Opening): Promise<void> {
  requireFirst(path, readKnown(path), await tracesOf(options));
}

async function requireWhole(connection: Connection, known: Known | null, options: Opening): Promise<void> {
  requireKnownVersion(connection);
  requireOurs(connection);
  await requireFirstWhere(() => isEmpty(connection), connection.path, known, options);
  if (!isEmpty(connection)) requireNothingLost(connection, known);
}

async function requireFirstWhere(
  isNew: () => boolean,
  path: string,
  known: Known | null,
  options: Opening,
): Promise<void> {
  if (!isNew()) return;
  const traces = await tracesOf(options);
  // Another process may have made it, and begun to work, while we looked for traces.
  if (isNew()) requireFirst(path, known, traces);
}

async function refuseEmpty(path: string, known: Known | null, options: Opening): Promise<never> {
  requireFirst(path, known, await tracesOf(options));
  throw new UserError(`There is no database at ${path} yet.`, 'Run `forge-loop run` once: it makes one.');
}

const tracesOf = async ({ otherWork }: Opening): Promise<readonly string[]> => (await otherWork?.()) ?? [];

const hasPages = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

const CHECKPOINT_MS = 60_000;

/** A copy of the file alone should have everything: its log is emptied now and then, and at the end. */
function writingStore(connection: Connection): Store {
  const noting = keepKnown(connection);
  const timer = setInterval(connection.checkpoint, CHECKPOINT_MS).unref();
  return {
    ...sqliteStore(connection),
    async close() {
      clearInterval(timer);
      connection.checkpoint();
      noting.close();
      connection.close();
    },
  };
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
