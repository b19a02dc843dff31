/**
 * ntfy, published as JSON: then title and text need not fit into headers. `url` is that of the topic; the JSON goes to the
 * server's root and names the topic. Without `markdown` nothing in it is markup.
 */
import type { ChannelPolicy, Message, NoticeKind } from '../core/tell/notify.ts';
import { messageLines, messageTitle } from '../core/words/notices.ts';
import type { Channel } from './notify.ts';
import { type Dial, post, urlProblem } from './post.ts';

export const ntfyChannel = (parts: { dial: Dial; now(): number }): Channel => ({
  kind: 'ntfy',
  problem: async (channel) => urlProblem(channel) ?? topicProblem(channel),
  send(message, { url, token }, { signal }) {
    const { root, topic } = placeOf(url!);
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    const body = JSON.stringify({ topic, ...payloadOf(message) });
    return post(parts.dial, { url: root, body, headers, signal }, parts.now);
  },
});

/** Longer ones are turned into attachments. */
const MESSAGE_BYTES = 4096;
const TITLE_BYTES = 250;
const HIGH = 4;
const USUAL = 3;

function payloadOf(message: Message) {
  const urgent: readonly NoticeKind[] = ['needs_you', 'loop_held', 'budget'];
  const isUrgent = message.notices.some(({ kinds }) => kinds.some((kind) => urgent.includes(kind)));
  return {
    title: within(messageTitle(message), TITLE_BYTES),
    message: within(messageLines(message).join('\n'), MESSAGE_BYTES),
    priority: isUrgent ? HIGH : USUAL,
    tags: [isUrgent ? 'warning' : 'white_check_mark'],
  };
}

/** Cut to so many bytes, between characters. */
function within(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const end = Buffer.from(text).subarray(0, bytes - 3);
  // A character that was cut in the middle can't be decoded, and is left out.
  return `${new TextDecoder('utf-8').decode(end, { stream: true })}…`;
}

function placeOf(url: string): { root: string; topic: string } {
  const { origin, pathname } = new URL(url);
  const [, folder = '/', topic = ''] = /^(.*\/)([^/]+)\/?$/.exec(pathname) ?? [];
  return { root: `${origin}${folder}`, topic: decodeURIComponent(topic) };
}

const topicProblem = ({ name, url }: ChannelPolicy): string | null =>
  /^[-_A-Za-z0-9]{1,64}$/.test(placeOf(url!).topic)
    ? null
    : `notify.channels.${name}.url must end in a topic of letters, digits, - and _, such as https://ntfy.sh/my-topic`;
