/**
 * One SQLite file. Queries are built and typed with kysely and run synchronously on libsql: nothing of this process
 * can come between the statements of a transaction, and `BEGIN IMMEDIATE` takes the write lock before the first read,
 * so nothing of another process can either.
 */

import { pathToFileURL } from 'node:url';
import {
  type Compilable,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import Database from 'libsql';
import type { BootClock } from '../../core/lease.ts';
import { StoreUnavailable } from '../../errors.ts';
import type { Schema } from './schema.ts';

/** Builds queries; it has no connection of its own. */
export const query = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

export interface Connection {
  readonly path: string;
  /** By which leases of this boot are judged; null where only wall time is known. */
  readonly boot: BootClock | null;
  all<Row>(select: Compilable<Row>): Row[];
  one<Row>(select: Compilable<Row>): Row | undefined;
  /** How many rows it changed. `task`: whose row or actions it changes, where that is one task. */
  run(change: Compilable<unknown>, task?: string | null): number;
  /** All of `work` or nothing of it, on the disk when it returns. */
  immediate<T>(work: () => T): T;
  /**
   * All of `work` or nothing of it, known to every process when it returns, but on the disk only with the next one that
   * waits for it: for what means nothing any more once the machine has lost its power.
   */
  unhurried<T>(work: () => T): T;
  /** Everything that `work` reads is of one moment, whatever others commit meanwhile. */
  snapshot<T>(work: () => T): T;
  /** Another one when tasks or actions may have changed meanwhile, besides those that `touched` names. */
  moment(): string;
  /** Whose rows or actions this process changed since it was last asked. */
  touched(): string[];
  /** Says that the transaction under way writes events up to this one. */
  wrote(event: number): void;
  /** Calls `work` after every transaction that is on the disk and wrote events, with the last of these. */
  afterCommit(work: (event: number) => void): void;
  /** Brings what is in the log into the file and empties the log, as far as nobody is in the way: it never waits. */
  checkpoint(): void;
  exec(sql: string): void;
  /** The first column of the first row. */
  pragma(source: string): unknown;
  close(): void;
}

const BUSY_TIMEOUT_MS = 5_000;

/** What a list of tasks is read from. */
const CHANGES_TASKS = /^(?:insert into|update|delete from) "(?:tasks|actions)"/;

interface Options {
  readOnly: boolean;
  boot?: BootClock;
  /** Told of the events of every transaction, once it is committed. */
  committed?: (events: readonly number[]) => void;
}

export function openConnection(path: string, options: Options): Connection {
  const db = attempt(
    path,
    () => new Database(options.readOnly ? `${pathToFileURL(path).href}?mode=ro` : path),
  );
  const statements = new Map<string, Database.Statement>();

  const execute = (compilable: Compilable<unknown>) => {
    const { sql, parameters } = compilable.compile();
    parameters.forEach(requireBindable);
    let statement = statements.get(sql);
    if (!statement) {
      statement = db.prepare(sql);
      statements.set(sql, statement);
    }
    return { statement, parameters, sql };
  };

  // Always to the last row: a statement that was left half-read keeps its snapshot, and later reads see the past.
  function all<Row>(select: Compilable<Row>): Row[] {
    return attempt(path, () => {
      const { statement, parameters } = execute(select);
      return statement.all(parameters) as Row[];
    });
  }

  function exec(sql: string): void {
    attempt(path, () => db.exec(sql));
  }

  function pragma(source: string): unknown {
    return attempt(path, () => {
      const [row] = db.prepare(`PRAGMA ${source}`).all() as Record<string, unknown>[];
      return row && Object.values(row)[0];
    });
  }

  let changes = 0;
  const changed = new Set<string>();
  const byOthers = db.prepare('PRAGMA data_version');

  let committed = (_event: number): void => {};
  let written: number[] = [];

  function transaction<T>(work: () => T): T {
    exec('BEGIN IMMEDIATE');
    written = [];
    try {
      const result = work();
      exec('COMMIT');
      if (written.length > 0) options.committed?.(written);
      return result;
    } catch (error) {
      changes += 1;
      // A full disk may have rolled back already.
      if (db.inTransaction) db.exec('ROLLBACK');
      throw error;
    }
  }

  exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  exec('PRAGMA foreign_keys = ON');

  return {
    path,
    boot: options.boot ?? null,
    all,
    one: (select) => all(select)[0],
    run: (change, task) =>
      attempt(path, () => {
        const { statement, parameters, sql } = execute(change);
        if (task) changed.add(task);
        // The loop's own actions are in no list of tasks.
        else if (task === undefined && CHANGES_TASKS.test(sql)) changes += 1;
        return statement.run(parameters).changes;
      }),
    immediate(work) {
      const result = transaction(work);
      const last = written.at(-1);
      if (last !== undefined) committed(last);
      return result;
    },
    unhurried(work) {
      exec('PRAGMA synchronous = NORMAL');
      try {
        return transaction(work);
      } finally {
        exec('PRAGMA synchronous = FULL');
      }
    },
    snapshot(work) {
      exec('BEGIN');
      try {
        return work();
      } finally {
        exec('COMMIT');
      }
    },
    moment: () => attempt(path, () => `${changes} ${JSON.stringify(byOthers.all())}`),
    touched() {
      const tasks = [...changed];
      changed.clear();
      return tasks;
    },
    wrote(event) {
      written.push(event);
    },
    afterCommit(work) {
      committed = work;
    },
    checkpoint() {
      try {
        exec('PRAGMA busy_timeout = 0');
        pragma('wal_checkpoint(TRUNCATE)');
      } catch (error) {
        // A full or read-only disk: what was committed stays in the log, where it is as safe.
        if (!(error instanceof StoreUnavailable)) throw error;
      } finally {
        exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      }
    },
    exec,
    pragma,
    close() {
      statements.clear();
      db.close();
    },
  };
}

/** libsql aborts the whole process on a value it can't bind; a thrown error only fails the verb. */
function requireBindable(value: unknown): void {
  if (value === null || typeof value === 'string' || typeof value === 'number') return;
  throw new TypeError(`a ${typeof value} can't be stored in a column`);
}

const ADVICE: Record<string, string> = {
  SQLITE_FULL: 'the disk is full; free some space, then run again',
  SQLITE_READONLY: 'it is read-only; make the file and its folder writable for this user',
  SQLITE_BUSY: `another process has kept it locked for ${BUSY_TIMEOUT_MS / 1000} s; see which one has it open, then run again`,
  SQLITE_IOERR: 'reading or writing it failed; check the disk, then run again',
  SQLITE_CANTOPEN:
    'it cannot be opened; check that its folder exists and that this user may read and write there',
  SQLITE_CORRUPT: 'it is damaged; stop every runner and run again: it will be checked and moved aside',
  SQLITE_NOTADB: 'it is not a database; stop every runner and run again: it will be checked and moved aside',
};

/** What is wrong with the file itself, and not with a query; null for the latter. */
export function fileProblem(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  // Opening reports its code only inside the message.
  if (error.message.startsWith('ConnectionFailed')) return 'SQLITE_CANTOPEN';
  const code = 'code' in error ? /^SQLITE_[A-Z]+/.exec(String(error.code))?.[0] : undefined;
  return code !== undefined && code in ADVICE ? code : null;
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const problem = fileProblem(error);
    if (!problem) throw error;
    throw new StoreUnavailable(`The database ${path} is unavailable: ${ADVICE[problem]} (${problem}).`, {
      cause: error,
    });
  }
}
