/** Discord's webhooks. `allowed_mentions` keeps any text from calling anybody; what Markdown would read is escaped. */
import type { Message } from '../core/tell/notify.ts';
import { cut, messageTitle, moreLine } from '../core/words/notices.ts';
import type { Channel } from './notify.ts';
import { type Dial, post, urlProblem } from './post.ts';

export const discordChannel = (parts: { dial: Dial; now(): number }): Channel => ({
  kind: 'discord',
  problem: async (channel) => urlProblem(channel),
  send: (message, { url }, { signal }) =>
    post(parts.dial, { url: url!, body: JSON.stringify(payloadOf(message)), signal }, parts.now, waitIn),
});

const CONTENT_CHARS = 2000;
const SUPPRESS_EMBEDS = 4;

function payloadOf(message: Message) {
  return {
    content: contentOf(message),
    allowed_mentions: { parse: [] },
    flags: SUPPRESS_EMBEDS,
  };
}

/** As many notices as fit, each whole; how many are left out is said. */
function contentOf(message: Message): string {
  const { notices, more, id } = message;
  const foot = `-# ${escaped(message.project)} · ${id}`;
  const lines = notices.map(({ title, text }) => `**${escaped(title)}**\n${escaped(text)}`);
  const head = notices.length + more === 1 ? [] : [`**${escaped(messageTitle(message))}**`];
  for (let count = lines.length; count > 0; count -= 1) {
    const shown = [
      ...head,
      ...lines.slice(0, count),
      ...moreLine(more + lines.length - count).map(escaped),
      foot,
    ];
    if (shown.join('\n').length <= CONTENT_CHARS) return shown.join('\n');
  }
  return cut(lines[0] ?? messageTitle(message), CONTENT_CHARS);
}

/** `:` keeps names of emoji and the scheme of links plain; `@` and `#` need nothing, since nobody can be mentioned. */
const escaped = (text: string): string => text.replace(/[\\*_~`|<>[\]()#:-]/g, (one) => `\\${one}`);

/** It says how long in the body, to the millisecond; the header is rounded. */
function waitIn(body: string): number | null {
  try {
    const { retry_after: seconds } = JSON.parse(body) as { retry_after?: unknown };
    return typeof seconds === 'number' && seconds >= 0 ? seconds : null;
  } catch {
    return null;
  }
}
