/** What is kept beside the tasks: money, findings, people's requests, children, and the loop's own row. */

import { sql } from 'kysely';
import { type Finding, revivedFinding } from '../../core/change/findings.ts';
import type { DeployState } from '../../core/deploy.ts';
import { event, type NewEvent } from '../../core/event.ts';
import type { NotifyState } from '../../core/tell/notify.ts';
import { requireKey, requireSpent } from '../rules.ts';
import {
  type Child,
  type Lease,
  type LoopChange,
  type LoopRow,
  type NewRequest,
  type ProcessRecord,
  type Request,
  type Spend,
  taskLease,
  type UsageDelta,
} from '../store.ts';
import { type Connection, query } from './connection.ts';
import { append, foldedIn, stampNext, unknownUsage } from './journal.ts';
import { checkLease } from './leases.ts';
import { prepared } from './prepared.ts';

const LOOP = prepared(() => query.selectFrom('loop').selectAll());

type OfTask = { task: string };

const FINDINGS = prepared(({ task }: OfTask) =>
  query
    .selectFrom('findings')
    .select('data')
    .where('task', '=', task)
    .orderBy('rowid' as 'id'),
);

const REQUESTS = prepared(({ task }: OfTask) =>
  query.selectFrom('requests').selectAll().where('task', '=', task).orderBy('id'),
);

const TOKENS = sql`input + output + cache_read + cache_write + reasoning`;

const SPENT_BY_TASK = prepared(({ task }: OfTask) =>
  query
    .selectFrom('usage')
    .select([
      sql<number>`coalesce(sum(cost_usd), 0)`.as('cost'),
      sql<number>`coalesce(sum(${TOKENS}), 0)`.as('tokens'),
      sql<number>`count(*) - count(cost_usd)`.as('blind'),
      sql<number>`coalesce(sum(case when cost_usd is null then ${TOKENS} end), 0)`.as('unpriced'),
      sql<number>`exists ${unknownUsage({ task })}`.as('unknown'),
    ])
    .where('task', '=', task),
);

/** Whole hours from their sums, which a trigger keeps; of the hour it begins in, each call. */
const SPENT_SINCE = prepared(({ since, hour, hourAt }: { since: number; hour: number; hourAt: number }) => {
  const first = query
    .selectFrom('usage')
    .select([
      sql<number>`coalesce(cost_usd, 0)`.as('cost'),
      sql<number>`${TOKENS}`.as('tokens'),
      sql<number>`cost_usd is null`.as('blind'),
      sql<number>`case when cost_usd is null then ${TOKENS} else 0 end`.as('unpriced'),
    ])
    .where('at', '>=', since)
    .where('at', '<', hourAt);
  const others = query
    .selectFrom('spent_by_hour')
    .select(['cost', 'tokens', 'blind', 'unpriced'])
    .where('hour', '>=', hour);
  return query
    .selectFrom(first.unionAll(others).as('spent'))
    .select([
      sql<number>`coalesce(sum(cost), 0)`.as('cost'),
      sql<number>`coalesce(sum(tokens), 0)`.as('tokens'),
      sql<number>`coalesce(sum(blind), 0)`.as('blind'),
      sql<number>`coalesce(sum(unpriced), 0)`.as('unpriced'),
      sql<number>`exists ${unknownUsage({ since })}`.as('unknown'),
    ]);
});

const HOUR_MS = 3_600_000;

function spentSince(since: number) {
  const hour = Math.ceil(since / HOUR_MS);
  return SPENT_SINCE({ since, hour, hourAt: hour * HOUR_MS });
}

export function addUsage(connection: Connection, lease: Lease, deltas: readonly UsageDelta[]): void {
  for (const delta of deltas) {
    requireKey(lease, taskLease(delta.task));
    requireSpent(delta);
  }
  connection.immediate(() => {
    checkLease(connection, lease, null);
    for (const { sessionId, cacheRead, cacheWrite, costUsd, ...same } of deltas) {
      connection.run(
        query
          .insertInto('usage')
          .values({
            ...same,
            session: sessionId,
            cache_read: cacheRead,
            cache_write: cacheWrite,
            cost_usd: costUsd,
          })
          .onConflict((conflict) => conflict.columns(['task', 'turn', 'role', 'session', 'key']).doNothing()),
      );
    }
  });
}

