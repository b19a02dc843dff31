/** Events: stamped inside the transaction that has the write lock, so that their sequence has no gaps. */
import { sql } from 'kysely';
import { type AccountLimit, afterAccounts } from '../../core/account.ts';
import type { LoopEvent, NewEvent } from '../../core/event.ts';
import { stamp } from '../rules.ts';
import type { TurnRow } from '../store.ts';
import { type Connection, query } from './connection.ts';
import { prepared } from './prepared.ts';
import type { EventsTable } from './schema.ts';

const NEWEST = prepared(() => query.selectFrom('events').select('seq').orderBy('seq', 'desc').limit(1));
const INSERT = prepared((row: EventsTable) => query.insertInto('events').values(row));

export function stampNext(
  connection: Connection,
  events: readonly NewEvent[],
  task: string | null,
  at: number,
): LoopEvent[] {
  if (events.length === 0) return [];
  const newest = connection.one(NEWEST({}));
  return stamp(events, (newest?.seq ?? 0) + 1, task, at);
}

/** Also keeps `turns` and the limits of accounts, which are readings of the same events. */
export function append(connection: Connection, events: readonly LoopEvent[]): void {
  keepAccountLimits(connection, events);
  for (const event of events) {
    const { seq, at, task, type, data } = event;
    connection.run(INSERT({ seq, at, task, type, data: JSON.stringify(data) }));
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

export function readAccountLimits(connection: Connection): readonly AccountLimit[] {
  return accountLimitsIn(connection.one(query.selectFrom('loop').select('account_limits')));
}

export function accountLimitsIn(
  loop: { account_limits: string | null } | undefined,
): readonly AccountLimit[] {
  return loop?.account_limits ? (JSON.parse(loop.account_limits) as AccountLimit[]) : [];
}

function keepAccountLimits(connection: Connection, events: readonly LoopEvent[]): void {
  if (!events.some(({ type }) => type === 'account_limited' || type === 'account_released')) return;
  const after = afterAccounts(readAccountLimits(connection), events);
  connection.run(query.updateTable('loop').set({ account_limits: JSON.stringify(after) }));
}

export function readEvents(
  connection: Connection,
  wanted: { after?: number; task?: string; limit?: number; last?: number; type?: string },
): LoopEvent[] {
  const { after, task, limit, last, type } = wanted;
  let select = query.selectFrom('events').selectAll();
  if (after !== undefined) select = select.where('seq', '>', after);
  if (task !== undefined) select = select.where('task', '=', task);
  if (type !== undefined) select = select.where('type', '=', type);
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

/** The turns of which nobody knows what they cost. */
export function unknownUsage(of: { task: string } | { since: number }) {
  const unknown = query
    .selectFrom('events')
    .select('seq')
    .where('type', '=', 'turn_completed')
    .where(sql`json_extract(data, '$.usage')`, '=', 'unknown');
  return 'task' in of ? unknown.where('task', '=', of.task) : unknown.where('at', '>=', of.since);
}
