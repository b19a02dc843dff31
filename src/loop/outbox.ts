/**
 * What one task writes down: decisions with the actions that follow, and what came of an action. An effect that had
 * nothing to say is finished with the next commit; until then a crash only has it performed again. For the same reason
 * what came of the last effect does not wait for the disk: the decision that follows brings both there, before anything
 * else is done.
 */
import { isRun, type PendingAction } from '../core/action.ts';
import type { Decision } from '../core/decision.ts';
import type { Outcome } from '../core/outcome.ts';
import { record } from '../core/record.ts';
import { withStatus } from '../core/status.ts';
import type { StoredTask } from '../core/task.ts';
import type { Commit, Lease } from '../store/store.ts';
import type { Ports } from './ports.ts';
import { putOff } from './put-off.ts';

export interface Outbox {
  /** The first action that was not performed yet. To let the loop go on comes before runs that wait for just that. */
  next(): Promise<PendingAction | null>;
  /** It had nothing to say. */
  performed(action: PendingAction): void;
  decided(
    lease: Lease,
    stored: StoredTask,
    decision: Extract<Decision, { kind: 'act' }>,
    instead: 'all' | null,
  ): Promise<StoredTask>;
  ended(lease: Lease, stored: StoredTask, action: PendingAction, outcome: Outcome): Promise<StoredTask>;
  /** Nothing that is pending makes sense any more. */
  drop(lease: Lease, stored: StoredTask): Promise<void>;
  putOff(lease: Lease, action: PendingAction, problem: unknown): Promise<void>;
  /** Finishes what was performed when no commit follows. */
  settle(lease: Lease): Promise<void>;
  /** What was performed may have to be performed again. */
  forget(): void;
}

export function createOutbox(ports: Ports, id: string): Outbox {
  const { store, clock } = ports;
  let performed: number[] = [];
  /** How many actions the last look found. */
  let left = 0;

  return {
    next: async () => {
      const open = (await store.pendingActions(id)).filter((one) => !performed.includes(one.id));
      left = open.length;
      return open.find(({ action }) => action.kind === 'release_loop') ?? open[0] ?? null;
    },
    performed: (action) => performed.push(action.id),
    decided: (lease, { task, version }, decision, instead) =>
      commit(lease, version, {
        events: decision.events,
        addActions: withStatus(task, decision.events, decision.actions, clock.now()),
        ...(instead ? { dropActions: instead } : {}),
        ...(decision.limits ? { limits: decision.limits } : {}),
        ...(decision.account === undefined ? {} : { account: decision.account }),
        ...(decision.consume ? { consumeRequests: decision.consume } : {}),
        ...(decision.findings ? { findings: decision.findings } : {}),
      }),
    ended,
    drop: async (lease, { version }) => {
      await commit(lease, version, { events: [], dropActions: 'all' });
    },
    putOff: (lease, action, problem) => putOff(ports, lease, action, problem),
    settle,
    forget: () => {
      performed = [];
    },
  };

  async function ended(
    lease: Lease,
    { task, version }: StoredTask,
    { id: action, action: what }: PendingAction,
    outcome: Outcome,
  ): Promise<StoredTask> {
    const judges = outcome.kind === 'turn' || outcome.kind === 'inspected';
    const ledger = judges ? await store.findings(id) : [];
    const { events, actions, findings } = record(
      task,
      what,
      outcome,
      ledger,
      ports.settings.policy(),
      clock.now(),
    );
    const addActions = withStatus(task, events, actions, clock.now());
    const mayBeLost = !isRun(what) && left === 1 && addActions.length === 0;
    return commit(lease, version, { events, addActions, findings, mayBeLost }, [action]);
  }

  async function settle(lease: Lease): Promise<void> {
    const stored = performed.length > 0 ? await store.task(id) : null;
    if (stored) await commit(lease, stored.version, { events: [] });
  }

  async function commit(
    lease: Lease,
    expectedVersion: number,
    what: Pick<Commit, 'events'> & Partial<Commit>,
    finished: readonly number[] = [],
  ): Promise<StoredTask> {
    const finishActions = [...performed, ...finished];
    const at = clock.now();
    const after = await store.commit({ lease, taskId: id, expectedVersion, at, finishActions, ...what });
    performed = [];
    return after;
  }
}
