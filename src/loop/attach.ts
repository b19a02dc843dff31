/**
 * A person works in a task's place, from the moment they ask for it until all is as after a turn.
 *
 * They ask as they ask for anything, the runner lets go when its turn has ended, and this process takes the task's lease: so
 * there is one person at most, and nobody goes on behind their back. Dies this process, its lease lapses at once, and whoever takes
 * the task over ends this as it would end a turn.
 */
import { failed, type TurnResult } from '../agent/agent.ts';
import type { Action } from '../core/action.ts';
import { attaching, detaching, mayHandOver } from '../core/attach.ts';
import type { EventData } from '../core/event.ts';
import { asPerson } from '../core/lease.ts';
import { type Refusal, refusal } from '../core/request.ts';
import { nameOfTask, type StoredTask, type Task } from '../core/task.ts';
import { effectName } from '../core/words/words.ts';
import { UserError, WorkspaceRefused } from '../errors.ts';
import { type Lease, taskLease } from '../store/store.ts';
import { chosenSandbox, processRecorder } from './command.ts';
import { isSameHost } from './hand-over.ts';
import { roomOf } from './loop-limit.ts';
import { networkUse } from './network-use.ts';
import { withOwnSettings } from './own-settings.ts';
import { perform } from './perform.ts';
import type { Ports } from './ports.ts';
import { recorded } from './recorded.ts';
import { takeOver } from './recovery.ts';
import { createRenewal } from './renewal.ts';
import { requestOf, spending } from './turn.ts';
import { openWorkplace } from './workplace.ts';
import { workspaceKey } from './workspace-key.ts';

interface AttachRequest {
  by: string;
  /** Stops a turn instead of waiting for its end. */
  now: boolean;
  keepPaused: boolean;
  /** They are gone. */
  signal: AbortSignal;
  /** What they wait for, whenever that is something else. */
  onWait(why: string): void;
  /** Whether a runner is there that does what has to be done first. */
  isRunnerAlive(): Promise<boolean>;
}

export interface Detached extends Omit<EventData['detached'], 'by'> {
  task: Task;
  headBefore: string | null;
}

export async function attach(given: Ports, id: string, request: AttachRequest): Promise<Detached> {
  const { store } = given;
  const all = { ...given, owner: asPerson(given.owner) };
  const lease = await ask(all, id, request);
  try {
    const ports = withOwnSettings(all, (await store.task(id))!.task);
    const begun = await begin(ports, id, lease, request);
    const left = await work(ports, begun.task, lease, request.signal);
    return { ...left, ...(await end(ports, id, lease, left, request)), headBefore: begun.task.headSha };
  } finally {
    await store.releaseLease(lease);
  }
}

const LOOK_EVERY_MS = 100;

/** Resolves with the task's lease, once nothing of it runs and nothing has to be done for it first. */
async function ask(ports: Ports, id: string, request: AttachRequest): Promise<Lease> {
  const { store, clock, owner, timing, isOwnerDead } = ports;
  const { by, now, signal, onWait } = request;
  let asked = false;
  let said = '';
  for (;;) {
    const { task } = (await store.task(id))!;
    const [held] = await store.leases(taskLease(id));
    if (held && !isOwnerDead(held.owner) && !isSameHost(held.owner, owner))
      throw new UserError(
        `${nameOfTask(task)} is worked on by a runner on another machine, and so is its worktree there.`,
        'Attach on that machine.',
      );
    // Who is said to be attached may have died.
    const isFree = !held || isOwnerDead(held.owner);
    refuse(task.attached && isFree ? { ...task, attached: null } : task);
    if (!asked)
      await store.request({ task: id, kind: now ? 'attach_now' : 'attach', by, at: clock.now(), why: owner });
    asked = true;
    const lease = await store.acquireLease(taskLease(id), owner, clock.now(), timing.leaseTtlMs, isOwnerDead);
    if (lease) {
      const why = await whyNotYet(ports, id, lease);
      if (why === null) return lease;
      await store.releaseLease(lease);
      if (!(await request.isRunnerAlive()))
        throw new UserError(
          `${nameOfTask(task)} can't be attached to yet: ${why} has to be done first.`,
          '`forge-loop run` does it.',
        );
    }
    const waits = task.turn
      ? `turn ${task.turn.turn} of the ${task.turn.role} to end`
      : 'the runner to let go of it';
    if (waits !== said) onWait(waits);
    said = waits;
    if (signal.aborted) throw new UserError(`Given up: ${nameOfTask(task)} continues as before.`);
    await new Promise<void>((resolve) => void clock.after(LOOK_EVERY_MS, resolve));
  }
}

