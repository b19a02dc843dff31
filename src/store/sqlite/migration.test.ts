/**
 * Databases of earlier versions. A fixture was written by the code of its time, through its own store and its own
 * decisions; each task is named after the situation it was left in.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { oldDatabase } from '../../../test/support/old-database.ts';
import type { PendingAction } from '../../core/action.ts';
import { fold } from '../../core/fold.ts';
import type { Role } from '../../core/role.ts';
import type { RoleMemory, Task } from '../../core/task.ts';
import { openSqliteStore } from '../sqlite.ts';
import type { Store } from '../store.ts';
import { openConnection } from './connection.ts';
import { migrate, migrations } from './migrations.ts';

/** State, reason, hold → what is pending. */
const SITUATIONS: Record<string, string> = {
  queued: 'queued',
  'queued-label-pending': 'queued → label, tell_status',
  'spec-proposed': 'queued, held: spec_proposed',
  'spec-approved': 'running → coder at work',
  dispatched: 'dispatched → prepare_workspace',
  'workspace-failed': 'queued, held: retry_backoff',
  'specifier-at-work': 'dispatched → specifier at work',
  'specifier-unusable-once': 'dispatched',
  'specifier-asked-again': 'dispatched → specifier at work',
  'specifier-failed-once': 'queued, held: retry_backoff',
  'specifier-failed-over': 'dispatched',
  'specifier-interrupted': 'dispatched → specifier at work',
  'specifier-tampered': 'dispatched → specifier at work',
  'coder-at-work': 'running → coder at work',
  'turn-finished': 'running → checkpoint',
  'gate-at-work': 'running → gate at work',
  'gate-red': 'running',
  'coder-failed': 'running, held: retry_backoff',
  'coder-failed-unsaved': 'running → checkpoint',
  'coder-limited': 'running, held: provider_limit',
  'coder-stalled': 'running, held: retry_backoff',
  'coder-timed-out': 'running',
  'coder-interrupted': 'running → coder at work',
  'coder-session-lost': 'running → coder at work',
  'coder-idle': 'running → coder at work',
  'checkpoint-refused': 'running',
  'prompt-broken': 'running, held: prompt_broken',
  paused: 'running, held: operator_pause',
  'pause-asked': 'running → coder at work',
  'push-rejected': 'running → merge_in',
  'pull-pending': 'running → ensure_pull',
  'secret-found': 'running, held: secret_found',
  'workspace-unprepared': 'revising, held: retry_backoff',
  'awaiting-verdict': 'awaiting_critic',
  'critic-at-work': 'awaiting_critic → critic at work',
  'critic-unusable-once': 'awaiting_critic',
  'critic-asked-again': 'awaiting_critic → critic at work',
  'critic-unusable-twice': 'awaiting_critic, held: retry_backoff',
  'critic-failed-once': 'awaiting_critic',
  'critic-failed-after-unusable': 'awaiting_critic, held: retry_backoff',
  'critic-interrupted': 'awaiting_critic → critic at work',
  'critic-limited': 'awaiting_critic',
  'critic-held': 'awaiting_critic, held: critic_unusable',
  'critic-held-once': 'awaiting_critic',
  'needs-approval': 'awaiting_critic, held: needs_approval',
  'approval-asked': 'awaiting_critic → critic at work',
  'person-pushed': 'awaiting_critic → gate at work',
  'changes-waiting': 'awaiting_critic',
  'finding-wontfix': 'awaiting_critic → critic at work',
  revising: 'revising → coder at work',
  'revising-second-round': 'revising → coder at work',
  'revising-remark': 'revising → coder at work',
  'revising-contract': 'revising → coder at work',
  'candidate-built': 'merging',
  'candidate-gate-passed': 'merging',
  landing: 'merging → land',
  'landing-blocked': 'merging',
  'landing-blocked-held': 'awaiting_critic, held: dirty_checkout',
  'landing-blocked-again': 'merging → land',
  'merge-queued': 'awaiting_critic, held: merge_queued',
  merged: 'merged',
  'merged-effects-pending': 'merged → comment, close_issue, reap_workspace, delete_branch',
  'merged-by-person': 'merged',
  'merged-unverified': 'merged → gate, reap_workspace, delete_branch',
  'abandoned-cancelled': 'abandoned (cancelled)',
  'abandoned-max-turns': 'abandoned (max_turns_reached)',
  'abandoned-spec-declined': 'abandoned (spec_rejected)',
  'abandoned-specifier-failed': 'abandoned (error_max_retries)',
  'abandoned-coder-failed': 'abandoned (error_max_retries)',
  'abandoned-recovery': 'abandoned (crash_recovery_failed)',
  'abandoned-critic-unusable': 'abandoned (critic_unusable)',
  'abandoned-superseded': 'abandoned (superseded)',
  restarted: 'queued',
  'restarted-at-work': 'running → coder at work',
  'restarted-live': 'running → coder at work',
  'restarted-declined': 'dispatched → specifier at work',
  'restarted-critic-unusable': 'running → coder at work',
  'first-attempt': 'abandoned (critic_blocked)',
  'second-attempt': 'running → gate at work',
};

