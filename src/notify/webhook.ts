/**
 * A signed POST, by the Standard Webhooks specification: `webhook-id` is the message's for ever, `webhook-timestamp` that of
 * this try, `webhook-signature` is `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`.
 */
import { createHmac } from 'node:crypto';
import type { ChannelPolicy } from '../core/tell/notify.ts';
import type { Channel } from './notify.ts';
import { payloadOf } from './payload.ts';
import { type Dial, post, urlProblem } from './post.ts';

export const webhookChannel = (parts: { dial: Dial; now(): number }): Channel => ({
  kind: 'webhook',
  problem: async (channel) => urlProblem(channel) ?? secretProblem(channel),
  async send(message, { url, secret }, { signal }) {
    const body = payloadOf(message);
    const timestamp = `${Math.floor(parts.now() / 1000)}`;
    const signed = createHmac('sha256', keyIn(secret!)!).update(`${message.id}.${timestamp}.${body}`);
    const headers = {
      'webhook-id': message.id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signed.digest('base64')}`,
    };
    return post(parts.dial, { url: url!, body, headers, signal }, parts.now);
  },
});

function secretProblem({ name, secret }: ChannelPolicy): string | null {
  const key = `notify.channels.${name}.secret`;
  if (secret === null) return `${key} is not set: give it as \`$VAR\`, and the variable to the loop`;
  return keyIn(secret) ? null : `${key} must be whsec_ and the base64 of 24 to 64 bytes`;
}

function keyIn(secret: string): Buffer | null {
  const text = secret.replace(/^whsec_/, '');
  const key = Buffer.from(text, 'base64');
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(text);
  return isBase64 && key.length >= 24 && key.length <= 64 ? key : null;
}
