/** A task's row: the whole task as JSON, and beside it the columns that are queried, always written together. */

import { fold } from '../../core/fold.ts';
import {
  isEnded,
  isJudging,
  NO_MEMORIES,
  occupiesSlot,
  type StoredTask,
  type Task,
} from '../../core/task.ts';
import type { TaskFilter } from '../store.ts';
import { type Connection, query } from './connection.ts';
import { readEvents } from './journal.ts';
import { prepared } from './prepared.ts';
import type { TasksTable } from './schema.ts';

const TASK = prepared(({ id }: { id: string }) =>
  query.selectFrom('tasks').select(['id', 'version', 'data']).where('id', '=', id),
);

const UPDATE = prepared(({ id, ...row }: TasksTable) =>
  query.updateTable('tasks').set(row).where('id', '=', id),
);

export function loadTask(connection: Connection, id: string): StoredTask | null {
  const row = connection.one(TASK({ id }));
  if (!row) return null;
  return known(connection, row.id, row.version) ?? remember(connection, row);
}

export function listTasks(connection: Connection, filter: TaskFilter): readonly StoredTask[] {
  const key = JSON.stringify(filter);
  const { byFilter } = currentLists(connection);
  const tasks = byFilter.get(key)?.tasks ?? readList(connection, filter);
  byFilter.set(key, { filter, tasks });
  return tasks;
}

interface Lists {
  moment: string;
  byFilter: Map<string, { filter: TaskFilter; tasks: readonly StoredTask[] }>;
}

/** Every look at a task asks for all that are live, and nearly every look writes: what this process changed is changed in them too. */
const lists = new WeakMap<Connection, Lists>();

function currentLists(connection: Connection): Lists {
  const [moment, touched] = [connection.moment(), connection.touched()];
  const known = lists.get(connection);
  if (known?.moment === moment) {
    for (const id of touched) update(connection, known, id);
    return known;
  }
  const empty: Lists = { moment, byFilter: new Map() };
  lists.set(connection, empty);
  return empty;
}

function update(connection: Connection, { byFilter }: Lists, id: string): void {
  const stored = loadTask(connection, id);
  for (const [key, { filter, tasks }] of byFilter) {
    const at = tasks.findIndex(({ task }) => task.id === id);
    const isListed = stored !== null && belongs(connection, filter, stored.task);
    // Its place in the order is the database's to say.
    if (isListed && at < 0) byFilter.delete(key);
    else if (isListed) byFilter.set(key, { filter, tasks: tasks.with(at, stored) });
    else if (at >= 0) byFilter.set(key, { filter, tasks: tasks.toSpliced(at, 1) });
  }
}

const belongs = (connection: Connection, { live, issue }: TaskFilter, task: Task): boolean =>
  (issue === undefined || task.issue === issue) &&
  (!live || !isEnded(task) || connection.one(ACTING({ task: task.id })) !== undefined);

const ACTING = prepared(({ task }: { task: string }) =>
  query.selectFrom('actions').select('id').where('task', '=', task).limit(1),
);

function readList(connection: Connection, filter: TaskFilter): StoredTask[] {
  let select = query.selectFrom('tasks').select(['id', 'version']);
  if (filter.issue !== undefined) select = select.where('issue', '=', filter.issue);
  if (filter.live) {
    const acting = query.selectFrom('actions').select('task').where('task', 'is not', null);
    select = select.where((where) => where.or([where('ended', '=', 0), where('id', 'in', acting)]));
  }
  const rows = connection.all(select.orderBy('created_at').orderBy('rowid' as 'id'));
  return rows.flatMap(({ id, version }) => known(connection, id, version) ?? loadTask(connection, id) ?? []);
}

export function insertTask(connection: Connection, { task, version }: StoredTask): void {
  connection.run(query.insertInto('tasks').values({ id: task.id, ...columns(task), version }), task.id);
}

export function updateTask(connection: Connection, { task, version }: StoredTask): void {
  connection.run(UPDATE({ id: task.id, ...columns(task), version }), task.id);
}

/** The task that stands in the way of another one for the same issue. */
export function liveTaskOf(connection: Connection, issue: number): string | undefined {
  return connection.one(
    query.selectFrom('tasks').select('id').where('issue', '=', issue).where('ended', '=', 0),
  )?.id;
}

type Row = Pick<TasksTable, 'id' | 'version' | 'data'>;

/** Rows are read far more often than they change; a task is never changed in place, nor a row without its version. */
const parsed = new WeakMap<Connection, Map<string, StoredTask>>();
const MOST = 5000;

function known(connection: Connection, id: string, version: number): StoredTask | null {
  const found = parsed.get(connection)?.get(id);
  return found?.version === version ? found : null;
}

function remember(connection: Connection, { id, version, data }: Row): StoredTask {
  const all = parsed.get(connection) ?? new Map<string, StoredTask>();
  parsed.set(connection, all);
  const row = JSON.parse(data) as Task;
  // Of before there were roles, or by a runner of such a version that was still at work during the upgrade; or of before
  // there was one of them, who has nothing to remember then.
  const task = row.roles
    ? { ...row, roles: { ...NO_MEMORIES, ...row.roles } }
    : fold(id, readEvents(connection, { task: id }));
  if (all.size >= MOST) all.clear();
  all.set(id, { task, version });
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
    session_id: task.roles.coder.session,
    pull: task.pull,
    head_sha: task.headSha,
    slot: occupiesSlot(task) ? 1 : 0,
    judging: isJudging(task) ? 1 : 0,
    ended: isEnded(task) ? 1 : 0,
    created_at: task.createdAt,
    data: JSON.stringify(task),
  };
}
