/**
 * Slack's incoming webhooks. `&`, `<` and `>` are all that its text gives a meaning to beyond emphasis: escaped, nobody is
 * mentioned and no link is disguised; `verbatim` keeps it from making mentions and links of plain words.
 */
import type { Message } from '../core/tell/notify.ts';
import { cut, messageTitle, moreLine } from '../core/words/notices.ts';
import type { Channel } from './notify.ts';
import { type Dial, post, urlProblem } from './post.ts';

export const slackChannel = (parts: { dial: Dial; now(): number }): Channel => ({
  kind: 'slack',
  problem: async (channel) => urlProblem(channel),
  send: (message, { url }, { signal }) =>
    post(parts.dial, { url: url!, body: JSON.stringify(payloadOf(message)), signal }, parts.now),
});

/** A message may have 50 blocks, a section 3000 characters; 4000 of the text are shown in full. */
const SECTION_CHARS = 3000;
const TEXT_CHARS = 3000;
const MOST_SECTIONS = 45;

function payloadOf(message: Message) {
  const { id, notices, more } = message;
  const shown = notices.slice(0, MOST_SECTIONS);
  const sections = [
    ...shown.map(({ title, text }) => `*${escaped(title).replaceAll('*', '∗')}*\n${escaped(text)}`),
    ...moreLine(more + notices.length - shown.length).map(escaped),
  ];
  const title = escaped(messageTitle(message));
  return {
    // What a phone shows; the rest is for who opens it.
    text: whole(title, TEXT_CHARS),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      ...sections.map((text) => ({ type: 'section', text: mrkdwn(whole(text, SECTION_CHARS)) })),
      { type: 'context', elements: [mrkdwn(`${escaped(message.project)} · ${id}`)] },
    ],
  };
}

const mrkdwn = (text: string) => ({ type: 'mrkdwn', text, verbatim: true });

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** An escape that is cut in the middle would be shown as it is. */
const whole = (text: string, chars: number): string => cut(text, chars).replace(/&\w{0,3}…$/, '…');