function said({ state, reason, hold }: Task, pending: readonly PendingAction[]): string {
  const ended = reason ? ` (${reason})` : '';
  const held = hold ? `, held: ${hold.reason}` : '';
  const next = pending.map(({ action, startedAt }) => {
    const what = action.kind === 'turn' ? action.role : action.kind;
    return startedAt === null ? what : `${what} at work`;
  });
  return `${state}${ended}${held}${next.length > 0 ? ` → ${next.join(', ')}` : ''}`;
}

let folder: string;
let store: Store;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'forge-old-'));
  const path = join(folder, 'forge.db');
  oldDatabase('before-roles', path);
  const connection = openConnection(path, { readOnly: false });
  connection.exec(`INSERT INTO events SELECT max(seq) + 1, max(at), 'revising-remark', 'feedback_delivered',
    '{"ids":["remark:1:x"],"turn":2,"headSha":"c1","remarks":[]}' FROM events`);
  connection.close();
  store = await openSqliteStore(path);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

test('every task is where it was, and waits for what it waited for', async () => {
  const found: Record<string, string> = {};
  for (const { task } of await store.tasks())
    found[task.id] = said(task, await store.pendingActions(task.id));
  expect(found).toEqual(SITUATIONS);
});

test.each(Object.keys(SITUATIONS))('%s is what its events say', async (id) => {
  const stored = await store.task(id);
  expect(stored?.task).toEqual(fold(id, await store.events({ task: id })));
});

const REMEMBERED: [string, Role, Partial<RoleMemory>][] = [
  ['specifier-unusable-once', 'specifier', { unusable: 1, problem: expect.any(String) }],
  ['specifier-failed-once', 'specifier', { failed: 1, last: expect.objectContaining({ status: 'failed' }) }],
  ['specifier-tampered', 'specifier', { unusable: 1, failed: 0 }],
  ['coder-at-work', 'coder', { session: expect.any(String), last: null }],
  ['coder-failed', 'coder', { failed: 1, session: expect.any(String) }],
  ['coder-stalled', 'coder', { stalled: 1, failed: 0 }],
  ['coder-interrupted', 'coder', { interrupted: 1 }],
  ['critic-unusable-twice', 'critic', { unusable: 2, problem: expect.any(String), session: null }],
  ['critic-failed-once', 'critic', { failed: 1, unusable: 0 }],
  ['critic-limited', 'critic', { failed: 0 }],
  ['critic-held', 'critic', { unusable: 7, releasedAt: null }],
  ['critic-held-once', 'critic', { unusable: 7, releasedAt: 7 }],
];
test.each(REMEMBERED)('%s: what the %s remembers is kept', async (id, role, memory) => {
  expect((await store.task(id))?.task.roles[role]).toMatchObject(memory);
});

