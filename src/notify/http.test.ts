/** The channels that speak HTTP. */
import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startService } from '../../test/support/notify/service.ts';
import type { ChannelKind } from '../core/tell/notify.ts';
import {
  type ChannelUnderTest,
  channelContract,
  channelPolicy,
  message,
  NOW,
  SECRET_PATH,
} from './contract.ts';
import { discordChannel } from './discord.ts';
import type { Channel } from './notify.ts';
import { ntfyChannel } from './ntfy.ts';
import { openChannels } from './open.ts';
import type { Dial } from './post.ts';
import { slackChannel } from './slack.ts';
import { webhookChannel } from './webhook.ts';

const dial: Dial = ({ host, port }) =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    socket.once('error', reject).once('connect', () => resolve(socket));
  });
const parts = { dial, now: () => NOW };
const KEY = Buffer.alloc(32, 7);
const SECRET = `whsec_${KEY.toString('base64')}`;

interface Shape {
  channel: Channel;
  path: string;
  /** What its service shows of what it was sent. */
  shown(body: string): string;
  limited: { headers?: Record<string, string>; body: string };
}

const SERVICES: Partial<Record<ChannelKind, Shape>> = {
  webhook: {
    channel: webhookChannel(parts),
    path: SECRET_PATH,
    shown: (body) => Object.values(JSON.parse(body).data).join('\n'),
    limited: { headers: { 'retry-after': new Date(NOW + 7000).toUTCString() }, body: '' },
  },
  slack: {
    channel: slackChannel(parts),
    path: SECRET_PATH,
    shown: (body) => {
      const { text, blocks } = JSON.parse(body);
      const texts = blocks.flatMap((one: { text?: { text: string } }) => one.text?.text ?? []);
      return unescaped([text, ...texts].join('\n'));
    },
    limited: { headers: { 'retry-after': '7' }, body: 'rate_limited' },
  },
  discord: {
    channel: discordChannel(parts),
    path: SECRET_PATH,
    shown: (body) => {
      const { content, allowed_mentions: mentions, flags } = JSON.parse(body);
      expect({ mentions, flags }).toEqual({ mentions: { parse: [] }, flags: 4 });
      return content.replace(/\\([^0-9A-Za-z\s])/g, '$1');
    },
    limited: { body: '{"message": "You are being rate limited.", "retry_after": 7, "global": false}' },
  },
  ntfy: {
    channel: ntfyChannel(parts),
    path: '/verysecretpath',
    shown: (body) => `${JSON.parse(body).title}\n${JSON.parse(body).message}`,
    limited: { headers: { 'retry-after': '7' }, body: '{"code":42901,"http":429}' },
  },
};

const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

async function openService(kind: ChannelKind): Promise<ChannelUnderTest> {
  const { channel, path, shown, limited } = SERVICES[kind]!;
  const service = await startService(kind, path);
  return {
    channel,
    policy: channelPolicy({
      kind,
      url: service.url,
      secret: kind === 'webhook' ? SECRET : null,
      token: kind === 'ntfy' ? 'tk_verysecrettoken' : null,
    }),
    arrived: () => service.asked.map(({ body }) => body),
    showsId: kind !== 'ntfy',
    hasMarkup: kind === 'slack' || kind === 'discord',
    failNext: (says) => service.next.push({ status: 500, body: says }),
    hangNext: () => service.next.push(null),
    somethingArrived: () => expect.poll(() => service.asked.length, { timeout: 60_000 }).toBeGreaterThan(0),
    shown,
    limitNext: () => service.next.push({ status: 429, ...limited }),
    dispose: service.close,
  };
}

for (const kind of Object.keys(SERVICES) as ChannelKind[]) channelContract(kind, () => openService(kind));

const options = () => ({ signal: new AbortController().signal, onHeld: async () => {} });

test('a webhook can be verified as the documentation says', async () => {
  const service = await startService('webhook', SECRET_PATH);
  const policy = channelPolicy({ url: service.url, secret: SECRET });
  const sent = message([]);
  await openChannels([webhookChannel(parts)]).send(sent, policy, options());
  const { headers, body } = service.asked[0]!;
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  expect(headers['webhook-signature']).toBe(
    `v1,${createHmac('sha256', KEY).update(signed).digest('base64')}`,
  );
  expect([headers['webhook-id'], headers['webhook-timestamp']]).toEqual([sent.id, `${NOW / 1000}`]);
  await service.close();
});

test('ntfy is asked at its root, with the topic in the body and the token in a header', async () => {
  const service = await startService('ntfy', '/verysecretpath');
  const policy = channelPolicy({ kind: 'ntfy', url: service.url, token: 'tk_1' });
  expect(await openChannels([ntfyChannel(parts)]).send(message([]), policy, options())).toEqual({
    kind: 'sent',
  });
  expect(service.asked[0]).toMatchObject({ path: '/', headers: { authorization: 'Bearer tk_1' } });
  await service.close();
});

test('no redirect is followed', async () => {
  const service = await startService('slack', SECRET_PATH);
  service.next.push({ status: 307, headers: { location: `${service.url}elsewhere` }, body: '' });
  const policy = channelPolicy({ kind: 'slack', url: service.url });
  const sent = await openChannels([slackChannel(parts)]).send(message([]), policy, options());
  expect(sent).toEqual({ kind: 'failed', why: 'answered 307', retryAt: null });
  expect(service.asked).toHaveLength(1);
  await service.close();
});

test.each([
  ['webhook', 'https://example.org/hook', 'too short', /secret must be whsec_/],
  ['webhook', 'example.org', SECRET, /url is no URL/],
  ['slack', 'ftp://example.org/x', null, /must begin with https/],
  ['ntfy', 'https://example.org/', null, /must end in a topic/],
] as const)(
  '%s: a setting that can not work is said without being shown',
  async (kind, url, secret, says) => {
    const channels = openChannels([SERVICES[kind]!.channel]);
    const problem = await channels.problem(channelPolicy({ kind, url, secret }));
    expect(problem).toMatch(says);
    expect(problem).not.toContain(url);
  },
);