async function whyNotYet(ports: Ports, id: string, lease: Lease): Promise<string | null> {
  if ((await takeOver(ports, id, lease)) === 'detached') await save(ports, id, lease);
  const pending = await ports.store.pendingActions(id);
  const first = pending.find((one) => !mayHandOver([one]));
  return first ? effectName(first.action.kind) : null;
}

function refuse(task: Task): void {
  const refused: Refusal | null = refusal(task, 'attach');
  if (refused) throw new UserError(refused.why, refused.advice);
}

/** Everything that would keep its program from being started is found before anything is written down. */
async function begin(ports: Ports, id: string, lease: Lease, { by }: AttachRequest): Promise<StoredTask> {
  const { store, owner, workspaces } = ports;
  const { task, version } = (await store.task(id))!;
  refuse(task);
  const sessionId = task.roles.coder.session!;
  await workspaces.verify(workspaceKey(task)).catch((problem: unknown) => {
    if (!(problem instanceof WorkspaceRefused)) throw problem;
    throw new UserError(`The worktree of ${nameOfTask(task)} can't be used: ${problem.message}`);
  });
  const sessionDir = ports.places.session(id, sessionId);
  if ((await ports.agentFor('coder').probeSession({ sessionId, sessionDir })) !== 'resumable')
    throw new UserError(
      `The session of ${nameOfTask(task)} can't be continued: ${sessionDir} has nothing of it.`,
      'Wait for its next turn, which starts a new session.',
    );
  const { events, finish } = attaching(task, await store.pendingActions(id), { by, sessionId });
  const mine = (await store.requests(id)).filter(({ why }) => why === owner).map((one) => one.id);
  return store.commit({
    lease,
    taskId: id,
    expectedVersion: version,
    events,
    at: ports.clock.now(),
    finishActions: finish,
    consumeRequests: mine,
  });
}

type Left = Omit<EventData['detached'], 'by'>;

async function work(ports: Ports, task: Task, lease: Lease, gone: AbortSignal): Promise<Left> {
  const { clock, store } = ports;
  const { sessionId } = task.attached!;
  const startedAt = clock.monotonic();
  const since = clock.now();
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  gone.addEventListener('abort', stop);
  if (gone.aborted) stop();
  const letLeaseGo = keep(ports, lease, stop);
  try {
    const result = await open(ports, task, lease, controller.signal);
    const used = (await store.usage({ task: task.id, since })).filter(({ turn }) => turn === NO_TURN);
    const costs = used.map(({ costUsd }) => costUsd);
    return {
      sessionId,
      how:
        result.status === 'finished' ? 'exited' : result.status === 'cancelled' ? 'cut_off' : 'not_started',
      detail: saidOf(result),
      durationMs: Math.round(clock.monotonic() - startedAt),
      tokens: used.reduce(
        (sum, one) => sum + one.input + one.output + one.cacheRead + one.cacheWrite + one.reasoning,
        0,
      ),
      costUsd: costs.includes(null) ? null : costs.reduce<number>((sum, one) => sum + (one ?? 0), 0),
      usage: result.usageKnown ? 'known' : 'unknown',
    };
  } finally {
    letLeaseGo();
    gone.removeEventListener('abort', stop);
  }
}

/** What a person spends is in the ledger beside the turns. */
const NO_TURN = 0;

const saidOf = (result: TurnResult): string => {
  if (result.status === 'finished') return result.text;
  return result.status === 'cancelled' ? 'its terminal is gone' : result.message;
};

