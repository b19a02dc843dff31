/** The daemon's memory with 1,000 tasks it knows and holds, against the same daemon with none. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { event } from '../src/core/event.ts';
import { openSqliteStore } from '../src/store/sqlite.ts';
import { INTAKE_LEASE, taskLease } from '../src/store/store.ts';
import type { Measured } from './measure.ts';
import { CHEAP_AGENT, scratch, workflow } from './scratch.ts';

const TASKS = 1000;

export async function memory(): Promise<Measured> {
  const [empty, full] = [await resident(0), await resident(TASKS)];
  const mib = (kib: number): string => `${Math.round(kib / 1024)} MiB`;
  return {
    name: `daemon memory with ${TASKS} waiting tasks`,
    value: mib(full),
    against: `with none: ${mib(empty)}`,
    ratio: full / empty,
    goal: 'reported',
    met: null,
  };
}

async function resident(tasks: number): Promise<number> {
  const place = await scratch(workflow(CHEAP_AGENT));
  try {
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
    const runner = place.start(['--json', 'run']);
    await new Promise<void>((resolve) => runner.stdout!.once('data', () => resolve()));
    await new Promise((resolve) => setTimeout(resolve, 8000));
    const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${runner.pid}/status`, 'utf8'))?.[1]);
    const gone = new Promise((resolve) => runner.once('exit', resolve));
    runner.kill('SIGTERM');
    runner.kill('SIGINT');
    await gone;
    return rss;
  } finally {
    place.dispose();
  }
}
