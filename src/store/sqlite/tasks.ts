/** Claiming a task and committing to it: check everything, then write everything, in one transaction. */
import { sql } from 'kysely';
import type { Finding } from '../../core/change/findings.ts';
import type { StoredTask } from '../../core/task.ts';
import { VersionConflict } from '../../errors.ts';
import {
  applyAll,
  firstRow,
  isFoundOutAgain,
  type Limited,
  requireAccount,
  requireKey,
  requireOnlyTask,
  requireRoom,
} from '../rules.ts';
import { type Claim, type Commit, claimLease, taskLease } from '../store.ts';
import { addActions, dropActions, finishAction, pendingActions } from './actions.ts';
import { type Connection, query } from './connection.ts';
import { append, readFolded, stampNext } from './journal.ts';
import { checkLease } from './leases.ts';
import { insertTask, liveTaskOf, loadTask, updateTask } from './task-row.ts';

export function claimTask(connection: Connection, claim: Claim): StoredTask | null {
  const { lease, taskId, issue, at } = claim;
  return connection.immediate(() => {
    requireKey(lease, claimLease(claim));
    checkLease(connection, lease, at);
    if (issue !== null && liveTaskOf(connection, issue) !== undefined) return null;

    const events = stampNext(connection, claim.events, taskId, at);
    const born = { task: firstRow(taskId, events), version: 1 };
    insertTask(connection, born);
    append(connection, events);
    addActions(connection, taskId, claim.actions);
    return born;
  });
}

export function commitTask(connection: Connection, commit: Commit): StoredTask {
  const { lease, taskId, at } = commit;
  const mayBeLost =
    (commit.finishActions ?? []).length > 0 && isFoundOutAgain(commit, pendingActions(connection, taskId));
  const transaction = mayBeLost ? connection.unhurried : connection.immediate;
  return transaction(() => {
    requireKey(lease, taskLease(taskId));
    checkLease(connection, lease, at);
    const before = loadTask(connection, taskId);
    if (before?.version !== commit.expectedVersion) {
      throw new VersionConflict(
        `task ${taskId} is at version ${before?.version ?? 'none'}, not ${commit.expectedVersion}`,
      );
    }
    const events = stampNext(connection, commit.events, taskId, at);
    const after = { task: applyAll(before.task, events), version: before.version + 1 };
    requireRoom(before.task, after.task, commit.limits, (what) => countOthers(connection, taskId, what));
    if (commit.account !== undefined)
      requireAccount(readFolded(connection).accountLimits, commit.account, at);
    requireOnlyTask(before.task, after.task, (issue) => liveTaskOf(connection, issue));

    append(connection, events);
    updateTask(connection, after);
    for (const id of commit.finishActions ?? []) finishAction(connection, taskId, id);
    if (commit.dropActions === 'all') dropActions(connection, taskId);
    addActions(connection, taskId, commit.addActions);
    keepFindings(connection, taskId, commit.findings);
    consumeRequests(connection, taskId, commit.consumeRequests);
    return after;
  });
}

function countOthers(connection: Connection, taskId: string, what: Limited): number {
  const others = query
    .selectFrom('tasks')
    .select((count) => count.fn.countAll<number>().as('n'))
    .where('id', '<>', taskId);
  const counted = {
    slots: others.where('slot', '=', 1),
    critics: others.where('judging', '=', 1),
    merging: others.where('state', '=', 'merging').where(sql`json_extract(data, '$.misfit')`, 'is', null),
  };
  return connection.one(counted[what])?.n ?? 0;
}

function keepFindings(connection: Connection, task: string, findings: readonly Finding[] = []): void {
  for (const finding of findings) {
    const row = { severity: finding.severity, status: finding.status, data: JSON.stringify(finding) };
    connection.run(
      query
        .insertInto('findings')
        .values({ task, id: finding.id, ...row })
        .onConflict((conflict) => conflict.columns(['task', 'id']).doUpdateSet(row)),
    );
  }
}

function consumeRequests(connection: Connection, task: string, ids: readonly number[] = []): void {
  for (const id of ids)
    connection.run(query.deleteFrom('requests').where('id', '=', id).where('task', '=', task));
}
