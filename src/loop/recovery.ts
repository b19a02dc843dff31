/**
 * Takes over a task whose runner is gone: first everything it had started is stopped, then what is left is looked at,
 * then the table decides.
 */
import { isRun, type PendingAction } from '../core/action.ts';
import { event } from '../core/event.ts';
import { type Probes, type RecoveryPlan, recover } from '../core/recover.ts';
import { isEnded, type Task } from '../core/task.ts';
import type { Lease } from '../store/store.ts';
import type { Ports } from './ports.ts';
import { workspaceSpec } from './spec.ts';

export async function takeOver(ports: Ports, id: string, lease: Lease): Promise<RecoveryPlan> {
  const { store } = ports;
  await stopLeftovers(ports, id);
  const stored = await store.task(id);
  if (!stored) return 'nothing';
  const { task, version } = stored;
  const started =
    (await store.pendingActions(id)).find((pending) => isRun(pending.action) && pending.startedAt !== null) ??
    null;
  if (isEnded(task) && !started) return 'nothing';
  const recovery = recover(started, await probe(ports, task, started), ports.settings.policy());
  if (recovery.plan === 'nothing') return 'nothing';
  await store.commit({
    lease,
    taskId: id,
    expectedVersion: version,
    events: recovery.events,
    at: ports.clock.now(),
    ...(recovery.finishAction === null ? {} : { finishActions: [recovery.finishAction] }),
  });
  if (recovery.plan === 'run_again' && started)
    await store.deferAction(lease, started.id, ports.clock.now(), [], ports.clock.now());
  ports.log('info', `recovered: ${recovery.plan} (${recovery.why})`, { task: id });
  return recovery.plan;
}

async function stopLeftovers(ports: Ports, id: string): Promise<void> {
  const records = await ports.store.processes(id);
  const stopped = await ports.processes.stop(id, records);
  for (const record of records) await ports.store.forgetProcess(record);
  if (stopped.length === 0) return;
  const events = stopped.map((pid) => event('process_stopped', { pid, why: `left over from task ${id}` }));
  await ports.store.record({ events, at: ports.clock.now() });
}

async function probe(ports: Ports, task: Task, started: PendingAction | null): Promise<Probes> {
  const none: Probes = { workspace: { exists: true, intact: true, problem: null }, session: 'resumable' };
  if (started?.action.kind !== 'turn' || started.action.role !== 'coder') return none;
  const { sessionId, prompt } = started.action;
  const workspace = await ports.workspaces.probe(workspaceSpec(task));
  const sessionDir = ports.places.session(task.id, sessionId);
  const session = await ports.agentFor('coder').probeSession({ sessionId, sessionDir });
  const isFirst = prompt === 'task' || prompt === 'handover';
  return { workspace, session: session === 'lost' && isFirst ? 'empty' : session };
}