/** Renews the lease until it is called. */
function keep(ports: Ports, lease: Lease, lost: () => void): () => void {
  const { clock, timing, log } = ports;
  const renew = createRenewal(ports, () => [{ id: null, lease: () => lease, dropLease: lost }]);
  let cancel = () => {};
  const arm = (): void => {
    cancel = clock.after(timing.renewMs, () => {
      void renew()
        .catch((problem) => log('warn', `could not renew the lease: ${String(problem)}`, {}))
        .then(() => {
          if (cancel !== OVER) arm();
        });
    });
  };
  arm();
  return () => {
    cancel();
    cancel = OVER;
  };
}

const OVER = (): void => {};

/** The agent's own program, as a turn of its coder would start it. */
async function open(ports: Ports, task: Task, lease: Lease, signal: AbortSignal): Promise<TurnResult> {
  const sandbox = await chosenSandbox(ports);
  if (sandbox.kind === null) return failed('sandbox_failed', sandbox.why, true);
  const { sessionId } = task.attached!;
  const model = task.plan?.models.coder;
  const action: Extract<Action, { kind: 'turn' }> = {
    kind: 'turn',
    role: 'coder',
    turn: NO_TURN,
    sessionId,
    prompt: 'continuation',
    priorFailure: null,
    ...(model && { model }),
  };
  const visit = { role: 'coder', lease, signal, note: async () => {}, near: null } as const;
  const place = await openWorkplace.workspace(ports, task, visit);
  const problem = await place.enter();
  if (problem) return failed('could_not_start', problem, true);
  try {
    const request = await requestOf({ ports, task, action }, '', place.path, sandbox.kind);
    const { onUsage, written, known } = spending({ ports, task, action, lease, onSpend: () => {} });
    const recorder = processRecorder(ports, task.id, lease, `${task.attached!.by} is attached`);
    const network = networkUse(ports, task.id, `${task.attached!.by}, attached`);
    try {
      const room = async () => {
        await written();
        return roomOf(ports, task);
      };
      const hooks = { signal, onHeld: recorder.onHeld, onUsage, onProgress: () => {}, room };
      const agent = ports.agentFor('coder');
      const result = await agent.attach!(request, { ...hooks, onNetwork: network.onRequest });
      await written();
      // Whoever closed the terminal ended its program, too.
      return known(signal.aborted ? { status: 'cancelled', usageKnown: result.usageKnown } : result);
    } finally {
      await recorder.forget();
      await network.close();
    }
  } finally {
    await place.leave(true);
  }
}

/** What they did is saved at once; if that fails, whoever has the task next does it. */
async function end(
  ports: Ports,
  id: string,
  lease: Lease,
  { sessionId: _, ...left }: Left,
  { by, keepPaused }: AttachRequest,
): Promise<{ task: Task }> {
  const { store, clock } = ports;
  const before = (await store.task(id))!;
  const { events, actions } = detaching(before.task, left, keepPaused ? by : null);
  const at = clock.now();
  await store.commit({
    lease,
    taskId: id,
    expectedVersion: before.version,
    events,
    addActions: actions,
    at,
  });
  await save(ports, id, lease).catch((problem: unknown) =>
    ports.log('warn', `what was changed is not saved yet: ${String(problem)}`, { task: id }),
  );
  return { task: (await store.task(id))!.task };
}

/** Performs what is pending of saves, as a tick would. */
async function save(ports: Ports, id: string, lease: Lease): Promise<void> {
  const { store, clock } = ports;
  const [pending] = (await store.pendingActions(id)).filter(({ action }) => action.kind === 'checkpoint');
  if (!pending) return;
  const { task, version } = (await store.task(id))!;
  const outcome = await perform(ports, task, { kind: 'checkpoint' }, lease, new AbortController().signal);
  const found = await recorded(ports, task, pending.action, outcome);
  const finishActions = [pending.id];
  await store.commit({
    lease,
    taskId: id,
    expectedVersion: version,
    ...found,
    finishActions,
    at: clock.now(),
  });
}
