/** Whole copies of the database: made beside whoever writes, and put back. Nothing is ever overwritten or deleted. */
import { existsSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { sql } from 'kysely';
import { UserError } from '../../errors.ts';
import { openConnection, query } from './connection.ts';
import { damage, setAside } from './integrity.ts';
import { newestSeq } from './journal.ts';
import { replaceKnown } from './known.ts';
import { isEmpty, migrate, requireKnownVersion, requireOurs } from './migrations.ts';
import { alone } from './presence.ts';

/** One snapshot, checked before it gets its name. */
export function backUp(path: string, to: string): { path: string; events: number; bytes: number } {
  if (!existsSync(path)) throw new UserError(`There is no database at ${path} to back up.`);
  if (existsSync(to))
    throw new UserError(`${to} already exists; a backup never overwrites a file.`, 'Name another file.');
  if (!existsSync(dirname(to)))
    throw new UserError(`The folder ${dirname(to)} is not there.`, 'Make it, or name another one.');
  return copied(path, to, (partial, events) => {
    renameSync(partial, to);
    return { path: to, events, bytes: statSync(to).size };
  });
}

interface Restored {
  path: string;
  events: number;
  aside: string | null;
}

/**
 * Puts `from` in the place of the database, which is kept aside. `from` may be the database itself: it is taken as it is.
 * Whoever has it open to write would go on with what was moved away, so there must be nobody.
 */
export function restore(path: string, from: string | null, at: Date): Restored {
  return alone(path, () => restoreAlone(path, from, at));
}

function restoreAlone(path: string, from: string | null, at: Date): Restored {
  const replaced = `${path}.replaced-${at.toISOString().replaceAll(':', '-')}`;
  if (from === null) {
    const aside = setAside(path, replaced);
    settle(path);
    return { path, events: 0, aside };
  }
  if (existsSync(path) && existsSync(from) && realpathSync(path) === realpathSync(from)) {
    const events = lastEventOf(path);
    settle(path);
    return { path, events, aside: null };
  }
  return copied(from, path, (partial, events) => {
    const aside = setAside(path, replaced);
    renameSync(partial, path);
    settle(path);
    return { path, events, aside };
  });
}

function copied<T>(from: string, to: string, use: (partial: string, events: number) => T): T {
  lastEventOf(from);
  const partial = `${to}.partial-${process.pid}`;
  const source = openConnection(from, { readOnly: true });
  try {
    source.run({ compile: () => sql`VACUUM INTO ${partial}`.compile(query) });
    return use(partial, lastEventOf(partial));
  } finally {
    source.close();
    rmSync(partial, { force: true });
  }
}

/** Throws unless the file is a whole database of ours. */
function lastEventOf(path: string): number {
  if (!existsSync(path))
    throw new UserError(`There is no file ${path}.`, 'Name a file that `forge-loop backup` made.');
  const connection = openConnection(path, { readOnly: true });
  try {
    const problem = damage(connection, 'integrity_check');
    if (problem) throw new UserError(`${path} is damaged (${problem}).`, 'Name another file.');
    if (isEmpty(connection)) throw new UserError(`${path} is empty.`, 'Name another file.');
    requireOurs(connection);
    requireKnownVersion(connection);
    return newestSeq(connection);
  } finally {
    connection.close();
  }
}

/** From now on this is what is known to be written. */
function settle(path: string): void {
  const connection = openConnection(path, { readOnly: false });
  if (isEmpty(connection)) migrate(connection);
  connection.checkpoint();
  replaceKnown(connection);
  connection.close();
}
