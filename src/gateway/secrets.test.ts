/** The whole way of a secret: a program with a placeholder, a door, and the host that its value is for. */
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { Agent, request } from 'node:https';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as secure } from 'node:tls';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HOST, OTHER_HOST, type SecureHosts, secureHosts } from '../../test/support/secure-hosts.ts';
import type { SecretPolicy } from '../core/access/secret.ts';
import type { Door, NetworkRequest, Passage } from './gateway.ts';
import { openGateway } from './server.ts';

const VALUE = 'sk_test_51/"H+p&x y=';
const SECRET: SecretPolicy = { name: 'API_KEY', from: { env: 'OPERATORS_KEY' }, hosts: [`${HOST}:443`] };

let hosts: SecureHosts;
let door: Door;
let seen: NetworkRequest[];
beforeEach(async () => {
  hosts = await secureHosts();
  seen = [];
  door = await open();
});
afterEach(async () => {
  await door.close();
  await hosts.close();
});

const open = (change: Partial<Passage> = {}, operator = hosts.operator): Promise<Door> =>
  openGateway({ ...operator, OPERATORS_KEY: VALUE }).open({
    at: 'inside',
    network: [OTHER_HOST],
    secrets: [SECRET],
    advice: 'grant it',
    onRequest: (one) => void seen.push(one),
    ...change,
  });

const placeholder = (from = door, name = 'API_KEY'): string => from.way?.env[name] ?? '';

async function tunnelTo(target: string, from = door): Promise<{ status: number; socket: Socket }> {
  const asked = plainRequest({ socketPath: from.way!.socket, method: 'CONNECT', path: target }).end();
  const [response, socket, head] = (await once(asked, 'connect')) as [IncomingMessage, Socket, Buffer];
  if (head.length > 0) socket.unshift(head);
  socket.on('error', () => {});
  return { status: response.statusCode!, socket };
}

/** As a program inside: it trusts what its variables tell it to. */
async function connectionTo(host: string, from = door, port = 443): Promise<Agent> {
  const { status, socket } = await tunnelTo(`${host}:${port}`, from);
  if (status !== 200) throw new Error(`${status} ${await text(socket)}`);
  const ca = readFileSync(from.way?.env.NODE_EXTRA_CA_CERTS ?? hosts.operator.SSL_CERT_FILE!, 'utf8');
  const made = secure({ socket, servername: host, ca, ALPNProtocols: ['h2', 'http/1.1'] });
  await once(made, 'secureConnect');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return Object.assign(agent, { createConnection: () => made });
}

interface Ask {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string;
}

async function ask(agent: Agent, { method = 'GET', path = '/', headers = {}, body }: Ask = {}) {
  const asking = request({ agent, method, path, headers: { host: HOST, ...headers } });
  asking.end(body);
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}

const basic = (password: string): string => `Basic ${Buffer.from(`ada:${password}`).toString('base64')}`;
const JSON_TYPE = { 'content-type': 'application/json' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };

describe('at its host the value takes the place of the placeholder', () => {
  test('in headers, in Basic authorization and in the URL', async () => {
    const own = placeholder();
    const headers = { authorization: `Bearer ${own}`, 'x-both': `${own};${own}` };
    const to = await connectionTo(HOST);
    await ask(to, { headers, path: `/v1/${own}?key=${own}&more=1` });
    await ask(to, { headers: { authorization: basic(own) } });
    expect(hosts.heard[0]).toMatchObject({ host: HOST, header: HOST });
    expect(hosts.heard[0]?.headers).toMatchObject({
      authorization: `Bearer ${VALUE}`,
      'x-both': `${VALUE};${VALUE}`,
    });
    const coded = encodeURIComponent(VALUE);
    expect(hosts.heard[0]?.url).toBe(`/v1/${coded}?key=${coded}&more=1`);
    expect(hosts.heard[1]?.headers.authorization).toBe(basic(VALUE));
  });

  test.each([
    ['with its length', true],
    ['in chunks', false],
  ])('in a body of JSON or of a form, %s', async (_, isCounted) => {
    const to = await connectionTo(HOST);
    const bodies = [
      [JSON_TYPE, JSON.stringify({ text: 'grün', key: placeholder() })],
      [FORM_TYPE, `client_secret=${placeholder()}&b=1`],
    ] as const;
    for (const [type, body] of bodies) {
      const length = isCounted ? { 'content-length': String(Buffer.byteLength(body)) } : {};
      const framing = isCounted ? {} : { 'transfer-encoding': 'chunked' };
      await ask(to, { method: 'POST', headers: { ...type, ...length, ...framing }, body });
    }
    expect(JSON.parse(hosts.heard[0]?.body ?? '')).toEqual({ text: 'grün', key: VALUE });
    expect(new URLSearchParams(hosts.heard[1]?.body).get('client_secret')).toBe(VALUE);
    for (const { headers, body } of hosts.heard)
      expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
  });

  test('not in a body of another type, nor in one too large to be held', async () => {
    const to = await connectionTo(HOST);
    const words = `${placeholder()} in words`;
    const huge = JSON.stringify({ filler: 'x'.repeat(5_000_000), key: placeholder() });
    await ask(to, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: words });
    await ask(to, { method: 'PUT', headers: JSON_TYPE, body: huge });
    expect(hosts.heard.map(({ body }) => body)).toEqual([words, huge]);
  });

  test('of several secrets, each at its own hosts', async () => {
    const other: SecretPolicy = { name: 'OTHER', from: { env: 'PATH' }, hosts: [`${OTHER_HOST}:443`] };
    const both = await open({ secrets: [SECRET, other] });
    const headers = { 'x-one': placeholder(both), 'x-two': placeholder(both, 'OTHER') };
    expect(headers['x-one']).not.toBe(headers['x-two']);
    await ask(await connectionTo(HOST, both), { headers });
    await ask(await connectionTo(OTHER_HOST, both), { headers });
    expect(hosts.heard.map(({ headers }) => [headers['x-one'], headers['x-two']])).toEqual([
      [VALUE, headers['x-two']],
      [headers['x-one'], process.env.PATH],
    ]);
    await both.close();
  });
});

