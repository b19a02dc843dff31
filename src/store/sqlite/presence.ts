/**
 * Who has the database open to write. Each such process holds a lock of the kernel's on a file beside it: also a runner
 * that has nothing to do and no lease, and none any more once its process is gone, whatever ended that. The file is an
 * empty SQLite database, because SQLite knows how to lock one on every system; nothing else may ever open it, since
 * closing it again would end the locks of its process.
 */
import { StoreUnavailable, UserError } from '../../errors.ts';
import { fileProblem, openConnection } from './connection.ts';

const open = (path: string) => openConnection(`${path}.open`, { readOnly: false });

/** From now on nobody replaces the database. Waits for whoever does so just now. */
export function bePresent(path: string): { leave(): void } {
  const connection = open(path);
  try {
    connection.exec('BEGIN');
    connection.exec('SELECT count(*) FROM sqlite_master');
  } catch (error) {
    connection.close();
    throw error;
  }
  return {
    leave() {
      // Closing alone might wait for the garbage collector.
      connection.exec('ROLLBACK');
      connection.close();
    },
  };
}

/** Nobody else opens the database to write meanwhile; throws when somebody has. */
export function alone<T>(path: string, work: () => T): T {
  const connection = open(path);
  try {
    connection.exec('PRAGMA busy_timeout = 0');
    begin(connection, path);
    try {
      return work();
    } finally {
      connection.exec('ROLLBACK');
    }
  } finally {
    connection.close();
  }
}

function begin(connection: ReturnType<typeof open>, path: string): void {
  try {
    connection.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    const isBusy = error instanceof StoreUnavailable && fileProblem(error.cause) === 'SQLITE_BUSY';
    if (!isBusy) throw error;
    throw new UserError(
      `A runner, or another command, works with ${path}.`,
      'Stop it first: `forge-loop stop`, `forge-loop stop --now`, or Ctrl-C where it runs.',
    );
  }
}
