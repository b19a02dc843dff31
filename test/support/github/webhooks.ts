/** Deliveries to whoever subscribed: signed, numbered, in order, and sent again when a test asks. */
import { createHmac, randomUUID } from 'node:crypto';
import { request } from 'node:http';

export interface Hook {
  id: number;
  url: string;
  secret: string;
  events: string[];
  /** How the last delivery was answered; null when it could not be reached, absent before the first. */
  answered?: number | null;
}

export interface HookEvent {
  event: string;
  payload: Record<string, unknown>;
}

export interface Delivery extends HookEvent {
  id: string;
  /** The receiver's answer; null when it could not be reached. */
  status: number | null;
}

export interface Webhooks {
  emit(event: HookEvent): void;
  deliveries: Delivery[];
  /** The very same delivery once more, same id: GitHub promises at least once. */
  redeliver(id: string): Promise<void>;
  /** When all that was emitted has been answered. */
  settled(): Promise<void>;
}

export function createWebhooks(hooks: () => readonly Hook[]): Webhooks {
  const deliveries: Delivery[] = [];
  let queue: Promise<void> = Promise.resolve();

  const send = async (hook: Hook, delivery: Delivery): Promise<void> => {
    const body = JSON.stringify(delivery.payload);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/0000000',
      'x-github-event': delivery.event,
      'x-github-delivery': delivery.id,
      'x-github-hook-id': String(hook.id),
      'x-hub-signature-256': `sha256=${createHmac('sha256', hook.secret).update(body).digest('hex')}`,
    };
    delivery.status = await new Promise<number | null>((done) => {
      // Without an agent: a connection kept from an earlier receiver on the same port would fail the delivery.
      const sent = request(hook.url, { method: 'POST', headers, agent: false }, (answer) => {
        answer.resume();
        answer.once('end', () => done(answer.statusCode ?? null));
      });
      sent.once('error', () => done(null));
      sent.end(body);
    });
    hook.answered = delivery.status;
  };
  const enqueue = (delivery: Delivery): Promise<void> => {
    for (const hook of hooks()) {
      if (hook.events.includes('*') || hook.events.includes(delivery.event))
        queue = queue.then(() => send(hook, delivery));
    }
    return queue;
  };

  return {
    deliveries,
    emit(event) {
      if (hooks().length === 0) return;
      const delivery = { ...event, id: randomUUID(), status: null };
      deliveries.push(delivery);
      void enqueue(delivery);
    },
    async redeliver(id) {
      const found = deliveries.find((delivery) => delivery.id === id);
      if (!found) throw new Error(`there was no delivery ${id}`);
      await enqueue(found);
    },
    settled: () => queue,
  };
}
