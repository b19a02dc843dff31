/** A damaged database is never used and never deleted: it is moved aside, whole, and the person is told. */
import { renameSync, statSync } from 'node:fs';
import { StoreUnavailable, UserError } from '../../errors.ts';
import { type Connection, fileProblem } from './connection.ts';

/** What is wrong with the database, or null. */
export function damage(
  connection: Connection,
  check: 'quick_check' | 'integrity_check' = 'quick_check',
): string | null {
  try {
    const answer = connection.pragma(check);
    return answer === 'ok' ? null : String(answer);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const problem = fileProblem(error.cause);
    if (problem === 'SQLITE_NOTADB') return 'it is not a database';
    if (problem === 'SQLITE_CORRUPT') return 'its structure is broken';
    throw error;
  }
}

/**
 * SQLite silently deletes a write-ahead log that lies beside an empty or missing file, and with it everything that had
 * not reached the file. The log is measured first: whoever writes one has given the file its first page before.
 */
export function strandedLog(path: string): string | null {
  if (sizeOf(`${path}-wal`) === 0 || sizeOf(path) > 0) return null;
  return 'it is empty, but a write-ahead log with data lies beside it';
}

/** Moves the database and its companions, then says so; `at` names the new files. */
export function moveAside(path: string, problem: string, at: Date): never {
  const aside = `${path}.corrupt-${at.toISOString().replaceAll(':', '-')}`;
  try {
    setAside(path, aside);
  } catch (cause) {
    throw new UserError(
      `The database ${path} is damaged (${problem}), and could not be moved to ${aside}.`,
      'Make its folder writable for this user, or move the file and its -wal and -shm away by hand.',
      { cause },
    );
  }
  throw new UserError(
    `The database ${path} is damaged (${problem}). It was moved to ${aside}; nothing was deleted.`,
    `Put a backup in its place: \`forge-loop restore <file>\`. Without one, \`forge-loop restore --empty\` starts over. An empty database knows nothing of earlier tasks: an issue that is still labelled loop:running is not taken up by itself; its branch, workspace and pull request are where they were. Finish it by hand, or label it loop:ready for a new attempt. To save what can be read: sqlite3 '${aside}' .recover`,
  );
}

/** The database with its companions under another name; null when there is none. */
export function setAside(path: string, aside: string): string | null {
  const moved = ['', '-wal', '-shm'].map((suffix) => moveIfThere(`${path}${suffix}`, `${aside}${suffix}`));
  return moved.includes(true) ? aside : null;
}

/** For readers, which change nothing. */
export function refuse(path: string, problem: string): never {
  throw new UserError(
    `The database ${path} is damaged (${problem}). Nothing was changed.`,
    'Run `forge-loop run`: it moves the file aside and says where, and how to continue.',
  );
}

function moveIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return false;
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
