/** The outbox. Ids are never used twice, so an outcome can't be taken for that of a later action. */
import type { Selectable } from 'kysely';
import type { Action, PendingAction } from '../../core/action.ts';
import type { NewEvent } from '../../core/event.ts';
import { VersionConflict } from '../../errors.ts';
import { applyAll, requireKey } from '../rules.ts';
import { type Lease, taskLease } from '../store.ts';
import { type Connection, query } from './connection.ts';
import { append, stampNext } from './journal.ts';
import { checkLease } from './leases.ts';
import { prepared } from './prepared.ts';
import type { ActionsTable } from './schema.ts';
import { loadTask, updateTask } from './task-row.ts';

type Owner = { task: string | null };

const PENDING = prepared(({ task }: Owner) =>
  query.selectFrom('actions').selectAll().where('task', 'is', task).orderBy('id'),
);

const STARTED = prepared(() =>
  query
    .selectFrom('actions')
    .selectAll()
    .where('started_at', 'is not', null)
    .where('task', 'is not', null)
    .orderBy('id'),
);

const INSERT = prepared((row: Owner & { action: string }) =>
  query.insertInto('actions').values({ ...row, started_at: null, attempts: 0, not_before: 0 }),
);

const FINISH = prepared(({ id, task }: Owner & { id: number }) =>
  query.deleteFrom('actions').where('id', '=', id).where('task', 'is', task),
);

export function pendingActions(connection: Connection, taskId: string | null): PendingAction[] {
  return connection.all(PENDING({ task: taskId })).map(pendingAction);
}

export function startedActions(connection: Connection): PendingAction[] {
  return connection.all(STARTED({})).map(pendingAction);
}

const pendingAction = (row: Selectable<ActionsTable>): PendingAction => ({
  id: row.id,
  task: row.task,
  action: JSON.parse(row.action) as Action,
  startedAt: row.started_at,
  attempts: row.attempts,
  notBefore: row.not_before,
});

export function addActions(
  connection: Connection,
  task: string | null,
  actions: readonly Action[] = [],
): void {
  for (const action of actions) {
    connection.run(INSERT({ task, action: JSON.stringify(action) }), task);
  }
}

/** Refused when it is not there: its outcome was recorded before, or it was dropped. */
export function finishAction(connection: Connection, task: string | null, id: number | undefined): void {
  if (id === undefined) return;
  const gone = connection.run(FINISH({ id, task }), task);
  if (gone === 0) throw noSuchAction(id);
}

export function dropActions(connection: Connection, task: string): void {
  connection.run(query.deleteFrom('actions').where('task', '=', task), task);
}

export function startAction(connection: Connection, lease: Lease, id: number, at: number): void {
  connection.immediate(() => {
    const task = ownAction(connection, lease, id, at);
    connection.run(query.updateTable('actions').set({ started_at: at }).where('id', '=', id), task);
  });
}

export function deferAction(
  connection: Connection,
  lease: Lease,
  id: number,
  notBefore: number,
  events: readonly NewEvent[],
  at: number,
): void {
  connection.immediate(() => {
    const task = ownAction(connection, lease, id, at);
    connection.run(
      query
        .updateTable('actions')
        .set((old) => ({ started_at: null, not_before: notBefore, attempts: old('attempts', '+', 1) }))
        .where('id', '=', id),
      task,
    );
    const stamped = stampNext(connection, events, task, at);
    append(connection, stamped);
    const stored = task === null ? null : loadTask(connection, task);
    if (!stored) return;
    const after = applyAll(stored.task, stamped);
    // Most such events say nothing about the row, and then its version stays what the caller knows.
    if (after !== stored.task) updateTask(connection, { task: after, version: stored.version + 1 });
  });
}

/** The task it belongs to, once the lease is proved to cover it. */
function ownAction(connection: Connection, lease: Lease, id: number, at: number): string | null {
  const action = connection.one(query.selectFrom('actions').select('task').where('id', '=', id));
  if (!action) throw noSuchAction(id);
  if (action.task !== null) requireKey(lease, taskLease(action.task));
  checkLease(connection, lease, at);
  return action.task;
}

function noSuchAction(id: number): VersionConflict {
  return new VersionConflict(`action ${id} is not pending any more: it was finished or dropped meanwhile`);
}
