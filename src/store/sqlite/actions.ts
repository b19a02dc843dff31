/** The outbox. Ids are never used twice, so an outcome can't be taken for that of a later action. */
import type { Action, PendingAction } from '../../core/action.ts';
import type { NewEvent } from '../../core/event.ts';
import { VersionConflict } from '../../errors.ts';
import { applyAll, requireKey } from '../rules.ts';
import { type Lease, taskLease } from '../store.ts';
import type { Connection } from './connection.ts';
import { append, stampNext } from './journal.ts';
import { checkLease } from './leases.ts';
import type { ActionsTable } from './schema.ts';
import { loadTask, updateTask } from './task-row.ts';

export function pendingActions(connection: Connection, taskId: string | null): PendingAction[] {
  const rows = connection.all<ActionsTable>('SELECT * FROM actions WHERE task IS ? ORDER BY id', taskId);
  return rows.map(({ id, task, action, started_at, attempts, not_before }) => ({
    id,
    task,
    action: JSON.parse(action) as Action,
    startedAt: started_at,
    attempts,
    notBefore: not_before,
  }));
}

export function addActions(
  connection: Connection,
  task: string | null,
  actions: readonly Action[] = [],
): void {
  for (const action of actions) {
    const text = JSON.stringify(action);
    connection.insert('actions', { task, action: text, started_at: null, attempts: 0, not_before: 0 });
  }
}

/** Refused when it is not there: its outcome was recorded before, or it was dropped. */
export function finishAction(connection: Connection, task: string | null, id: number | undefined): void {
  if (id === undefined) return;
  const gone = connection.run('DELETE FROM actions WHERE id = ? AND task IS ?', id, task);
  if (gone === 0) throw noSuchAction(id);
}

export function dropActions(connection: Connection, task: string): void {
  connection.run('DELETE FROM actions WHERE task = ?', task);
}

export function startAction(connection: Connection, lease: Lease, id: number, at: number): void {
  connection.immediate(() => {
    ownAction(connection, lease, id, at);
    connection.update('actions', { started_at: at }, 'id = ?', id);
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
      'UPDATE actions SET started_at = NULL, not_before = ?, attempts = attempts + 1 WHERE id = ?',
      notBefore,
      id,
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
  const action = connection.one<Pick<ActionsTable, 'task'>>('SELECT task FROM actions WHERE id = ?', id);
  if (!action) throw noSuchAction(id);
  if (action.task !== null) requireKey(lease, taskLease(action.task));
  checkLease(connection, lease, at);
  return action.task;
}

function noSuchAction(id: number): VersionConflict {
  return new VersionConflict(`action ${id} is not pending any more: it was finished or dropped meanwhile`);
}
