/**
 * Sends what the log tells of turns, rounds and attempts to a collector, beside everything else: nothing waits for it but the end
 * of a run, for a moment. Only the runner with the intake lease does it, and how far it came is kept: what a collector
 * did not take is sent again, by the next runner if need be, as the same spans. What it will never take is left out.
 */
import type { LoopEvent } from '../core/event.ts';
import { type Span, spansOf } from '../core/tell/spans.ts';
import { LeaseLost, SpansRefused } from '../errors.ts';
import type { Lease } from '../store/store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Ports } from './ports.ts';
import { readToolCalls } from './turn-tool-calls.ts';

interface Telemeter {
  /** Begins to send what is new, if nothing is on its way. */
  look(lease: Lease): void;
  /** Sends what is left, for a moment. */
  finish(lease: Lease): Promise<void>;
}

const EVENTS_A_LOOK = 500;
const FINISH_MS = 5000;
const AGAIN_MS = 60_000;
/** How far the log may be looked through again after a crash, rather than to write for every event. */
const UNWRITTEN_EVENTS = 1000;
const ENDS_SPANS: ReadonlySet<LoopEvent['type']> = new Set([
  'turn_completed',
  'gate_completed',
  'verdict_recorded',
  'worker_state_transition',
]);

export function createTelemeter(ports: Ports): Telemeter {
  const { store, clock, telemetry } = ports;
  let sending: Promise<void> | null = null;
  let notBefore = 0;
  let seen = { fencing: -1, through: 0 };

  return {
    look(lease) {
      if (telemetry === null || sending || clock.now() < notBefore) return;
      begin(telemetry, lease);
    },
    async finish(lease) {
      if (telemetry === null) return;
      let cancel = (): void => {};
      const late = new Promise<void>((resolve) => {
        cancel = clock.after(FINISH_MS, resolve);
      });
      const all = (async () => {
        await sending;
        await begin(telemetry, lease);
      })();
      await Promise.race([late, all]);
      cancel();
    },
  };

  function begin(to: Telemetry, lease: Lease): Promise<void> {
    sending = sendNew(to, lease)
      .catch((problem) => {
        notBefore = clock.now() + AGAIN_MS;
        // Another runner has the lease, and sends what is left.
        if (!(problem instanceof LeaseLost))
          ports.log('warn', `telemetry was not taken; retrying in a minute: ${(problem as Error).message}`);
      })
      .finally(() => {
        sending = null;
      });
    return sending;
  }

  async function sendNew(to: Telemetry, lease: Lease): Promise<void> {
    for (;;) {
      const { telemetry: written } = await store.loop();
      if (written === null) {
        const through = (await store.events({ last: 1 }))[0]?.seq ?? 0;
        await write(lease, through);
        return;
      }
      const after = Math.max(written, seen.fencing === lease.fencing ? seen.through : 0);
      const events = await store.events({ after, limit: EVENTS_A_LOOK });
      if (events.length === 0) return;
      const through = events.at(-1)!.seq;
      const spans = await spansWithin(to, events, after, through);
      await store.proveLease(lease, clock.now());
      await to.send(spans).catch((problem) => {
        if (!(problem instanceof SpansRefused)) throw problem;
        ports.log('warn', `telemetry left out ${spans.length} spans that were refused: ${problem.message}`);
      });
      if (spans.length > 0 || through - written >= UNWRITTEN_EVENTS) await write(lease, through);
      seen = { fencing: lease.fencing, through };
    }
  }

  async function write(lease: Lease, through: number): Promise<void> {
    await store.record({ lease, events: [], at: clock.now(), loop: { telemetry: through } });
  }

  async function spansWithin(
    { withContents }: Telemetry,
    events: readonly LoopEvent[],
    after: number,
    through: number,
  ): Promise<Span[]> {
    const ids = new Set(
      events.flatMap(({ type, task }) => (ENDS_SPANS.has(type) && task !== null ? [task] : [])),
    );
    const spans: Span[] = [];
    for (const id of ids) {
      const stored = await store.task(id);
      if (!stored) continue;
      const turns = await store.turns(id);
      // The tools of turns that ended before were sent then.
      const ended = turns.filter((turn) => turn.endedAt !== null && turn.endedAt >= events[0]!.at);
      const calls = new Map(
        await Promise.all(ended.map(async (turn) => [turn, await readToolCalls(ports, id, turn)] as const)),
      );
      const all = spansOf({
        task: stored.task,
        events: await store.events({ task: id }),
        turns,
        usage: await store.usage({ task: id }),
        toolsOf: (turn) => calls.get(turn as (typeof turns)[number]) ?? [],
        project: ports.project,
        withContents,
      });
      spans.push(...all.filter(({ seq }) => seq > after && seq <= through));
    }
    return spans;
  }
}
