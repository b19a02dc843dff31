/**
 * The store in memory, for the simulation: the same contract as the SQLite one, thousands of whole loops in a minute.
 *
 * Every verb runs without a pause and checks everything before it writes anything, so each happens completely or not
 * at all. Values go in as copies by way of JSON, as they do with a real database; tasks and events come out frozen, which
 * is as safe as a copy and costs nothing.
 */

import type { Action, PendingAction } from '../../src/core/action.ts';
import type { Finding } from '../../src/core/change/findings.ts';
import { event, type LoopEvent, type NewEvent } from '../../src/core/event.ts';
import { type BootClock, boundOf, leaseTimes, momentOf } from '../../src/core/lease.ts';
import { foldLoop, NOTHING_FOLDED } from '../../src/core/loop/loop-row.ts';
import { afterPlanEvent, planOfEvent, type StoredPlan } from '../../src/core/plan/stored.ts';
import { isEnded, type StoredTask } from '../../src/core/task.ts';
import { VersionConflict } from '../../src/errors.ts';
import {
  applyAll,
  firstRow,
  grantLease,
  type LeaseRow,
  LIMITED,
  type Limited,
  requireAccount,
  requireKey,
  requireLease,
  requireOnlyTask,
  requireRoom,
  requireSpent,
  requireUnchanged,
  stamp,
} from '../../src/store/rules.ts';
import {
  type Child,
  claimLease,
  type Lease,
  type LoopRow,
  type NewRequest,
  type Outcome,
  type ProcessRecord,
  type Request,
  type Spend,
  type Store,
  type TurnRow,
  taskLease,
  type UsageDelta,
} from '../../src/store/store.ts';

