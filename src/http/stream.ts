/**
 * Events as they are recorded, as server-sent events. Each is sent with its sequence number, so that a browser that was cut
 * off says where it stopped, and nothing is missed or repeated.
 */
import type { Context as Asked } from 'hono';
import { streamSSE } from 'hono/streaming';
import { eventsAfter, follow } from '../operations/follow.ts';
import { perform } from '../operations.ts';
import type { LiveContext } from './live-context.ts';

const LOOK_EVERY_MS = 250;
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
      let saidAt = Date.now();
      for await (const found of follow(look, LOOK_EVERY_MS, stop)) {
        for (const one of found) await out.writeSSE({ id: String(one.seq), data: JSON.stringify(one) });
        if (found.length > 0) saidAt = Date.now();
        else if (Date.now() - saidAt > SIGN_OF_LIFE_MS) {
          await out.write(': \n\n');
          saidAt = Date.now();
        }
      }
    });
  };
}

/** So many at once at most: who comes back after a night gets them in parts. */
const PAGE = 1000;

function startingAfter(asked: Asked): number | null {
  const given = asked.req.header('last-event-id') ?? asked.req.query('after');
  return given !== undefined && /^\d{1,15}$/.test(given) ? Number(given) : null;
}

async function newest(live: LiveContext): Promise<number> {
  const [last] = await live.use((context) => perform(context, 'events', { last: 1 }));
  return last?.seq ?? 0;
}
