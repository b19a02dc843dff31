/**
 * Events as they are recorded, as server-sent events. Each is sent with its sequence number, so that a browser that was cut
 * off says where it stopped, and nothing is missed or repeated. What agents do between events is told beside them, without a number:
 * `doing` says that it changed, and whoever cares asks.
 */
import type { Context as Asked } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { Context } from '../context.ts';
import { eventsAfter, follow } from '../operations/follow.ts';
import { perform } from '../operations.ts';
import type { LiveContext } from './live-context.ts';

const LOOK_EVERY_MS = 250;
/** Where nothing was recorded for a while, so that a page left open costs next to nothing. */
const QUIET = { afterMs: 10_000, lookEveryMs: 500 };
const DOING_EVERY_MS = 1000;
/** Proxies close what is silent for longer. */
const SIGN_OF_LIFE_MS = 25_000;

/** From the event after `Last-Event-ID` or `?after=`; without either, from now on. */
export function stream(live: LiveContext, closing: AbortSignal) {
  return (asked: Asked): Response => {
    asked.header('X-Accel-Buffering', 'no');
    return streamSSE(asked, async (out) => {
      const gone = new AbortController();
      out.onAbort(() => gone.abort());
      const stop = AbortSignal.any([gone.signal, closing]);
      const start = startingAfter(asked) ?? (await newest(live));
      // Also says to the browser that it is connected, and from where on.
      await out.writeSSE({ event: 'connected', data: JSON.stringify({ after: start }), id: String(start) });
      const look = eventsAfter(start, (after) =>
        live.use((context) => perform(context, 'events', { after, limit: PAGE })),
      );
      let [saidAt, heardAt] = [Date.now(), Date.now()];
      const pause = (): number => (Date.now() - heardAt > QUIET.afterMs ? QUIET.lookEveryMs : LOOK_EVERY_MS);
      let doing = { at: 0, seen: '{}' };
      for await (const found of follow(look, pause, stop)) {
        for (const one of found) await out.writeSSE({ id: String(one.seq), data: JSON.stringify(one) });
        if (found.length > 0) saidAt = heardAt = Date.now();
        if (!stop.aborted && Date.now() - doing.at > DOING_EVERY_MS) {
          const seen = JSON.stringify(await live.use(doingNow));
          if (seen !== doing.seen) await out.writeSSE({ event: 'doing', data: seen });
          doing = { at: Date.now(), seen };
        } else if (Date.now() - saidAt > SIGN_OF_LIFE_MS) {
          await out.write(': \n\n');
          saidAt = Date.now();
        }
      }
    });
  };
}

/** So many at once at most: who comes back after a night gets them in parts. */
const PAGE = 1000;

/** By task, what its agent or its command said last, and its newest log. Nothing but one query where nothing runs. */
async function doingNow(context: Context): Promise<Record<string, Doing>> {
  const store = await context.reading();
  if (!store || (await store.processes()).length === 0) return {};
  const tasks = (await perform(context, 'task.list')).filter(({ atWork }) => atWork !== null);
  const doing = tasks.map(async ({ id, turn, lastLine }) => {
    const { log, bytes } = await perform(context, 'task.log', { task: id, after: Number.MAX_SAFE_INTEGER });
    return [id, { says: turn?.doing ?? lastLine, log, bytes }] as const;
  });
  return Object.fromEntries(await Promise.all(doing));
}

export interface Doing {
  says: string | null;
  log: string | null;
  bytes: number;
}

function startingAfter(asked: Asked): number | null {
  const given = asked.req.header('last-event-id') ?? asked.req.query('after');
  return given !== undefined && /^\d{1,15}$/.test(given) ? Number(given) : null;
}

async function newest(live: LiveContext): Promise<number> {
  const [last] = await live.use((context) => perform(context, 'events', { last: 1 }));
  return last?.seq ?? 0;
}
