/** The steps the store's tests are made of: a lease, a claim, a commit, and events that are legal for a task. */
import type { Action } from '../../src/core/action.ts';
import type { Finding } from '../../src/core/change/findings.ts';
import { event, type LoopEvent, type NewEvent } from '../../src/core/event.ts';
import { EDGES, type State } from '../../src/core/machine.ts';
import type { StoredTask, Task } from '../../src/core/task.ts';
import {
  type Commit,
  INTAKE_LEASE,
  type Lease,
  type Store,
  taskLease,
  type UsageDelta,
} from '../../src/store/store.ts';

export const TTL = 1_000_000;
export const alive = () => false;
export const LABEL: Action = { kind: 'label', issue: 7, add: ['loop:running'], remove: ['loop:ready'] };

export async function lease(store: Store, key: string, owner = 'me', now = 0): Promise<Lease> {
  const granted = await store.acquireLease(key, owner, now, TTL, alive);
  if (!granted) throw new Error(`${key} is taken`);
  return granted;
}

export function claim(
  store: Store,
  intake: Lease,
  id: string,
  issue: number | null,
  actions: Action[] = [],
  at = 10,
) {
  const contract = { title: 'Title', body: 'Body', hash: 'h', criteria: [] };
  const created = {
    kind: 'issue',
    issue,
    attempt: 1,
    slug: 'title',
    branch: `loop/${id}`,
    contract,
  } as const;
  const transition = { from: 'none', to: 'queued', reason: null, why: 'claimed', ...NOWHERE } as const;
  const events = [event('task_created', created), event('worker_state_transition', transition)];
  return store.claim({ lease: intake, taskId: id, issue, events, actions, at });
}

export async function claimed(
  store: Store,
  id: string,
  issue: number,
  actions: Action[] = [],
  at = 10,
): Promise<StoredTask> {
  const task = await claim(store, await lease(store, INTAKE_LEASE), id, issue, actions, at);
  if (!task) throw new Error(`issue ${issue} has a task`);
  await lease(store, taskLease(id));
  return task;
}

/** With a lease of its own, unless one is given. */
export async function commit(
  store: Store,
  { task, version }: StoredTask,
  events: NewEvent[],
  more: Partial<Commit> = {},
): Promise<StoredTask> {
  const mine = more.lease ?? (await lease(store, taskLease(task.id)));
  return store.commit({ taskId: task.id, expectedVersion: version, events, at: 20, ...more, lease: mine });
}

export async function reach(store: Store, id: string, issue: number): Promise<StoredTask> {
  let current = await claimed(store, id, issue);
  for (const state of ['dispatched', 'running', 'awaiting_critic'] as const) {
    current = await commit(store, current, [to(current.task, state)]);
  }
  return current;
}

export async function kinds(store: Store, task: string): Promise<string[]> {
  return (await store.pendingActions(task)).map(({ action }) => action.kind);
}

export async function everything(store: Store, task: string): Promise<unknown> {
  return {
    task: await store.task(task),
    events: await store.events(),
    actions: await store.pendingActions(task),
    turns: await store.turns(task),
    findings: await store.findings(task),
    requests: await store.requests(task),
    usage: await store.usage(),
    leases: await store.leases(),
    loop: await store.loop(),
  };
}

const NOWHERE = { sessionId: null, turn: 0, headSha: null };

export function to(task: Task, state: State): NewEvent {
  const reason = state === 'abandoned' ? 'cancelled' : null;
  return event('worker_state_transition', { from: task.state, to: state, reason, why: 'test', ...NOWHERE });
}

export function started(role: 'coder' | 'critic', turn: number): NewEvent {
  return event('turn_started', { turn, role, sessionId: `s-${role}`, prompt: 'task' });
}

type Completed = Extract<LoopEvent, { type: 'turn_completed' }>['data'];

export function completed(
  role: 'coder' | 'critic',
  turn: number,
  status: Completed['status'] = 'finished',
  usage: Completed['usage'] = 'known',
): NewEvent {
  const ended = { code: null, message: 'done', retryAt: null, durationMs: 5 };
  return event('turn_completed', { turn, role, sessionId: `s-${role}`, status, usage, ...ended });
}

export function held(reason: 'operator_pause' | 'retry_backoff'): NewEvent {
  return event('hold_set', { reason, detail: 'test', until: null });
}

export function cleared(reason: 'operator_pause' | 'retry_backoff'): NewEvent {
  return event('hold_cleared', { reason, by: 'test' });
}

export function finding(id: string): Finding {
  const where = { category: 'bug', file: 'a.ts', line: 3, message: id, scenario: null, suggestion: null };
  const life = {
    rounds: [1],
    history: [{ status: 'open', by: 'critic', at: 1, sha: 'abc', why: null }] as const,
  };
  return {
    id,
    task: 'a',
    source: 'critic',
    severity: 'sev2',
    status: 'open',
    ...where,
    ...structuredClone(life),
    history: [...life.history],
  };
}

export function used(delta: Partial<UsageDelta>): UsageDelta {
  const tokens = { input: 1, output: 2, cacheRead: 4, cacheWrite: 8, reasoning: 16 };
  const who = { task: 'a', turn: 1, role: 'coder', sessionId: 's', model: 'm' } as const;
  return { ...who, key: 'k', ...tokens, costUsd: 0.25, at: 1, ...delta };
}

/** Each under the lease of its task. */
export async function spent(store: Store, ...deltas: UsageDelta[]): Promise<void> {
  for (const delta of deltas) await store.addUsage(await lease(store, taskLease(delta.task)), [delta]);
}

/** Half of the time along an edge of the machine, else something that may happen in any state. */
export function anyEvent(task: Task, random: () => number): NewEvent {
  const pick = <T>(among: readonly T[]): T => among[Math.floor(random() * among.length)]!;
  const edges = EDGES.filter((edge) => edge.from === task.state);
  if (edges.length > 0 && random() < 0.5) return to(task, pick(edges).to);
  const sha = `sha-${Math.floor(random() * 1e9)}`;
  const head = { sha, tree: `tree-${sha}` };
  const verdict = {
    headSha: sha,
    verdict: 'REQUEST_CHANGES',
    by: 'critic',
    round: task.criticRounds + 1,
  } as const;
  return pick([
    started(pick(['coder', 'critic']), task.turns + 1),
    completed(pick(['coder', 'critic']), task.turns, pick(['finished', 'failed', 'interrupted', 'stalled'])),
    event('checkpointed', { head, baseSha: 'base', changed: random() < 0.5, empty: false }),
    event('workspace_ready', { path: 'somewhere', baseSha: 'base' }),
    event('verdict_recorded', { ...verdict, blocking: [], criteria: [] }),
    event('feedback_added', { feedback: { kind: 'critic', text: 'change “this” — ü' } }),
    event('pull_ensured', { pull: 3, headSha: sha }),
    event('candidate_built', { candidate: { ...head, trunk: 'trunk', headSha: sha } }),
    event('session_lost', { sessionId: 's-coder', why: 'test' }),
    held('retry_backoff'),
    cleared('retry_backoff'),
  ]);
}

export function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