export function memoryStore(boot: BootClock | null = null): Store {
  const tasks = new Map<string, StoredTask>();
  const events: LoopEvent[] = [];
  const actions = new Map<number, PendingAction>();
  const leases = new Map<string, LeaseRow>();
  const turns: TurnRow[] = [];
  const usage = new Map<string, UsageDelta>();
  const unmetered: LoopEvent[] = [];
  const findings = new Map<string, Map<string, Finding>>();
  const requests = new Map<number, Request>();
  const processes = new Map<string, ProcessRecord>();
  const plans = new Map<string, StoredPlan>();
  let loop: LoopRow = frozen({
    pausedBy: null,
    stop: 'no',
    configProblem: null,
    commandsSince: null,
    deploy: null,
    deployAgain: null,
    notify: null,
    telemetry: null,
    trunk: null,
    ...NOTHING_FOLDED,
  });
  let lastAction = 0;
  let lastRequest = 0;

  const checkLease = (lease: Lease, at: number | null) =>
    requireLease(leases.get(lease.key), lease, at === null ? null : momentOf(at, boot));

  const stampNext = (added: readonly NewEvent[], task: string | null, at: number) =>
    frozen(stamp(copy(added), events.length + 1, task, at));

  function append(added: readonly LoopEvent[]): void {
    loop = { ...loop, ...foldLoop(loop, added, added[0]?.at ?? 0) };
    for (const event of added) {
      events.push(event);
      const plan = planOfEvent(event);
      const kept = plan === null ? null : afterPlanEvent(plans.get(plan) ?? null, event);
      if (kept) plans.set(kept.id, kept);
      if (event.task === null) continue;
      if (event.type === 'turn_started') {
        const { turn, role, sessionId, prompt } = event.data;
        turns.push({
          task: event.task,
          turn,
          role,
          sessionId,
          prompt,
          status: null,
          startedAt: event.at,
          endedAt: null,
        });
      }
      if (event.type === 'detached' && event.data.usage === 'unknown') unmetered.push(event);
      if (event.type === 'turn_completed') {
        const { turn, role, sessionId, status } = event.data;
        if (event.data.usage === 'unknown') unmetered.push(event);
        for (const row of turns) {
          const same = row.task === event.task && row.turn === turn && row.role === role;
          if (!same || row.sessionId !== sessionId || row.endedAt !== null) continue;
          row.status = status;
          row.endedAt = event.at;
        }
      }
    }
  }

  function addActions(task: string | null, added: readonly Action[] = []): void {
    for (const action of copy(added)) {
      lastAction += 1;
      actions.set(lastAction, { id: lastAction, task, action, startedAt: null, attempts: 0, notBefore: 0 });
    }
  }

  function requireAction(id: number): PendingAction {
    const action = actions.get(id);
    if (!action)
      throw new VersionConflict(`action ${id} is not pending any more: it was finished or dropped meanwhile`);
    return action;
  }

  function requireFinishable(task: string | null, id: number | undefined): void {
    if (id !== undefined && requireAction(id).task !== task) {
      throw new VersionConflict(`action ${id} does not belong to ${task ?? 'the loop'}`);
    }
  }

  function ownAction(lease: Lease, id: number, at: number): PendingAction {
    const action = requireAction(id);
    if (action.task !== null) requireKey(lease, taskLease(action.task));
    checkLease(lease, at);
    return action;
  }

  function liveTaskOf(issue: number): string | undefined {
    for (const { task } of tasks.values()) if (task.issue === issue && !isEnded(task)) return task.id;
    return undefined;
  }

  function countOthers(taskId: string, what: Limited): number {
    const { takes } = LIMITED[what];
    return [...tasks.values()].filter(({ task }) => task.id !== taskId && takes(task)).length;
  }

  function addRequest(request: NewRequest): void {
    lastRequest += 1;
    requests.set(lastRequest, { finding: null, why: null, head: null, ...copy(request), id: lastRequest });
    const { kind, by, task, at } = request;
    append(stampNext([event('request_made', { kind, by })], task, at));
  }

  function requireTask(id: string): void {
    if (!tasks.has(id)) throw new Error(`there is no task ${id}`);
  }

  return {
    async claim({ lease, taskId, issue, events: added, actions: todo, at }) {
      requireKey(lease, claimLease({ issue }));
      checkLease(lease, at);
      if (issue !== null && liveTaskOf(issue) !== undefined) return null;
      if (tasks.has(taskId)) throw new Error(`there is a task ${taskId} already`);
      const stamped = stampNext(added, taskId, at);
      const born = frozen({ task: firstRow(taskId, stamped), version: 1 });
      tasks.set(taskId, born);
      append(stamped);
      addActions(taskId, todo);
      return born;
    },
    async task(id) {
      return tasks.get(id) ?? null;
    },
    async tasks(filter = {}) {
      const acting = new Set([...actions.values()].map((action) => action.task));
      const wanted = [...tasks.values()].filter(
        ({ task }) =>
          (filter.issue === undefined || task.issue === filter.issue) &&
          (!filter.live || !isEnded(task) || acting.has(task.id)),
      );
      return wanted.sort((a, b) => a.task.createdAt - b.task.createdAt);
    },
    async ended({ since = 0, limit, skip = 0 } = {}) {
      return [...tasks.values()]
        .filter(({ task }) => isEnded(task) && task.endedAt! >= since)
        .reverse()
        .sort((a, b) => b.task.endedAt! - a.task.endedAt!)
        .slice(skip, limit === undefined ? undefined : skip + limit);
    },
    async outcomes() {
      const all = new Map<string, Outcome>();
      for (const { task } of tasks.values()) {
        if (!isEnded(task)) continue;
        const { state, reason } = task;
        const key = JSON.stringify([state, reason]);
        all.set(key, { state, reason, tasks: (all.get(key)?.tasks ?? 0) + 1 });
      }
      return [...all.values()];
    },
    async commit(commit) {
      const { lease, taskId, at } = commit;
      requireKey(lease, taskLease(taskId));
      checkLease(lease, at);
      const before = tasks.get(taskId);
      if (before?.version !== commit.expectedVersion) {
        throw new VersionConflict(
          `task ${taskId} is at version ${before?.version ?? 'none'}, not ${commit.expectedVersion}`,
        );
      }
      const stamped = stampNext(commit.events, taskId, at);
      const after = frozen({ task: applyAll(before.task, stamped), version: before.version + 1 });
      requireRoom(before.task, after.task, commit.limits, (what) => countOthers(taskId, what));
      requireAccount(loop.accountLimits, commit.account, at);
      requireOnlyTask(before.task, after.task, liveTaskOf);
      for (const done of commit.finishActions ?? []) requireFinishable(taskId, done);

      append(stamped);
      tasks.set(taskId, after);
      for (const done of commit.finishActions ?? []) actions.delete(done);
      if (commit.dropActions === 'all') {
        for (const action of actions.values()) if (action.task === taskId) actions.delete(action.id);
      }
      addActions(taskId, commit.addActions);
      const ledger = findings.get(taskId) ?? new Map<string, Finding>();
      for (const finding of copy(commit.findings ?? [])) ledger.set(finding.id, finding);
      findings.set(taskId, ledger);
      for (const id of commit.consumeRequests ?? [])
        if (requests.get(id)?.task === taskId) requests.delete(id);
      return after;
    },

    async pendingActions(taskId) {
      return copy([...actions.values()].filter((action) => action.task === taskId));
    },
    async startedActions() {
      return copy([...actions.values()].filter(({ task, startedAt }) => task !== null && startedAt !== null));
    },
    async proveLease(lease, at) {
      checkLease(lease, at);
    },
    async startAction(lease, id, at) {
      const action = ownAction(lease, id, at);
      actions.set(id, { ...action, startedAt: at });
    },
    async deferAction(lease, id, notBefore, added, at) {
      const action = ownAction(lease, id, at);
      const stamped = stampNext(added, action.task, at);
      const stored = action.task === null ? undefined : tasks.get(action.task);
      const after = stored && applyAll(stored.task, stamped);
      actions.set(id, { ...action, startedAt: null, notBefore, attempts: action.attempts + 1 });
      append(stamped);
      if (after && after !== stored.task) tasks.set(after.id, { task: after, version: stored.version + 1 });
    },
    async record({
      lease,
      task,
      events: added,
      at,
      addActions: todo,
      finishAction,
      loop: changed,
      requests: asked = [],
    }) {
      if (lease) checkLease(lease, at);
      requireFinishable(null, finishAction);
      for (const request of asked) requireTask(request.task);
      const stamped = stampNext(added, task ?? null, at);
      if (task !== undefined) {
        requireTask(task);
        requireUnchanged(tasks.get(task)!.task, stamped);
      }
      append(stamped);
      if (finishAction !== undefined) actions.delete(finishAction);
      addActions(null, todo);
      if (changed) loop = frozen({ ...loop, ...copy(changed) });
      asked.forEach(addRequest);
    },

    async acquireLease(key, owner, now, ttlMs, dead) {
      const row = leases.get(key);
      const at = momentOf(now, boot);
      const lease = grantLease(row, { key, owner, at, ttlMs }, dead);
      const boundAt = lease || !row ? undefined : boundOf(row, at, ttlMs);
      if (lease) leases.set(key, copy(lease));
      else if (row && boundAt !== undefined) leases.set(key, { ...row, boundAt });
      return lease;
    },
    async renewLeases(owner, now, ttlMs) {
      const times = leaseTimes(momentOf(now, boot), ttlMs);
      for (const { key, fencing, owner: its } of [...leases.values()])
        if (its === owner) leases.set(key, { key, owner, fencing, ...times });
      return held(leases).filter((lease) => lease.owner === owner);
    },
    async releaseLease({ key, owner, fencing }) {
      const row = leases.get(key);
      if (row?.owner === owner && row.fencing === fencing)
        leases.set(key, { key, fencing, owner: null, expiresAt: 0 });
    },
    async leases(wanted) {
      return held(leases).filter(({ key }) => wanted === undefined || key === wanted);
    },

    async recordProcess(lease, child) {
      checkLease(lease, null);
      processes.set(nameOf(child), copy({ ...child, lease: lease.key }));
    },
    async forgetProcess(process) {
      processes.delete(nameOf(process));
    },
    async processes(taskId) {
      return copy([...processes.values()].filter(({ task }) => taskId === undefined || task === taskId));
    },

    async turns(taskId) {
      return copy(turns.filter((turn) => turn.task === taskId));
    },
    async addUsage(lease, deltas) {
      for (const delta of deltas) {
        requireKey(lease, taskLease(delta.task));
        requireSpent(delta);
      }
      checkLease(lease, null);
      for (const delta of copy(deltas)) {
        const key = JSON.stringify([delta.task, delta.turn, delta.role, delta.sessionId, delta.key]);
        if (!usage.has(key)) usage.set(key, delta);
      }
    },
    async usage({ task, since } = {}) {
      return copy(
        [...usage.values()].filter(
          (one) => (task === undefined || one.task === task) && (since === undefined || one.at >= since),
        ),
      );
    },
    async spend(taskId) {
      const spent = [...usage.values()].filter(({ task }) => task === taskId);
      return sumSpend(
        spent,
        unmetered.some(({ task }) => task === taskId),
      );
    },
    async spendSince(at) {
      return sumSpend(
        [...usage.values()].filter((delta) => delta.at >= at),
        unmetered.some((event) => event.at >= at),
      );
    },
    async unknownTurns({ task, since = 0 } = {}) {
      return unmetered
        .filter((one) => (task === undefined || one.task === task) && one.at >= since)
        .flatMap((one) => {
          if (one.type !== 'turn_completed' || one.task === null) return [];
          const { role, turn, sessionId } = one.data;
          return [{ task: one.task, role, turn, sessionId, at: one.at }];
        });
    },
    async findings(taskId) {
      return copy([...(findings.get(taskId)?.values() ?? [])]);
    },

    async request(request) {
      requireTask(request.task);
      addRequest(request);
    },
    async requests(taskId) {
      return copy([...requests.values()].filter(({ task }) => task === taskId));
    },

    async plans({ archived = false } = {}) {
      return copy([...plans.values()].filter(({ status }) => archived || status !== 'archived'));
    },

    async loop() {
      return loop;
    },
    async updateLoop(change, added, at, lease) {
      if (lease) checkLease(lease, at);
      loop = frozen({ ...loop, ...copy(change) });
      append(stampNext(added, null, at));
      return loop;
    },

    async events({ after, since, task, limit, last, type, data = {} } = {}) {
      let wanted = after === undefined ? events : events.slice(Math.max(0, after));
      if (since !== undefined) wanted = wanted.filter((event) => event.at >= since);
      if (task !== undefined) wanted = wanted.filter((event) => event.task === task);
      if (type !== undefined) wanted = wanted.filter((event) => event.type === type);
      const says = Object.entries(data);
      wanted = wanted.filter((event) =>
        says.every(([key, value]) => (event.data as Record<string, unknown>)[key] === value),
      );
      if (last !== undefined) wanted = wanted.slice(Math.max(0, wanted.length - last));
      return wanted.slice(0, limit);
    },
    async close() {},
  };
}

/** All the way down; what is frozen already is not looked at again. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function held(rows: Map<string, LeaseRow>): Lease[] {
  const taken: Lease[] = [];
  for (const { owner, ...row } of rows.values()) if (owner !== null) taken.push({ ...row, owner });
  return taken.sort((a, b) => (a.key < b.key ? -1 : 1));
}

function nameOf(process: Child): string {
  return JSON.stringify([process.bootId, process.pid, process.startTime]);
}

/** Null costs add nothing and make the sums lower bounds; so does a turn whose usage nobody knows. */
function sumSpend(usage: readonly UsageDelta[], unknownTurn: boolean): Spend {
  const tokensOf = (some: readonly UsageDelta[]): number =>
    some.reduce((sum, u) => sum + u.input + u.output + u.cacheRead + u.cacheWrite + u.reasoning, 0);
  return {
    tokens: tokensOf(usage),
    unpriced: tokensOf(usage.filter((u) => u.costUsd === null)),
    costUsd: usage.reduce((sum, u) => sum + (u.costUsd ?? 0), 0),
    complete: !unknownTurn && usage.every((u) => u.costUsd !== null),
  };
}
