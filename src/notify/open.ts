/** The channel of each kind; what is said of a failure has nothing of the channel's secrets. */

import { knownValues, redact } from '../core/access/redact.ts';
import type { ChannelPolicy } from '../core/tell/notify.ts';
import { oneLine, plain } from '../core/words/fence.ts';
import type { Channel, Channels } from './notify.ts';

export function openChannels(channels: readonly Channel[]): Channels {
  const of = ({ kind }: ChannelPolicy): Channel => {
    const found = channels.find((one) => one.kind === kind);
    if (!found) throw new Error(`there is no channel of kind ${kind}`);
    return found;
  };
  return {
    problem: async (channel) => of(channel).problem(channel),
    async send(message, channel, options) {
      try {
        const problem = await of(channel).problem(channel);
        if (problem !== null) return failed(channel, problem);
        const sent = await of(channel).send(message, channel, options);
        return sent.kind === 'sent' ? sent : failed(channel, sent.why, sent.retryAt);
      } catch (error) {
        return failed(channel, (error as Error).message);
      }
    },
  };
}

const failed = (channel: ChannelPolicy, why: string, retryAt: number | null = null) => ({
  kind: 'failed' as const,
  why: oneLine(plain(redact(why, knownValues(secretsOf(channel))))),
  retryAt,
});

/** Services quote what they were asked: the whole address, its path, or the last part of it, which is the secret one. */
function secretsOf({ url, secret, token }: ChannelPolicy): string[] {
  const parts = url !== null && URL.canParse(url) ? partsOf(new URL(url)) : [];
  return [url, ...parts, secret, token].filter(
    (one): one is string => one !== null && one.length >= SHORTEST,
  );
}

const SHORTEST = 4;

const partsOf = ({ pathname, search, username, password }: URL): string[] => [
  pathname + search,
  pathname,
  ...pathname.split('/').filter((part) => part.length >= 8),
  ...[search, username, password],
];
