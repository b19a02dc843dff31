/** Tasks that the loop knows and holds, written straight into the database. */
import { join } from 'node:path';
import { event } from '../src/core/event.ts';
import { openSqliteStore } from '../src/store/sqlite.ts';
import { INTAKE_LEASE, taskLease } from '../src/store/store.ts';
import type { Scratch } from './scratch.ts';

export async function addWaitingTasks(place: Scratch, tasks: number): Promise<void> {
  const store = await openSqliteStore(join(place.repo, '.forge', 'forge.db'));
  const now = Date.now();
  const intake = (await store.acquireLease(INTAKE_LEASE, 'bench', now, 600_000, () => false))!;
  for (let number = 1; number <= tasks; number++) {
    place.issue(number, `Issue ${number}`, `Creates \`${number}.txt\`.`);
    const taskId = `t${number}`;
    const contract = { title: `Issue ${number}`, body: 'x'.repeat(2000), hash: 'h', criteria: [] };
    const created = event('task_created', {
      kind: 'issue',
      issue: number,
      attempt: 1,
      slug: 's',
      branch: `loop/${number}-s`,
      contract,
    });
    const stored = (await store.claim({
      lease: intake,
      taskId,
      issue: number,
      events: [created],
      actions: [],
      at: now,
    }))!;
    const lease = (await store.acquireLease(taskLease(taskId), 'bench', now, 600_000, () => false))!;
    const held = event('hold_set', { reason: 'operator_pause', detail: 'bench', until: null });
    await store.commit({ lease, taskId, expectedVersion: stored.version, events: [held], at: now });
    await store.releaseLease(lease);
  }
  await store.releaseLease(intake);
  await store.close();
}
