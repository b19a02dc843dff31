/**
 * A process that works on a store beside others: `store-writer.ts <database> <owner> <issues>`. It claims what it can
 * of issues 1 to n, commits to each, and says what it has done: one JSON line for every commit that returned. It says
 * `ready` first, and waits for a word on its input. With `stay` it then keeps the store open, and says so.
 */
import { once } from 'node:events';
import { event } from '../../src/core/event.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { INTAKE_LEASE, type Lease, taskLease } from '../../src/store/store.ts';

const [path, owner, issues, stay] = process.argv.slice(2) as [string, string, string, string?];
const TTL = 60_000;
const NOWHERE = { sessionId: null, turn: 0, headSha: null };

process.stdout.write('ready\n');
await once(process.stdin, 'data');
process.stdin.destroy();
const store = await openSqliteStore(path);
if (stay) {
  setInterval(() => {}, 60_000);
  process.stdout.write(`${JSON.stringify({ open: true })}\n`);
}

for (let issue = 1; issue <= Number(issues); issue++) {
  const hello = event('runner_started', { owner, pid: process.pid, version: 'test' });
  await store.record({ events: [hello], at: Date.now() });
  const claimed = await claim(issue);
  if (!claimed) continue;
  const lease = await acquire(taskLease(claimed.task.id));
  let current = claimed;
  for (let round = 0; round < 10; round++) {
    const hold = { reason: 'retry_backoff', detail: `round ${round}`, until: round } as const;
    const events = [event('hold_set', hold), event('hold_cleared', { reason: 'retry_backoff', by: owner })];
    const taskId = current.task.id;
    current = await store.commit({ lease, taskId, expectedVersion: current.version, events, at: Date.now() });
    process.stdout.write(`${JSON.stringify({ task: taskId, issue, version: current.version })}\n`);
  }
}
if (!stay) await store.close();

async function claim(issue: number) {
  const lease = await acquire(INTAKE_LEASE);
  const contract = { title: 't', body: 'b', hash: 'h', criteria: [] };
  const created = { kind: 'issue', issue, attempt: 1, slug: 's', branch: 'b', contract } as const;
  const queued = { from: 'none', to: 'queued', reason: null, why: 'claimed', ...NOWHERE } as const;
  const events = [event('task_created', created), event('worker_state_transition', queued)];
  const taskId = `${owner}-${issue}`;
  const claimed = await store.claim({ lease, taskId, issue, events, actions: [], at: Date.now() });
  await store.releaseLease(lease);
  return claimed;
}

async function acquire(key: string): Promise<Lease> {
  for (;;) {
    const lease = await store.acquireLease(key, owner, Date.now(), TTL, () => false);
    if (lease) return lease;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
