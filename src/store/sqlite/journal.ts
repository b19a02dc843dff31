/** Events: stamped inside the transaction that has the write lock, so that their sequence has no gaps. */
import { type AccountLimit, afterAccounts } from '../../core/account.ts';
import type { LoopEvent, NewEvent } from '../../core/event.ts';
import { stamp } from '../rules.ts';
import type { TurnRow } from '../store.ts';
import type { Connection, Value } from './connection.ts';
import type { EventsTable, LoopTable, TurnsTable } from './schema.ts';

export function stampNext(
  connection: Connection,
  events: readonly NewEvent[],
  task: string | null,
  at: number,
): LoopEvent[] {
  if (events.length === 0) return [];
  const newest = connection.one<{ seq: number | null }>('SELECT max(seq) AS seq FROM events');
  return stamp(events, (newest?.seq ?? 0) + 1, task, at);
}

/** Also keeps `turns` and the limits of accounts, which are readings of the same events. */
export function append(connection: Connection, events: readonly LoopEvent[]): void {
  keepAccountLimits(connection, events);
  for (const event of events) {
    const { seq, at, task, type, data } = event;
    connection.insert('events', { seq, at, task, type, data: JSON.stringify(data) });
    if (task === null) continue;
    if (event.type === 'turn_started') {
      const { turn, role, sessionId, prompt } = event.data;
      const begun = { status: null, started_at: at, ended_at: null };
      connection.insert('turns', { task, turn, role, session: sessionId, prompt, ...begun });
    }
    if (event.type === 'turn_completed') {
      const { turn, role, sessionId, status } = event.data;
      connection.update(
        'turns',
        { status, ended_at: at },
        'task = ? AND turn = ? AND role = ? AND session = ? AND ended_at IS NULL',
        task,
        turn,
        role,
        sessionId,
      );
    }
  }
}

export function readAccountLimits(connection: Connection): readonly AccountLimit[] {
  const row = connection.one<Pick<LoopTable, 'account_limits'>>('SELECT account_limits FROM loop');
  return row?.account_limits ? (JSON.parse(row.account_limits) as AccountLimit[]) : [];
}

function keepAccountLimits(connection: Connection, events: readonly LoopEvent[]): void {
  if (!events.some(({ type }) => type === 'account_limited' || type === 'account_released')) return;
  const after = afterAccounts(readAccountLimits(connection), events);
  connection.update('loop', { account_limits: JSON.stringify(after) }, 'id = 1');
}

export function readEvents(
  connection: Connection,
  wanted: { after?: number; task?: string; limit?: number; last?: number; type?: string },
): LoopEvent[] {
  const { after, task, limit, last, type } = wanted;
  const where = ['seq > ?'];
  const values: Value[] = [after ?? 0];
  if (task !== undefined) {
    where.push('task = ?');
    values.push(task);
  }
  if (type !== undefined) {
    where.push('type = ?');
    values.push(type);
  }
  const order = last === undefined ? 'ASC' : 'DESC';
  const rows = connection.all<EventsTable>(
    `SELECT * FROM events WHERE ${where.join(' AND ')} ORDER BY seq ${order} LIMIT ?`,
    ...values,
    last ?? limit ?? NO_LIMIT,
  );
  if (last !== undefined) rows.reverse();
  return rows
    .slice(0, limit)
    .map(({ seq, at, task, type, data }) => ({ seq, at, task, type, data: JSON.parse(data) }) as LoopEvent);
}

/** What SQLite takes for no limit at all. */
const NO_LIMIT = -1;

export function readTurns(connection: Connection, taskId: string): TurnRow[] {
  const rows = connection.all<TurnsTable>('SELECT * FROM turns WHERE task = ? ORDER BY id', taskId);
  return rows.map(({ id: _id, session, started_at, ended_at, ...row }) => ({
    ...row,
    sessionId: session,
    startedAt: started_at,
    endedAt: ended_at,
  }));
}

export function hasUnknownUsage(
  connection: Connection,
  { task, since }: { task: string; since?: never } | { task?: never; since: number },
): boolean {
  const whose = task === undefined ? 'at >= ?' : 'task = ?';
  const unknown = connection.one(
    `SELECT seq FROM events
     WHERE type = 'turn_completed' AND json_extract(data, '$.usage') = 'unknown' AND ${whose} LIMIT 1`,
    task ?? since ?? 0,
  );
  return unknown !== undefined;
}
