/**
 * What is known to be written, in a small file beside the database: which database it was, and its last event. It is
 * never ahead of the disk, so a database that ends before it has lost something: its log, or itself to an older copy.
 * Such a one is refused, because beside work that is under way it would do the same work twice.
 */
import { randomInt } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { UserError } from '../../errors.ts';
import type { Connection } from './connection.ts';
import { newestSeq } from './journal.ts';

export interface Known {
  /** Null when the file can't be read: then only that there was a database is known. */
  database: number | null;
  event: number;
}

const fileOf = (path: string): string => `${path}.known`;

/** To be read before the database: whoever writes has committed before it notes so. */
export function readKnown(path: string): Known | null {
  try {
    const { database, event } = JSON.parse(readFileSync(fileOf(path), 'utf8')) as Known;
    if (Number.isInteger(database) && Number.isInteger(event)) return { database, event };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  }
  return { database: null, event: 0 };
}

/** Where there is no database yet, or an empty one: throws unless it is the first. */
export function requireFirst(path: string, known: Known | null, traces: readonly string[]): void {
  const signs = known && (known.database === null || known.event > 0) ? [wrote(known), ...traces] : traces;
  if (signs.length === 0) return;
  const what = statSync(path, { throwIfNoEntry: false })
    ? `The database ${path} is empty`
    : `There is no database at ${path}`;
  throw new UserError(`${what}, but the loop has worked here: ${signs.join('; ')}.`, HOW_TO_CONTINUE);
}

/** Throws when the database is not the one that is known, or ends before what is known to be written. */
export function requireNothingLost(connection: Connection, known: Known | null): void {
  if (known === null || known.database === null || known.event === 0) return;
  if (identity(connection) !== known.database) {
    throw new UserError(
      `${connection.path} is another database than the one the loop worked with here: ${wrote(known)}.`,
      HOW_TO_CONTINUE,
    );
  }
  const newest = newestSeq(connection);
  if (newest >= known.event) return;
  throw new UserError(
    `The database ${connection.path} is older than what the loop wrote: it ends with event ${newest}, and ${wrote(known)}. It is an older copy, or its log (${connection.path}-wal) was removed.`,
    HOW_TO_CONTINUE,
  );
}

const wrote = ({ event }: Known): string =>
  event === 0 ? 'something was written' : `it was written up to event ${event}`;

const HOW_TO_CONTINUE =
  'Lost the -wal file? Put it back. Have a backup? `forge-loop restore <file>`. Neither? `forge-loop restore --empty` starts without earlier tasks; their branches and pull requests stay.';

/** Notes how far the database is written, from now on after every transaction with events that is on the disk. */
export function keepKnown(connection: Connection): { close(): void } {
  const database = identity(connection) || onDisk(connection).database;
  const isNoted = readKnown(connection.path)?.database === database;
  const file = open(connection.path);
  const note = (event: number): void => {
    if (file === null) return;
    // Always of the same length, in place: it needs no space, and no moment sees half of it.
    attempt(() => writeSync(file, lineOf({ database, event }), 0));
  };
  const first = isNoted ? null : attempt(() => onDisk(connection).event);
  if (first !== null) note(first);
  if (first !== null && file !== null) attempt(() => fsyncSync(file));
  connection.afterCommit(note);
  return {
    close() {
      if (file !== null) attempt(() => closeSync(file));
    },
  };
}

/**
 * From now on this database is the known one; nobody else writes to it meanwhile, and its log is empty. The file is a new
 * one: a process of before might still write into the old.
 */
export function replaceKnown(connection: Connection): void {
  const file = fileOf(connection.path);
  const partial = `${file}.partial-${process.pid}`;
  const database = identity(connection) || onDisk(connection).database;
  const line = lineOf({ database, event: newestSeq(connection) });
  writeFileSync(partial, line, { mode: 0o600, flush: true });
  renameSync(partial, file);
}

const lineOf = (known: Known): string => `${JSON.stringify(known).padEnd(63)}\n`;

/**
 * Others commit without waiting for the disk. A commit that does wait, and changes something, takes everything before it
 * along. Its number is kept in the header of the file, so that copies of it are told from strangers.
 */
function onDisk(connection: Connection): Known & { database: number } {
  return connection.immediate(() => {
    const database = identity(connection) || randomInt(1, 2 ** 31);
    connection.exec(`PRAGMA application_id = ${database}`);
    return { database, event: newestSeq(connection) };
  });
}

/** 0 before it has one. */
const identity = (connection: Connection): number => Number(connection.pragma('application_id'));

const open = (path: string): number | null =>
  attempt(() => openSync(fileOf(path), constants.O_RDWR | constants.O_CREAT, 0o600));

/** Where it can't be written, the database can't either, or soon will not: that says so itself. */
function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}
