/** The store's verbs on one connection. Each that writes is one immediate transaction. */
import type { Task } from '../../core/task.ts';
import { requireUnchanged } from '../rules.ts';
import type { Store } from '../store.ts';
import {
  addActions,
  deferAction,
  finishAction,
  pendingActions,
  startAction,
  startedActions,
} from './actions.ts';
import type { Connection } from './connection.ts';
import { append, readEvents, readTurns, readUnknownTurns, stampNext } from './journal.ts';
import { acquireLease, checkLease, leases, releaseLease, renewLeases } from './leases.ts';
import * as ledger from './ledger.ts';
import { readPlans } from './plans.ts';
import { endedTasks, outcomes } from './task-ends.ts';
import { listTasks, loadTask } from './task-row.ts';
import { claimTask, commitTask } from './tasks.ts';

function taskOf(connection: Connection, id: string): Task {
  const stored = loadTask(connection, id);
  if (!stored) throw new Error(`there is no task ${id}`);
  return stored.task;
}

export function sqliteStore(connection: Connection): Store {
  return {
    claim: async (claim) => claimTask(connection, claim),
    task: async (id) => loadTask(connection, id),
    tasks: async (filter = {}) => listTasks(connection, filter),
    ended: async (page = {}) => endedTasks(connection, page),
    outcomes: async () => outcomes(connection),
    commit: async (commit) => commitTask(connection, commit),

    pendingActions: async (taskId) => pendingActions(connection, taskId),
    startedActions: async () => startedActions(connection),
    proveLease: async (lease, at) => checkLease(connection, lease, at),
    startAction: async (lease, id, at) => startAction(connection, lease, id, at),
    deferAction: async (lease, id, notBefore, events, at) =>
      deferAction(connection, lease, id, notBefore, events, at),
    record: async (record) =>
      connection.immediate(() => {
        if (record.lease) checkLease(connection, record.lease, record.at);
        const stamped = stampNext(connection, record.events, record.task ?? null, record.at);
        if (record.task !== undefined) requireUnchanged(taskOf(connection, record.task), stamped);
        append(connection, stamped);
        finishAction(connection, null, record.finishAction);
        addActions(connection, null, record.addActions);
        if (record.loop) ledger.writeLoop(connection, record.loop);
        for (const request of record.requests ?? []) ledger.addRequest(connection, request);
      }),

    acquireLease: async (key, owner, now, ttlMs, dead) =>
      acquireLease(connection, { key, owner, now, ttlMs }, dead),
    renewLeases: async (owner, now, ttlMs) => renewLeases(connection, owner, now, ttlMs),
    releaseLease: async (lease) => releaseLease(connection, lease),
    leases: async (key) => leases(connection, key),

    recordProcess: async (lease, process) => ledger.recordProcess(connection, lease, process),
    forgetProcess: async (process) => ledger.forgetProcess(connection, process),
    processes: async (taskId) => ledger.readProcesses(connection, taskId),

    turns: async (taskId) => readTurns(connection, taskId),
    addUsage: async (lease, deltas) => ledger.addUsage(connection, lease, deltas),
    usage: async (of = {}) => ledger.readUsage(connection, of),
    spend: async (taskId) => ledger.spend(connection, { task: taskId }),
    spendSince: async (at) => ledger.spend(connection, { since: at }),
    unknownTurns: async (of = {}) => readUnknownTurns(connection, of),
    findings: async (taskId) => ledger.readFindings(connection, taskId),

    request: async (request) => connection.immediate(() => ledger.addRequest(connection, request)),
    requests: async (taskId) => ledger.readRequests(connection, taskId),

    plans: async (filter = {}) => readPlans(connection, filter),

    loop: async () => ledger.readLoop(connection),
    updateLoop: async (change, events, at, lease) => ledger.updateLoop(connection, change, events, at, lease),

    events: async (wanted = {}) => readEvents(connection, wanted),
    close: async () => connection.close(),
  };
}
