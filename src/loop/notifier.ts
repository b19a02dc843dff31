/**
 * Tells people what happened, beside everything else: no task, no tick and no end of a run waits for a channel, but the last
 * look of a run, for a moment. Only the runner with the intake lease does it.
 *
 * What is to be told, and how far the log was looked through, are written down together; then each message is an effect of the
 * loop's own outbox. It is sent, and then recorded as sent: who dies in between sends it again, with the same id.
 */
import type { Effect, PendingAction } from '../core/action.ts';
import { event } from '../core/event.ts';
import type { LoopWait } from '../core/loop/loop-waits.ts';
import type { Task } from '../core/task.ts';
import { compose, gather, isStale, type NotifyState, notifyFrom, resendMs } from '../core/tell/notify.ts';
import { isPutOff, LONGEST_PUT_OFF_MS } from '../core/waiting.ts';
import { LeaseLost } from '../errors.ts';
import type { Lease } from '../store/store.ts';
import { catchAndLog } from './catch-and-log.ts';
import { processRecorder } from './command.ts';
import type { Ports } from './ports.ts';

interface Notifier {
  /** Looks for something to tell, and begins to send what is due. `waits`: what the loop waits for; null is not looked at. */
  look(lease: Lease, waits: readonly LoopWait[] | null): Promise<void>;
  /** The last looks: nothing is gathered any longer, and what is due is sent, for a moment. */
  finish(lease: Lease, waits: readonly LoopWait[]): Promise<void>;
  /** Ends what is being sent; it stays in the outbox. */
  abort(): void;
}

type Notification = PendingAction & { action: Extract<Effect, { kind: 'notify' }> };

const FINISH_MS = 10_000;
const EVENTS_A_LOOK = 500;
/** How far the log may be looked through again after a crash, rather than to write for every event. */
const UNWRITTEN_EVENTS = 1000;

