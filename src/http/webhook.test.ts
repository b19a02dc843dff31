/** Who may wake the loop: signed deliveries, each once, and none that is longer than GitHub's longest. */
import { request } from 'node:http';
import { sign } from '@octokit/webhooks-methods';
import { afterEach, beforeEach, expect, it, test } from 'vitest';
import { type Endpoint, startWebhook } from './webhook.ts';

const SECRET = 'a secret';
const heard: string[][] = [];
let endpoint: Endpoint;
beforeEach(async () => {
  heard.length = 0;
  endpoint = await startWebhook({
    port: 0,
    bind: '127.0.0.1',
    secret: SECRET,
    gatherMs: 3_600_000,
    heard: async (kinds) => void heard.push(kinds),
  });
});
afterEach(() => endpoint.close());

/** By GitHub's own library, which reads a body as a whole; ours only ever has a piece of it. */
const signed = (body: string, secret = SECRET): Promise<string> => sign(secret, body);

async function deliver(
  given: {
    body?: string;
    path?: string;
    method?: string;
    signature?: string | Promise<string> | null;
    id?: string;
    event?: string;
    length?: number;
  } = {},
): Promise<number> {
  const { body = '{}', path = '/webhook', method = 'POST', id = 'd1', event = 'issues' } = given;
  const signature = await (given.signature === undefined ? signed(body) : given.signature);
  const headers = {
    'x-github-event': event,
    'x-github-delivery': id,
    ...(signature === null ? {} : { 'x-hub-signature-256': signature }),
    ...(given.length === undefined ? {} : { 'content-length': given.length }),
  };
  return new Promise((done, failed) => {
    const sent = request(new URL(path, endpoint.url), { method, headers, agent: false }, (answer) => {
      answer.resume();
      done(answer.statusCode ?? 0);
    });
    sent.once('error', failed);
    if (given.length === undefined) sent.end(body);
    else sent.flushHeaders();
  });
}

test.each<[string, Parameters<typeof deliver>[0], number, string[][]]>([
  ['a signed delivery', {}, 202, [['issues']]],
  ['whatever its body is', { body: '\u0000 not JSON' }, 202, [['issues']]],
  ['no signature', { signature: null }, 401, []],
  ['another secret', { signature: signed('{}', 'guessed') }, 401, []],
  ['the signature of another body', { signature: signed('{"a":1}') }, 401, []],
  ['a signature that is none', { signature: 'sha256=zz' }, 401, []],
  ['the older signature', { signature: `sha1=${'0'.repeat(40)}` }, 401, []],
  ['an event that changes nothing here', { event: 'star' }, 200, []],
  ['the first greeting', { event: 'ping' }, 200, []],
  ['another path', { path: '/' }, 404, []],
  ['another method', { method: 'PUT' }, 405, []],
  ['more than GitHub ever sends', { length: 26 * 1024 * 1024 }, 413, []],
])('%s', async (_what, given, status, wakes) => {
  expect(await deliver(given)).toBe(status);
  await endpoint.close();
  expect(heard).toEqual(wakes);
});

it('wakes once for all that arrives in one moment', async () => {
  await deliver({ id: 'd1', event: 'push' });
  await deliver({ id: 'd2', event: 'issues' });
  await deliver({ id: 'd3', event: 'issues' });
  expect(heard).toEqual([]);
  await endpoint.close();
  expect(heard).toEqual([['issues', 'push']]);
});

it('knows a delivery that is repeated, but not one that a stranger had announced', async () => {
  expect(await deliver({ id: 'd1', signature: signed('{}', 'guessed') })).toBe(401);
  expect(await deliver({ id: 'd1' })).toBe(202);
  expect(await deliver({ id: 'd1' })).toBe(200);
});

it('says that somebody else has its port', async () => {
  const { port } = new URL(endpoint.url);
  const second = startWebhook({
    port: Number(port),
    bind: '127.0.0.1',
    secret: SECRET,
    heard: async () => {},
  });
  await expect(second).rejects.toThrow(/EADDRINUSE/);
});
