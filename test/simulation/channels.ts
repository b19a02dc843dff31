/** Channels that keep what they were sent. One of them never answers; nothing may wait for it. */
import type { LoopEvent } from '../../src/core/event.ts';
import { needsPerson } from '../../src/core/hold.ts';
import type { Policy } from '../../src/core/policy.ts';
import type { ChannelPolicy, Message } from '../../src/core/tell/notify.ts';
import type { Channels } from '../../src/notify/notify.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

const DEAF = 'deaf';

export function simChannels(world: World): Channels {
  return {
    problem: async () => null,
    async send(message, { name }, { signal }) {
      if (name === DEAF) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return { kind: 'failed', why: 'no answer', retryAt: null };
      }
      world.messages.push({ channel: name, message, at: world.time.now() });
      return { kind: 'sent' };
    },
  };
}

export function someChannels(random: Random): Policy['notify'] {
  const channel = (name: string, digestMs: number): ChannelPolicy => ({
    name,
    kind: 'command',
    events: ['needs_you', 'merged', 'completed', 'abandoned', 'budget', 'loop_held', 'idle'],
    digestMs,
    quiet: null,
    url: null,
    secret: null,
    token: null,
    command: 'tell',
    passEnv: [],
  });
  const usual = channel('usual', random.pick([0, 60_000, 600_000]));
  return { channels: random.pick([[], [usual], [usual], [usual, channel(DEAF, 0)]]) };
}

/**
 * Everything worth telling reached the channel; nothing is told by two messages; and a message was sent again only after a
 * crash, a lost answer or a standstill.
 */
export async function checkTold(world: World, { notify }: Policy): Promise<void> {
  if (!notify.channels.some(({ name }) => name === 'usual')) return;
  const { store, messages, mishaps } = world;
  const from = world.toldFrom ?? Number.POSITIVE_INFINITY;
  const told = new Map<string, Set<string>>();
  for (const { message } of messages)
    for (const { id } of message.notices) told.set(id, (told.get(id) ?? new Set()).add(message.id));
  const waiting = (await store.pendingActions(null)).filter(({ action }) => action.kind === 'notify');
  for (const { action } of waiting)
    if (action.kind === 'notify' && action.channel !== DEAF)
      world.violate(`a message of ${action.message.notices.map(({ title }) => title)} was never sent`);
  for (const event of await worthTelling(world, from))
    if (!told.has(`${event.seq}`)) world.violate(`nobody was told of ${event.seq} ${event.type}`);
  for (const [id, by] of told) if (by.size > 1) world.violate(`${id} was told by ${by.size} messages`);
  const sent = new Map<string, number>();
  for (const { message, at } of messages) {
    const before = sent.get(message.id);
    if (before !== undefined && !mishaps.some((one) => one >= before && one <= at))
      world.violate(`${titles(message)} was sent twice for nothing`);
    sent.set(message.id, at);
  }
}

const titles = ({ notices }: Message): string => notices.map(({ title }) => title).join('; ');

/** As people would say it: tasks that ended, questions to them, and the same one asked again only when it had been settled. */
async function worthTelling({ store }: World, from: number): Promise<LoopEvent[]> {
  const asked = new Map<string, string>();
  return (await store.events()).filter((event) => {
    const key = event.task ?? '';
    if (event.type === 'hold_cleared' || event.type === 'hold_released') asked.delete(key);
    if (event.type === 'hold_set' && needsPerson(event.data)) {
      const question = `${event.data.reason} ${event.data.detail}`;
      const isNew = asked.get(key) !== question;
      asked.set(key, question);
      return isNew && event.seq > from;
    }
    if (event.seq <= from) return false;
    if (event.type === 'worker_state_transition')
      return ['merged', 'completed', 'abandoned'].includes(event.data.to);
    return ['issue_declined', 'readiness_withdrawn', 'budget_warned', 'loop_idle'].includes(event.type);
  });
}
