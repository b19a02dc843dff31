/** A task's row: the whole task as JSON, and beside it the columns that are queried, always written together. */
import { isEnded, occupiesSlot, revived, type StoredTask, type Task } from '../../core/task.ts';
import { isJudging } from '../rules.ts';
import type { TaskFilter } from '../store.ts';
import type { Connection } from './connection.ts';
import type { TasksTable } from './schema.ts';

export function loadTask(connection: Connection, id: string): StoredTask | null {
  const row = connection.one<Row>('SELECT id, version, data FROM tasks WHERE id = ?', id);
  return row ? stored(connection, row) : null;
}

export function listTasks(connection: Connection, filter: TaskFilter): StoredTask[] {
  const { issue, live } = filter;
  const where = ['TRUE'];
  if (issue !== undefined) where.push('issue = ?');
  if (live) where.push('(ended = 0 OR id IN (SELECT task FROM actions WHERE task IS NOT NULL))');
  const rows = connection.all<Row>(
    `SELECT id, version, data FROM tasks WHERE ${where.join(' AND ')} ORDER BY created_at, rowid`,
    ...(issue === undefined ? [] : [issue]),
  );
  return rows.map((row) => stored(connection, row));
}

export function insertTask(connection: Connection, { task, version }: StoredTask): void {
  connection.insert('tasks', { id: task.id, ...columns(task), version });
}

export function updateTask(connection: Connection, { task, version }: StoredTask): void {
  connection.update('tasks', { ...columns(task), version }, 'id = ?', task.id);
}

/** The task that stands in the way of another one for the same issue. */
export function liveTaskOf(connection: Connection, issue: number): string | undefined {
  return connection.one<Pick<Row, 'id'>>('SELECT id FROM tasks WHERE issue = ? AND ended = 0', issue)?.id;
}

type Row = Pick<TasksTable, 'id' | 'version' | 'data'>;

/** Rows are read far more often than they change, and a task is never changed in place. */
const parsed = new WeakMap<Connection, Map<string, { data: string; task: Task }>>();
const MOST = 2000;

function stored(connection: Connection, { id, version, data }: Row): StoredTask {
  const known = parsed.get(connection) ?? new Map<string, { data: string; task: Task }>();
  parsed.set(connection, known);
  const last = known.get(id);
  if (last?.data === data) return { task: last.task, version };
  const task = revived(JSON.parse(data) as Task);
  if (known.size >= MOST) known.clear();
  known.set(id, { data, task });
  return { task, version };
}

function columns(task: Task): Omit<TasksTable, 'id' | 'version'> {
  return {
    issue: task.issue,
    attempt: task.attempt,
    state: task.state,
    reason: task.reason,
    turns: task.turns,
    critic_rounds: task.criticRounds,
    session_id: task.sessionId,
    pull: task.pull,
    head_sha: task.headSha,
    slot: occupiesSlot(task) ? 1 : 0,
    judging: isJudging(task) ? 1 : 0,
    ended: isEnded(task) ? 1 : 0,
    created_at: task.createdAt,
    data: JSON.stringify(task),
  };
}
