/** Events: stamped inside the transaction that has the write lock, so that their sequence has no gaps. */
import { sql } from 'kysely';
import type { EventData, LoopEvent, NewEvent } from '../../core/event.ts';
import { loopHoldOf, type WrittenLoopHold } from '../../core/loop/loop-hold.ts';
import { type FoldedRow, foldLoop } from '../../core/loop/loop-row.ts';
import type { UnknownTurn } from '../../core/money/cost.ts';
import { stamp } from '../rules.ts';
import type { EventQuery, TurnRow } from '../store.ts';
import { type Connection, query } from './connection.ts';
import { keepPlan } from './plans.ts';
import { prepared } from './prepared.ts';
import type { EventsTable, LoopTable } from './schema.ts';

const NEWEST = prepared(() => query.selectFrom('events').select('seq').orderBy('seq', 'desc').limit(1));
const INSERT = prepared((row: EventsTable) => query.insertInto('events').values(row));

export function stampNext(
  connection: Connection,
  events: readonly NewEvent[],
  task: string | null,
  at: number,
): LoopEvent[] {
  if (events.length === 0) return [];
  return stamp(events, newestSeq(connection) + 1, task, at);
}

/** 0 before the first. */
export function newestSeq(connection: Connection): number {
  return connection.one(NEWEST({}))?.seq ?? 0;
}

/** Also keeps `turns`, `plans` and what the loop's row has of them, which are readings of the same events. */
export function append(connection: Connection, events: readonly LoopEvent[]): void {
  keepFolded(connection, events);
  for (const event of events) {
    const { seq, at, task, type, data } = event;
    connection.run(INSERT({ seq, at, task, type, data: JSON.stringify(data) }));
    connection.wrote(seq);
    keepPlan(connection, event);
    if (task === null) continue;
    if (event.type === 'turn_started') {
      const { turn, role, sessionId, prompt } = event.data;
      connection.run(
        query.insertInto('turns').values({
          task,
          turn,
          role,
          session: sessionId,
          prompt,
          status: null,
          started_at: at,
          ended_at: null,
        }),
      );
    }
    if (event.type === 'turn_completed') {
      const { turn, role, sessionId, status } = event.data;
      connection.run(
        query
          .updateTable('turns')
          .set({ status, ended_at: at })
          .where('task', '=', task)
          .where('turn', '=', turn)
          .where('role', '=', role)
          .where('session', '=', sessionId)
          .where('ended_at', 'is', null),
      );
    }
  }
}

const COLUMNS = {
  accountLimits: 'account_limits',
  holds: 'holds',
  trials: 'trials',
} as const satisfies Record<keyof FoldedRow, keyof LoopTable>;
const PARTS = Object.keys(COLUMNS) as (keyof FoldedRow)[];

const FOLDED = prepared(() => query.selectFrom('loop').select(Object.values(COLUMNS)));

export function readFolded(connection: Connection): FoldedRow {
  return foldedIn(connection.one(FOLDED({})));
}

/** A column that was added later is empty at first. */
export function foldedIn(row: Pick<LoopTable, (typeof COLUMNS)[keyof FoldedRow]> | undefined): FoldedRow {
  const kept = PARTS.map((part) => [part, JSON.parse(row?.[COLUMNS[part]] ?? '[]')]);
  const { holds, ...folded } = Object.fromEntries(kept) as Omit<FoldedRow, 'holds'> & {
    holds: WrittenLoopHold[];
  };
  return { ...folded, holds: holds.map(loopHoldOf) };
}

function keepFolded(connection: Connection, events: readonly LoopEvent[]): void {
  const before = readFolded(connection);
  const after = foldLoop(before, events, events[0]?.at ?? 0);
  for (const part of PARTS) {
    if (after[part] === before[part]) continue;
    connection.run(query.updateTable('loop').set({ [COLUMNS[part]]: JSON.stringify(after[part]) }));
  }
}

export function readEvents(
  connection: Connection,
  { after, since, task, limit, last, type, data }: EventQuery,
): LoopEvent[] {
  let select = query.selectFrom('events').selectAll();
  if (after !== undefined) select = select.where('seq', '>', after);
  if (since !== undefined) select = select.where('at', '>=', since);
  if (task !== undefined) select = select.where('task', '=', task);
  // An index of some types only is found by a type that is part of the statement's text.
  if (type !== undefined && data) select = select.where('type', '=', sql.lit(type));
  else if (type !== undefined) select = select.where(task === undefined ? 'type' : AMONG_ITS_OWN, '=', type);
  for (const [key, value] of Object.entries(data ?? {}))
    select = select.where(sql`json_extract(data, ${sql.lit(`$.${key}`)})`, '=', value);
  const most = last ?? limit;
  if (most !== undefined) select = select.limit(most);
  const rows = connection.all(select.orderBy('seq', last === undefined ? 'asc' : 'desc'));
  if (last !== undefined) rows.reverse();
  return rows
    .slice(0, limit)
    .map(({ seq, at, task, type, data }) => ({ seq, at, task, type, data: JSON.parse(data) }) as LoopEvent);
}

export function readTurns(connection: Connection, taskId: string): TurnRow[] {
  const rows = connection.all(query.selectFrom('turns').selectAll().where('task', '=', taskId).orderBy('id'));
  return rows.map(({ id: _id, session, started_at, ended_at, ...row }) => ({
    ...row,
    sessionId: session,
    startedAt: started_at,
    endedAt: ended_at,
  }));
}

/** The turns, and what a person did in their place, of which nobody knows what they cost; of all tasks by `events_of_unknown_usage`. */
export function unknownUsage(of: { task?: string | undefined; since?: number }) {
  let unknown = query
    .selectFrom('events')
    .select('seq')
    .where(sql<boolean>`json_extract(data, '$.usage') = 'unknown'`);
  if (of.since !== undefined) unknown = unknown.where('at', '>=', of.since);
  return of.task === undefined
    ? unknown.where(sql<boolean>`type IN ('turn_completed', 'detached')`)
    : unknown.where('task', '=', of.task).where(AMONG_ITS_OWN, 'in', ['turn_completed', 'detached']);
}

export function readUnknownTurns(
  connection: Connection,
  of: { task?: string | undefined; since?: number },
): UnknownTurn[] {
  const turns = unknownUsage(of).where(AMONG_ITS_OWN, '=', 'turn_completed');
  const rows = connection.all(turns.select(['task', 'at', 'data']).orderBy('seq'));
  return rows.flatMap(({ task, at, data }) => {
    const { role, turn, sessionId } = JSON.parse(data) as EventData['turn_completed'];
    return task === null ? [] : [{ task, role, turn, sessionId, at }];
  });
}

/** The type of a task's events, which are few. By the index of types all that ever happened would be looked through. */
const AMONG_ITS_OWN = sql<string>`+type`;
