/** A request hidden in another: what the host hears is what the door looked at, however its framing is described. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as secure } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HOST, type SecureHosts, secureHosts } from '../../test/support/secure-hosts.ts';
import type { Door } from './gateway.ts';
import { openGateway } from './server.ts';

const FREE = { usd: null, tokens: null };
let hosts: SecureHosts;
let door: Door;
beforeEach(async () => {
  hosts = await secureHosts();
});
afterEach(async () => {
  await door.close();
  await hosts.close();
});

/** All that comes back on it, once so many answers did. */
async function answersTo(socket: Socket, text: string, count: number): Promise<string> {
  let said = '';
  socket.write(text);
  while ((said.match(/HTTP\/1\.1 \d\d\d/g) ?? []).length < count) said += (await once(socket, 'data'))[0];
  return said;
}

test('a length that a call of a model names does not reach its provider', async () => {
  hosts.isEager = true;
  door = await openGateway(hosts.operator).open({ at: 'machine', network: [], advice: '' });
  const url = new URL(
    door.route({
      task: 'one',
      upstream: `https://${HOST}`,
      speaks: ['messages'],
      headers: { 'x-api-key': 'the real key' },
      models: ['claude-sonnet-5'],
      isOpen: false,
      costOf: () => 0,
      mostOf: () => 0,
      room: async () => ({ task: FREE, loop: FREE, spent: null }),
      onUsage: () => {},
      onUntold: () => {},
      onRefused: () => {},
    }),
  );
  const program = connect(Number(url.port), '127.0.0.1');
  const swallowed = 'POST /v1/messages HTTP/1.1\r\nx-a: ';
  const hidden = 'POST /v1/organizations/keys HTTP/1.1';
  const body = JSON.stringify({ model: 'claude-sonnet-5', max_tokens: 9, messages: [] });
  const first = `GET ${url.pathname}/v1/models HTTP/1.1\r\nhost: x\r\ncontent-length: ${swallowed.length}\r\n\r\n`;
  const second = `POST ${url.pathname}/v1/messages HTTP/1.1\r\nx-a: ${hidden}\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`;
  await answersTo(program, first + 'z'.repeat(swallowed.length), 1);
  await answersTo(program, second + body, 1);
  program.destroy();
  expect(hosts.heard.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /v1/models',
    'POST /v1/messages',
  ]);
  expect(hosts.heard[0]?.headers['content-length']).toBeUndefined();
});

test('the host of a secret hears one request for one, whatever its connection header names', async () => {
  const secret = { name: 'API_KEY', from: { env: 'OPERATORS_KEY' }, hosts: [`${HOST}:443`] };
  door = await openGateway({ ...hosts.operator, OPERATORS_KEY: 'sk_test_123456789' }).open({
    at: 'inside',
    network: [],
    secrets: [secret],
    advice: '',
  });
  const asked = plainRequest({
    socketPath: door.way!.socket,
    method: 'CONNECT',
    path: `${HOST}:443`,
  }).end();
  const [, socket] = (await once(asked, 'connect')) as [unknown, Socket];
  const ca = readFileSync(door.way?.env.NODE_EXTRA_CA_CERTS ?? '', 'utf8');
  const program = secure({ socket, servername: HOST, ca });
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: elsewhere.example.org\r\n\r\n';
  const framing = `content-length: ${hidden.length}\r\nconnection: content-length, keep-alive`;
  await answersTo(program, `GET /one HTTP/1.1\r\nhost: ${HOST}\r\n${framing}\r\n\r\n${hidden}`, 1);
  await answersTo(program, `GET /two HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`, 1);
  program.destroy();
  expect(hosts.heard.map(({ url, header }) => [url, header])).toEqual([
    ['/one', HOST],
    ['/two', HOST],
  ]);
});