export function createNotifier(ports: Ports): Notifier {
  const { store, clock } = ports;
  const sending = new Map<number, Promise<void>>();
  let controller = new AbortController();
  /** How far it looked under this lease: what comes of nothing is not written down each time. */
  let seen = { fencing: -1, through: 0 };
  let looking: Promise<void> = Promise.resolve();

  return {
    look: (lease, waits) => inTurn(() => look(lease, waits, false)),
    async finish(lease, waits) {
      let isLate = false;
      let cancel = (): void => {};
      const late = new Promise<void>((resolve) => {
        cancel = clock.after(FINISH_MS, resolve);
      }).then(() => {
        isLate = true;
      });
      while (!isLate) {
        await inTurn(() => look(lease, waits, true));
        if (sending.size === 0) break;
        // What was on its way has kept the rest of its channel back.
        await Promise.race([late, ...sending.values()]);
      }
      cancel();
      abort();
      await Promise.all(sending.values());
    },
    abort,
  };

  function abort(): void {
    controller.abort();
    controller = new AbortController();
  }

  /** One look at a time. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const next = looking.then(work);
    looking = next.catch(() => {});
    return next;
  }

  async function look(lease: Lease, waits: readonly LoopWait[] | null, isLast: boolean): Promise<void> {
    const { channels } = ports.settings.policy().notify;
    if (channels.length === 0) return forget(lease);
    const pending = await notifications();
    const busy = new Set(pending.map(({ action }) => action.channel));
    const { state: before, written } = await readState(lease);
    const events = await store.events({ after: before.considered, limit: EVENTS_A_LOOK });
    const tasks = await tasksOf(events.map(({ task }) => task));
    const now = clock.now();
    const gathered = gather(before, { events, waits, taskOf: (id) => tasks.get(id) }, channels, now);
    const { project, newId } = ports;
    const { state, messages } = compose(gathered, channels, { now, project, busy, isLast, newId });
    if (messages.length > 0 || isWorthWriting(written, state)) {
      const addActions = messages.map((one) => ({ kind: 'notify' as const, ...one }));
      await store.record({ lease, events: [], at: now, addActions, loop: { notify: state } });
    }
    seen = { fencing: lease.fencing, through: state.considered };
    for (const one of messages.length > 0 ? await notifications() : pending) begin(lease, one);
  }

  /** Whoever is to be told again one day is not told what happened meanwhile. */
  async function forget(lease: Lease): Promise<void> {
    if ((await store.loop()).notify === null) return;
    await store.record({ lease, events: [], at: clock.now(), loop: { notify: null } });
  }

  async function readState(lease: Lease): Promise<{ state: NotifyState; written: NotifyState | null }> {
    const { notify: written } = await store.loop();
    if (written === null)
      return { state: notifyFrom((await store.events({ last: 1 }))[0]?.seq ?? 0), written };
    const through = seen.fencing === lease.fencing ? seen.through : 0;
    return { state: { ...written, considered: Math.max(through, written.considered) }, written };
  }

  async function notifications(): Promise<Notification[]> {
    const own = await store.pendingActions(null);
    return own.filter((one): one is Notification => one.action.kind === 'notify');
  }

  async function tasksOf(ids: readonly (string | null)[]): Promise<Map<string, Task>> {
    const wanted = [...new Set(ids.filter((id) => id !== null))];
    const found = await Promise.all(wanted.map((id) => store.task(id)));
    return new Map(found.flatMap((stored) => (stored ? [[stored.task.id, stored.task] as const] : [])));
  }

  function begin(lease: Lease, pending: Notification): void {
    if (sending.has(pending.id) || isPutOff(pending, clock.now())) return;
    const sent = catchAndLog(ports, 'notify', () => send(lease, pending)).then(() => {
      sending.delete(pending.id);
    });
    sending.set(pending.id, sent);
  }

  async function send(lease: Lease, pending: Notification): Promise<void> {
    try {
      await store.proveLease(lease, clock.now());
      // A look that began while it was being sent still has it on its list.
      const isPending = (await notifications()).some(({ id }) => id === pending.id);
      if (isPending) await sendOne(lease, pending);
    } catch (problem) {
      // Another runner has it, and sends what is left.
      if (!(problem instanceof LeaseLost)) throw problem;
    }
  }

  async function sendOne(lease: Lease, pending: Notification): Promise<void> {
    const { channel: name, message } = pending.action;
    const { id, notices } = message;
    const channel = ports.settings.policy().notify.channels.find((one) => one.name === name);
    if (!channel) return giveUp(lease, pending, 'there is no such channel any more');
    const recorder = processRecorder(ports, `notify-${id}`, lease, `notify ${name}`);
    const sent = await ports.channels
      .send(message, channel, { signal: controller.signal, onHeld: recorder.onHeld })
      .catch((error: Error) => ({ kind: 'failed' as const, why: error.message, retryAt: null }))
      .finally(recorder.forget);
    const at = clock.now();
    if (sent.kind === 'sent') {
      const told = event('notified', { channel: name, id, notices: notices.map((one) => one.id) });
      await store.record({ lease, events: [told], at, finishAction: pending.id });
      return;
    }
    if (isStale(message, at)) return giveUp(lease, pending, sent.why);
    const attempt = pending.attempts + 1;
    ports.log('warn', `notify ${name} failed ${attempt}×: ${sent.why}`);
    const failed = event('notify_failed', { channel: name, id, problem: sent.why });
    const wanted = Math.max(sent.retryAt ?? 0, at + resendMs(attempt, ports.random()));
    const notBefore = Math.min(wanted, at + LONGEST_PUT_OFF_MS);
    await store.deferAction(lease, pending.id, notBefore, attempt === 1 ? [failed] : [], at);
  }

  async function giveUp(lease: Lease, { id, action }: Notification, problem: string): Promise<void> {
    const { channel, message } = action;
    ports.log('warn', `notify ${channel}: given up: ${problem}`);
    const lost = event('notify_given_up', { channel, id: message.id, problem });
    await store.record({ lease, events: [lost], at: clock.now(), finishAction: id });
  }
}

function isWorthWriting(written: NotifyState | null, after: NotifyState): boolean {
  if (written === null) return true;
  const { considered: was, ...known } = written;
  const { considered: is, ...now } = after;
  return is - was >= UNWRITTEN_EVENTS || JSON.stringify(known) !== JSON.stringify(now);
}
