/** What is kept beside the tasks: money, findings, people's requests, children, and the loop's own row. */
import type { DeployState } from '../../core/deploy.ts';
import { event, type NewEvent } from '../../core/event.ts';
import { type Finding, revivedFinding } from '../../core/findings.ts';
import { sumSpend } from '../rules.ts';
import type { Lease, LoopRow, NewRequest, ProcessRecord, Request, Spend, UsageDelta } from '../store.ts';
import type { Connection } from './connection.ts';
import { append, hasUnknownUsage, readAccountLimits, stampNext } from './journal.ts';
import { checkLease } from './leases.ts';
import type { FindingsTable, LoopTable, ProcessesTable, UsageTable } from './schema.ts';

export function addUsage(connection: Connection, deltas: readonly UsageDelta[]): void {
  connection.immediate(() => {
    for (const one of deltas) {
      connection.insert(
        'usage',
        {
          task: one.task,
          turn: one.turn,
          role: one.role,
          session: one.sessionId,
          key: one.key,
          model: one.model,
          input: one.input,
          output: one.output,
          cache_read: one.cacheRead,
          cache_write: one.cacheWrite,
          reasoning: one.reasoning,
          cost_usd: one.costUsd,
          at: one.at,
        },
        'ON CONFLICT (task, turn, role, session, key) DO NOTHING',
      );
    }
  });
}

export function readUsage(connection: Connection, taskId: string | undefined): UsageDelta[] {
  const rows =
    taskId === undefined
      ? connection.all<UsageTable>('SELECT * FROM usage ORDER BY rowid')
      : connection.all<UsageTable>('SELECT * FROM usage WHERE task = ? ORDER BY rowid', taskId);
  return rows.map(({ session, cache_read, cache_write, cost_usd, ...same }) => ({
    ...same,
    sessionId: session,
    cacheRead: cache_read,
    cacheWrite: cache_write,
    costUsd: cost_usd,
  }));
}

export function spend(connection: Connection, taskId: string): Spend {
  return sumSpend(readUsage(connection, taskId), hasUnknownUsage(connection, { task: taskId }));
}

/** Summed by the database: it is asked again and again while turns stream. */
export function spendSince(connection: Connection, at: number): Spend {
  const sums = connection.one<{ cost: number; tokens: number; unpriced: number }>(
    `SELECT coalesce(sum(cost_usd), 0) AS cost,
       coalesce(sum(input + output + cache_read + cache_write + reasoning), 0) AS tokens,
       count(*) - count(cost_usd) AS unpriced
     FROM usage WHERE at >= ?`,
    at,
  )!;
  const unknown = hasUnknownUsage(connection, { since: at });
  return { tokens: sums.tokens, costUsd: sums.cost, complete: sums.unpriced === 0 && !unknown };
}

export function readFindings(connection: Connection, taskId: string): Finding[] {
  const select = 'SELECT data FROM findings WHERE task = ? ORDER BY rowid';
  return connection
    .all<Pick<FindingsTable, 'data'>>(select, taskId)
    .map((row) => revivedFinding(JSON.parse(row.data) as Finding));
}

/** Its event goes with it: that is what wakes the runner that owns the task. */
export function addRequest(connection: Connection, request: NewRequest): void {
  const { task, kind, by, at, finding = null, why = null, head = null } = request;
  connection.insert('requests', { task, kind, by, at, finding, why, head });
  append(connection, stampNext(connection, [event('request_made', { kind, by })], task, at));
}

export function readRequests(connection: Connection, taskId: string): Request[] {
  return connection.all<Request>('SELECT * FROM requests WHERE task = ? ORDER BY id', taskId);
}

/** Records of processes matter as long as this machine runs: a crash of ours does not lose them, a reboot ends them all. */
export function recordProcess(connection: Connection, lease: Lease, process: ProcessRecord): void {
  const { task, purpose, pid, startTime, bootId } = process;
  connection.unhurried(() => {
    checkLease(connection, lease, null);
    connection.insert(
      'processes',
      { boot_id: bootId, pid, start_time: startTime, task, purpose },
      'ON CONFLICT (boot_id, pid, start_time) DO UPDATE SET task = excluded.task, purpose = excluded.purpose',
    );
  });
}

export function forgetProcess(connection: Connection, { pid, startTime, bootId }: ProcessRecord): void {
  connection.unhurried(() =>
    connection.run(
      'DELETE FROM processes WHERE boot_id = ? AND pid = ? AND start_time = ?',
      bootId,
      pid,
      startTime,
    ),
  );
}

export function readProcesses(connection: Connection, taskId: string | undefined): ProcessRecord[] {
  const rows =
    taskId === undefined
      ? connection.all<ProcessesTable>('SELECT * FROM processes ORDER BY rowid')
      : connection.all<ProcessesTable>('SELECT * FROM processes WHERE task = ? ORDER BY rowid', taskId);
  return rows.map(({ task, pid, start_time, boot_id, purpose }) => ({
    task,
    pid,
    startTime: start_time,
    bootId: boot_id,
    purpose,
  }));
}

export function readLoop(connection: Connection): LoopRow {
  const row = connection.one<LoopTable>('SELECT * FROM loop');
  if (!row) throw new Error(`${connection.path} has lost the row of its loop`);
  return {
    pausedBy: row.paused_by,
    stop: row.stop,
    configProblem: row.config_problem,
    commandsSince: row.commands_since,
    deploy: row.deploy === null ? null : (JSON.parse(row.deploy) as DeployState),
    deployAgain: row.deploy_again,
    accountLimits: readAccountLimits(connection),
  };
}

export function updateLoop(
  connection: Connection,
  change: Partial<Omit<LoopRow, 'accountLimits'>>,
  events: readonly NewEvent[],
  at: number,
  lease?: Lease,
): LoopRow {
  return connection.immediate(() => {
    if (lease) checkLease(connection, lease, at);
    const row = { ...readLoop(connection), ...change };
    connection.update(
      'loop',
      {
        paused_by: row.pausedBy,
        stop: row.stop,
        config_problem: row.configProblem,
        commands_since: row.commandsSince,
        deploy: row.deploy === null ? null : JSON.stringify(row.deploy),
        deploy_again: row.deployAgain,
      },
      'id = 1',
    );
    append(connection, stampNext(connection, events, null, at));
    return readLoop(connection);
  });
}