export function readUsage(
  connection: Connection,
  { task, since }: { task?: string | undefined; since?: number },
): UsageDelta[] {
  let select = query.selectFrom('usage').selectAll();
  if (task !== undefined) select = select.where('task', '=', task);
  if (since !== undefined) select = select.where('at', '>=', since);
  const rows = connection.all(select.orderBy('rowid' as 'at'));
  return rows.map(({ session, cache_read, cache_write, cost_usd, ...same }) => ({
    ...same,
    sessionId: session,
    cacheRead: cache_read,
    cacheWrite: cache_write,
    costUsd: cost_usd,
  }));
}

/** Of one task, or of all since then. Summed by the database: it is asked again and again while turns stream. */
export function spend(connection: Connection, of: { task: string } | { since: number }): Spend {
  const row = connection.one('task' in of ? SPENT_BY_TASK(of) : spentSince(of.since))!;
  const { tokens, cost: costUsd, unpriced } = row;
  return { tokens, costUsd, unpriced, complete: row.blind === 0 && row.unknown === 0 };
}

export function readFindings(connection: Connection, taskId: string): Finding[] {
  return connection
    .all(FINDINGS({ task: taskId }))
    .map((row) => revivedFinding(JSON.parse(row.data) as Finding));
}

/** Its event goes with it: that is what wakes the runner that owns the task. */
export function addRequest(connection: Connection, request: NewRequest): void {
  const { task, kind, by, at, finding = null, why = null, head = null } = request;
  connection.run(query.insertInto('requests').values({ task, kind, by, at, finding, why, head }));
  append(connection, stampNext(connection, [event('request_made', { kind, by })], task, at));
}

export function readRequests(connection: Connection, taskId: string): Request[] {
  return connection.all(REQUESTS({ task: taskId }));
}

/** Records of processes matter as long as this machine runs: a crash of ours does not lose them, a reboot ends them all. */
export function recordProcess(connection: Connection, lease: Lease, child: Child): void {
  const { task, purpose, pid, startTime, bootId } = child;
  const about = { task, purpose, lease: lease.key };
  connection.unhurried(() => {
    checkLease(connection, lease, null);
    connection.run(
      query
        .insertInto('processes')
        .values({ boot_id: bootId, pid, start_time: startTime, ...about })
        .onConflict((conflict) => conflict.columns(['boot_id', 'pid', 'start_time']).doUpdateSet(about)),
    );
  });
}

export function forgetProcess(connection: Connection, { pid, startTime, bootId }: Child): void {
  connection.unhurried(() =>
    connection.run(
      query
        .deleteFrom('processes')
        .where('boot_id', '=', bootId)
        .where('pid', '=', pid)
        .where('start_time', '=', startTime),
    ),
  );
}

export function readProcesses(connection: Connection, taskId: string | undefined): ProcessRecord[] {
  let select = query.selectFrom('processes').selectAll();
  if (taskId !== undefined) select = select.where('task', '=', taskId);
  const rows = connection.all(select.orderBy('rowid' as 'pid'));
  return rows.map(({ task, pid, start_time, boot_id, purpose, lease }) => ({
    lease,
    task,
    pid,
    startTime: start_time,
    bootId: boot_id,
    purpose,
  }));
}

export function readLoop(connection: Connection): LoopRow {
  const row = connection.one(LOOP({}));
  if (!row) throw new Error(`${connection.path} has lost the row of its loop`);
  return {
    pausedBy: row.paused_by,
    stop: row.stop,
    configProblem: row.config_problem,
    commandsSince: row.commands_since,
    deploy: row.deploy === null ? null : (JSON.parse(row.deploy) as DeployState),
    deployAgain: row.deploy_again,
    notify: row.notify === null ? null : (JSON.parse(row.notify) as NotifyState),
    telemetry: row.telemetry,
    trunk: row.trunk,
    ...foldedIn(row),
  };
}

export function updateLoop(
  connection: Connection,
  change: LoopChange,
  events: readonly NewEvent[],
  at: number,
  lease?: Lease,
): LoopRow {
  return connection.immediate(() => {
    if (lease) checkLease(connection, lease, at);
    writeLoop(connection, change);
    append(connection, stampNext(connection, events, null, at));
    return readLoop(connection);
  });
}

/** Within the transaction of the caller. */
export function writeLoop(connection: Connection, change: LoopChange): void {
  const row = { ...readLoop(connection), ...change };
  connection.run(
    query.updateTable('loop').set({
      paused_by: row.pausedBy,
      stop: row.stop,
      config_problem: row.configProblem,
      commands_since: row.commandsSince,
      deploy: row.deploy === null ? null : JSON.stringify(row.deploy),
      deploy_again: row.deployAgain,
      notify: row.notify === null ? null : JSON.stringify(row.notify),
      telemetry: row.telemetry,
      trunk: row.trunk,
    }),
  );
}
