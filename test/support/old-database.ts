/** A database as an earlier version wrote it, kept as SQL text in test/fixtures. */
import { readFileSync } from 'node:fs';
import { openConnection } from '../../src/store/sqlite/connection.ts';

/** Makes `path` such a database. Nothing is migrated until somebody opens it as a store. */
export function oldDatabase(name: 'before-roles', path: string): void {
  const dump = readFileSync(new URL(`../fixtures/${name}.sql`, import.meta.url), 'utf8');
  const connection = openConnection(path, { readOnly: false });
  connection.exec(dump);
  connection.close();
}
