/** Tasks that have ended, by their end: over the years they are all but a few, so they are never looked through. */
import { sql } from 'kysely';
import type { StoredTask } from '../../core/task.ts';
import type { Outcome } from '../store.ts';
import { type Connection, query } from './connection.ts';
import { prepared } from './prepared.ts';
import { loadTask } from './task-row.ts';

/** As `tasks_by_end` has it. */
const ENDED_AT = sql<number>`json_extract(data, '$.endedAt')`;

interface Page {
  since?: number;
  limit?: number;
  skip?: number;
}

export const endedTasks = (connection: Connection, page: Page): readonly StoredTask[] =>
  connection.all(endsOf(page)).flatMap(({ id }) => loadTask(connection, id) ?? []);

export function endsOf({ since, limit = -1, skip = 0 }: Page) {
  let select = query.selectFrom('tasks').select('id').where('ended', '=', 1);
  if (since !== undefined) select = select.where(ENDED_AT, '>=', since);
  return select.orderBy(ENDED_AT, 'desc').orderBy(sql`rowid`, 'desc').limit(limit).offset(skip);
}

export const outcomes = (connection: Connection): Outcome[] => connection.all(OUTCOMES({}));

export const OUTCOMES = prepared(() =>
  query
    .selectFrom('tasks')
    .select(['state', 'reason', sql<number>`count(*)`.as('tasks')])
    .where('ended', '=', 1)
    .groupBy(['state', 'reason']),
);