describe('it goes nowhere else', () => {
  test('another host gets the placeholder, by a tunnel that nobody looks into', async () => {
    await ask(await connectionTo(OTHER_HOST), {
      headers: { authorization: placeholder(), host: OTHER_HOST },
    });
    expect(hosts.heard).toMatchObject([{ host: OTHER_HOST, headers: { authorization: placeholder() } }]);
  });

  test.each([
    `${HOST}:8443`,
    `${HOST}.evil.example:443`,
    `evil.${HOST}:443`,
    `xn--pi-8cd.example.org:443`,
    `${HOST}@evil.example:443`,
  ])('%s is refused', async (target) => {
    const { status } = await tunnelTo(target);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(hosts.dialled).toEqual([]);
  });

  test('however the host is spelt, it is the one that is asked', async () => {
    const { status, socket } = await tunnelTo(`${HOST.toUpperCase()}.:443`);
    expect(status).toBe(200);
    expect(hosts.dialled).toEqual([`${HOST}:443`]);
    socket.destroy();
  });

  test('what the command says of the host is not passed on', async () => {
    const to = await connectionTo(HOST);
    await ask(to, { headers: { host: 'evil.example', authorization: placeholder() } });
    expect(hosts.heard).toMatchObject([{ host: HOST, header: HOST }]);
    expect(
      await ask(to, { path: 'https://evil.example/', headers: { 'x-key': placeholder() } }),
    ).toMatchObject({
      status: 400,
      body: expect.stringContaining(`only paths of ${HOST}`),
    });
    expect(hosts.heard).toHaveLength(1);
  });

  test('nor by a plain request, at whatever port', async () => {
    for (const port of [80, 443]) {
      const asking = plainRequest({
        socketPath: door.way!.socket,
        path: `http://${HOST}:${port}/`,
        headers: { host: HOST, 'x-key': placeholder() },
      }).end();
      const [{ statusCode }] = (await once(asking, 'response')) as [IncomingMessage];
      expect(statusCode).toBe(403);
    }
    expect(hosts.dialled).toEqual([]);
  });

  test('a host whose certificate is not trusted gets nothing', async () => {
    const { SSL_CERT_FILE: _, ...operator } = hosts.operator;
    const wary = await open({}, operator);
    const { status, socket } = await tunnelTo(`${HOST}:443`, wary);
    expect(status).toBe(502);
    expect(await text(socket)).toMatch(/no TLS connection to api\.example\.org: DEPTH_ZERO_SELF_SIGNED_CERT/);
    expect(hosts.heard).toEqual([]);
    await wary.close();
  });

  test('the placeholder of another door is worth nothing', async () => {
    const other = await open();
    expect(placeholder(other)).not.toBe(placeholder());
    await ask(await connectionTo(HOST), { headers: { 'x-key': placeholder(other) } });
    expect(hosts.heard[0]?.headers['x-key']).toBe(placeholder(other));
    await other.close();
  });
});

describe('what the host says of it is hidden', () => {
  const forms = [
    VALUE,
    encodeURIComponent(VALUE),
    JSON.stringify({ key: VALUE }),
    basic(VALUE),
    Buffer.from(`ab:${VALUE}`).toString('base64url'),
  ];
  const parts = ['sk_test', 'sk_test_51', encodeURIComponent(VALUE).slice(4), basic(VALUE).slice(20, 36)];

  test('in headers', async () => {
    hosts.answer = (_, response) =>
      response
        .writeHead(302, { location: `https://evil.example/?${encodeURIComponent(VALUE)}`, 'x-key': VALUE })
        .end();
    const { headers } = await ask(await connectionTo(HOST));
    expect(headers['x-key']).toBe('*'.repeat(VALUE.length));
    expect(headers.location).toMatch(/^https:\/\/evil\.example\/\?\*+$/);
  });

  test.each([
    ['plain', (all: Buffer) => all, {}],
    ['packed with gzip', gzipSync, { 'content-encoding': 'gzip' }],
    ['packed with brotli', brotliCompressSync, { 'content-encoding': 'br' }],
  ] as const)('in a body, %s, however it is cut', async (_, pack, headers) => {
    const all = forms.join(' and ');
    hosts.answer = (_, response) => {
      response.writeHead(200, headers);
      for (const byte of pack(Buffer.from(all))) response.write(Buffer.from([byte]));
      response.end();
    };
    const { body } = await ask(await connectionTo(HOST), { headers: { 'accept-encoding': 'gzip, br' } });
    expect(body).toHaveLength(all.length);
    expect(body.split(' and ')).toHaveLength(forms.length);
    for (const part of parts) expect(body).not.toContain(part);
    expect(hosts.heard[0]?.headers['accept-encoding']).toBe('identity');
  });

  test('not by asking for parts of it, nor in an encoding that can’t be read', async () => {
    const to = await connectionTo(HOST);
    hosts.answer = (_, response) => response.writeHead(200, { 'content-encoding': 'zstd' }).end(VALUE);
    expect(await ask(to, { headers: { range: 'bytes=0-3' } })).toMatchObject({ status: 502 });
    expect(hosts.heard[0]?.headers.range).toBeUndefined();
  });
});