test('a row that lacks what a role remembers is read from its events', async () => {
  const connection = openConnection(join(folder, 'forge.db'), { readOnly: false });
  connection.exec(`UPDATE tasks SET data = json_remove(data, '$.roles.critic') WHERE id = 'critic-held'`);
  connection.exec(`UPDATE tasks SET data = json_remove(data, '$.roles') WHERE id = 'coder-failed'`);
  connection.close();
  for (const id of ['critic-held', 'coder-failed'])
    expect((await store.task(id))?.task).toEqual(fold(id, await store.events({ task: id })));
});

test('what its coder was told of remarks is kept under its new name', async () => {
  expect((await store.task('revising-remark'))?.task.acknowledged).toContain('remark:1:x');
});

test('what kept a landing, and why a workspace is not ready, are one value each in older databases, too', async () => {
  const path = join(folder, 'flat.db');
  oldDatabase('before-roles', path);
  const connection = openConnection(path, { readOnly: false });
  migrate(connection, migrations.slice(0, 15));
  const flat = [
    ['landing-blocked', "'$.landProblem', 'a file is in the way', '$.landRefusal', NULL"],
    ['workspace-unprepared', "'$.unprepared', 'the hook failed', '$.unfetched', json('false')"],
  ];
  for (const [id, fields] of flat)
    connection.exec(`UPDATE tasks SET data = json_set(data, ${fields}) WHERE id = '${id}'`);
  connection.close();
  const opened = await openSqliteStore(path);
  const kept = (await opened.task('landing-blocked'))?.task;
  const unprepared = (await opened.task('workspace-unprepared'))?.task;
  await opened.close();
  expect(kept?.landProblem).toEqual({ by: 'checkout', detail: expect.any(String) });
  expect(unprepared?.unprepared).toEqual({ why: expect.any(String), unfetched: false });
  for (const task of [kept, unprepared])
    expect(task).toEqual(fold(task!.id, await store.events({ task: task!.id })));
});

test('a candidate and its gate are still one thing', async () => {
  const landing = async (id: string) => (await store.task(id))?.task.landing;
  expect(await landing('candidate-built')).toMatchObject({
    candidate: { sha: expect.any(String) },
    gate: null,
  });
  expect(await landing('candidate-gate-passed')).toMatchObject({ gate: { outcome: 'pass' } });
  expect(await landing('revising')).toBeNull();
});

test('what is kept beside the tasks is still there', async () => {
  const ids = Object.keys(SITUATIONS);
  const every = async (of: (id: string) => Promise<unknown[]>) => (await Promise.all(ids.map(of))).flat();
  expect(await every((id) => store.turns(id))).toHaveLength(167);
  expect(await every((id) => store.usage({ task: id }))).toHaveLength(79);
  expect(await every((id) => store.findings(id))).toHaveLength(12);
  expect(await every((id) => store.requests(id))).toMatchObject([
    { task: 'pause-asked', kind: 'pause' },
    { task: 'approval-asked', kind: 'approve', head: 'c1' },
  ]);
  expect(await store.plans({ archived: true })).toEqual([]);
  expect(await store.pendingActions(null)).toMatchObject([{ action: { kind: 'comment', issue: 900 } }]);
  expect(await store.loop()).toMatchObject({
    pausedBy: 'forge-loop (m2 landed with another tree)',
    accountLimits: [{ account: 'scripted' }],
  });
});

test('a task whose events make no sense is named, and the database stays as it was', async () => {
  const path = join(folder, 'odd.db');
  oldDatabase('before-roles', path);
  const connection = openConnection(path, { readOnly: false });
  connection.exec(`UPDATE events SET data = json_set(data, '$.to', 'merged')
    WHERE task = 'queued' AND type = 'worker_state_transition'`);
  await expect(openSqliteStore(path)).rejects.toThrow('The task queued in');
  expect(connection.pragma('user_version')).toBe(6);
  connection.close();
});
