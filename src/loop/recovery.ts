/**
 * Takes over a task whose runner is gone: first everything it had started is stopped, then what is left is looked at,
 * then the table decides. A turn that had finished by then is recorded as any other.
 */
import { type Action, isRun } from '../core/action.ts';
import { opensSession } from '../core/event.ts';
import { type Probes, type RecoveryPlan, recover } from '../core/recover.ts';
import { roleRow } from '../core/role.ts';
import { isEnded, type Task } from '../core/task.ts';
import type { Lease } from '../store/store.ts';
import { endCutOff } from './detach.ts';
import { stopRecorded } from './leftovers.ts';
import type { Ports } from './ports.ts';
import { recorded } from './recorded.ts';
import { takeUp, unheardEnd } from './turn.ts';
import { logPathOf } from './turn-files.ts';
import { workspaceKey } from './workspace-key.ts';

type TurnAction = Extract<Action, { kind: 'turn' }>;

/**
 * `renewedAt`: when the runner before last renewed its lease, so that it was alive. `isMarked`: somebody who carries its mark
 * may be alive. To look for them takes a while, and a thousand tasks may be taken over at once.
 */
export async function takeOver(
  ports: Ports,
  id: string,
  lease: Lease,
  { renewedAt = null, isMarked = true }: { renewedAt?: number | null; isMarked?: boolean } = {},
): Promise<RecoveryPlan> {
  const { store } = ports;
  const records = await store.processes(id);
  if (isMarked || records.length > 0) await stopRecorded(ports, id, records);
  else await ports.sandbox.clear(id);
  const found = await store.task(id);
  if (!found) return 'nothing';
  const { task, version } = await endCutOff(ports, found, lease);
  const isCutOff = Boolean(found.task.attached);
  const started =
    (await store.pendingActions(id)).find((pending) => isRun(pending.action) && pending.startedAt !== null) ??
    null;
  if (isEnded(task) && !started) return 'nothing';
  if (isCutOff) return 'detached';
  const turn = started?.action.kind === 'turn' ? started.action : null;
  const startedAt = started?.startedAt ?? 0;
  const end =
    turn && !isEnded(task) ? await unheardEnd(ports, task, { action: turn, startedAt, lease }) : null;
  const probes = {
    ...(await probe(ports, task, turn)),
    finished: end !== null,
    lastSignAt: turn && (await lastSign(ports, task, turn, renewedAt)),
  };
  const recovery = recover(started, probes, ports.settings.policy());
  if (recovery.plan === 'nothing') return 'nothing';
  const outcome =
    recovery.plan === 'take_up' && turn && end
      ? await recorded(ports, task, turn, await takeUp(ports, task, { action: turn, startedAt, lease }, end))
      : null;
  await store.commit({
    lease,
    taskId: id,
    expectedVersion: version,
    ...outcome,
    events: [...recovery.events, ...(outcome?.events ?? [])],
    at: ports.clock.now(),
    ...(recovery.finishAction === null ? {} : { finishActions: [recovery.finishAction] }),
  });
  if (recovery.plan === 'run_again' && started)
    await store.deferAction(lease, started.id, ports.clock.now(), [], ports.clock.now());
  ports.log('info', `recovered: ${recovery.plan} (${recovery.why})`, { task: id });
  return recovery.plan;
}

async function probe(
  ports: Ports,
  task: Task,
  turn: TurnAction | null,
): Promise<Pick<Probes, 'workspace' | 'session'>> {
  const none = { workspace: { exists: true, intact: true, problem: null }, session: 'resumable' } as const;
  if (!turn) return none;
  const { role, sessionId, prompt } = turn;
  if (roleRow(role).place !== 'workspace') return none;
  const workspace = await ports.workspaces.probe(workspaceKey(task));
  const sessionDir = ports.places.session(task.id, sessionId);
  const session = await ports.agentFor(role).probeSession({ sessionId, sessionDir });
  return { workspace, session: session === 'lost' && opensSession(prompt) ? 'empty' : session };
}

/** The latest that proves it was at work: what it said, what it wrote of its session, or that its runner lived. */
async function lastSign(
  { places, clock, lastWrite }: Ports,
  task: Task,
  turn: TurnAction,
  renewedAt: number | null,
): Promise<number> {
  const wrote = await lastWrite([logPathOf(places, task.id, turn), places.session(task.id, turn.sessionId)]);
  return Math.min(clock.now(), Math.max(wrote ?? 0, renewedAt ?? 0));
}