describe('the connection is as it would be without anybody between', () => {
  test('an answer is passed on as it comes', async () => {
    let go = () => {};
    hosts.answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n');
      go = () => response.end('data: two\n\n');
    };
    const asking = request({ agent: await connectionTo(HOST), path: '/' }).end();
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    expect(String((await once(answer, 'data'))[0])).toBe('data: one\n\n');
    go();
    expect(await text(answer)).toBe('data: two\n\n');
  });

  test('it is kept for further requests, and made anew when the host has closed it', async () => {
    const to = await connectionTo(HOST);
    await ask(to);
    await ask(to);
    hosts.answer = (_, response) => response.writeHead(200, { connection: 'close' }).end();
    await ask(to);
    hosts.answer = null;
    await ask(to);
    expect(hosts.heard.map(({ connection }) => connection)).toEqual([0, 0, 0, 1]);
    to.destroy();
    await door.close();
    expect(seen).toMatchObject([{ host: HOST, port: 443, verdict: 'allowed', why: null }]);
    expect(seen[0]?.sentBytes).toBeGreaterThan(0);
    expect(seen[0]?.receivedBytes).toBeGreaterThan(0);
  });

  test('a host that breaks off breaks it', async () => {
    hosts.answer = (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
      setImmediate(() => response.destroy());
    };
    await expect(ask(await connectionTo(HOST))).rejects.toThrow(/aborted/);
  });

  test('an answer without a body, and one to HEAD', async () => {
    hosts.answer = ({ method }, response) =>
      method === 'HEAD'
        ? response.writeHead(200, { 'content-length': '7', 'content-encoding': 'gzip' }).end()
        : response.writeHead(204).end();
    const to = await connectionTo(HOST);
    expect(await ask(to, { method: 'HEAD' })).toMatchObject({
      status: 200,
      headers: { 'content-length': '7' },
    });
    expect(await ask(to, { method: 'DELETE' })).toMatchObject({ status: 204, body: '' });
  });

  test('it is of HTTP/1.1 alone, and becomes nothing else', async () => {
    const to = await connectionTo(HOST);
    const headers = { connection: 'Upgrade', upgrade: 'websocket' };
    expect(await ask(to, { headers })).toMatchObject({ status: 501 });
    expect(hosts.heard).toEqual([]);
  });
});

describe('what is inside', () => {
  test('is a variable with a placeholder, and a certificate beside those of the system', () => {
    const { env, reads } = door.way!;
    expect(env.API_KEY).toMatch(/^held-by-forge-loop-[\da-f]{24}$/);
    expect(reads).toEqual([env.SSL_CERT_FILE]);
    expect(new Set(['CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'PIP_CERT'].map((name) => env[name]))).toEqual(
      new Set(reads),
    );
    const trusted = readFileSync(reads[0]!, 'utf8');
    expect(trusted).toContain(readFileSync(hosts.operator.SSL_CERT_FILE!, 'utf8').trim());
    expect(trusted).not.toMatch(/PRIVATE/);
    expect(statSync(reads[0]!).mode & 0o77).toBe(0);
  });

  test('is gone with the door', async () => {
    const [file = ''] = door.way!.reads;
    await door.close();
    expect(existsSync(file)).toBe(false);
  });

  test('is nothing where there are no secrets', async () => {
    const plain = await open({ secrets: [] });
    expect(plain.way?.reads).toEqual([]);
    expect(plain.way?.env).not.toHaveProperty('SSL_CERT_FILE');
    await plain.close();
  });
});

test('on the network of this machine nothing holds it, and the door stays shut', async () => {
  await expect(open({ at: 'machine' })).rejects.toThrow(/so nothing could keep the value of API_KEY from it/);
});

test('where one can’t be had, the door stays shut', async () => {
  const missing: SecretPolicy = { name: 'GONE', from: { env: 'NOT_SET' }, hosts: [`${HOST}:443`] };
  await expect(open({ secrets: [SECRET, missing] })).rejects.toThrow(/^secrets\.GONE: the variable NOT_SET/);
});
