import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect, createServer, type Server as NetServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { type Dial, dialer } from './dial.ts';
import { type EgressOptions, egress, systemIsNear, systemResolve } from './egress.ts';
import type { NetworkRequest } from './gateway.ts';

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

const MEGABYTES = randomBytes(4 * 1024 * 1024);
const ADVICE = 'add it to sandbox.network in WORKFLOW.md';
const PUBLIC = '93.184.215.14';

async function listening(server: NetServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  open.push({
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A real server in front, and whatever was dialled and reported. */
async function gateway(options: Partial<EgressOptions>) {
  const reports: NetworkRequest[] = [];
  const heard = new EventEmitter();
  const dialled: Parameters<Dial>[0][] = [];
  const dial = options.dial ?? dialer({});
  const { connect, forward } = egress({
    network: [],
    advice: ADVICE,
    resolve: () => Promise.reject(new Error('nobody should ask')),
    isNear: () => false,
    ...options,
    dial(to) {
      dialled.push(to);
      return dial(to);
    },
    onRequest(report) {
      reports.push(report);
      heard.emit('report');
    },
  });
  const server: Server = createHttpServer(forward).on('connect', connect);
  const hasLeft = once(heard, 'left');
  server.on('connection', (socket) => socket.once('close', () => heard.emit('left')));
  const port = await listening(server);
  return {
    port,
    dialled,
    /** The first client, and the server has seen it. */
    hasLeft,
    reports,
    /** Of everything so far, once there are so many. */
    async reported(count = 1): Promise<NetworkRequest[]> {
      while (reports.length < count) await once(heard, 'report');
      return reports;
    },
  };
}

/** Leads every name to one port of ours. */
const leadingTo =
  (port: number): Dial =>
  () =>
    dialer({})({ host: '127.0.0.1', port });

async function tunnelTo(target: string, port: number): Promise<{ status: number; socket: Socket }> {
  const asked = request({ host: '127.0.0.1', port, method: 'CONNECT', path: target }).end();
  const [response, socket, head] = (await once(asked, 'connect')) as [IncomingMessage, Socket, Buffer];
  if (head.length > 0) socket.unshift(head);
  socket.on('error', () => {});
  return { status: response.statusCode!, socket };
}

async function refusalOf(target: string, port: number): Promise<{ status: number; body: string }> {
  const { status, socket } = await tunnelTo(target, port);
  return { status, body: await text(socket) };
}

/** Answers with `reply` when it has heard everything. */
function replying(reply: Buffer, heard: Buffer[] = []): NetServer {
  return createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('data', (chunk) => heard.push(chunk));
    socket.on('end', () => socket.end(reply));
  });
}

/** Words of our own on a connection of our own: what a proper client would not send. */
async function raw(port: number, words: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write(words, 'latin1');
  return text(socket);
}

/** A command that has asked, and a host that is found when the step `gone` is. */
async function dialling(line: string) {
  const host = createServer();
  const hostPort = await listening(host);
  const steps = new EventEmitter();
  const [isDialled, hasArrived] = [once(steps, 'dialled'), once(host, 'connection')];
  const { port, hasLeft, reported } = await gateway({
    network: ['example.org'],
    async dial() {
      steps.emit('dialled');
      await once(steps, 'gone');
      return dialer({})({ host: '127.0.0.1', port: hostPort });
    },
  });
  const client = connect({ port, host: '127.0.0.1' });
  client.write(`${line} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await isDialled;
  return { client, hasArrived, hasLeft, steps, reported };
}

describe('CONNECT', () => {
  test('some megabytes both ways, and each side may end first', async () => {
    const heard: Buffer[] = [];
    const hostPort = await listening(replying(MEGABYTES, heard));
    const { port, reported } = await gateway({ network: [`127.0.0.1:${hostPort}`] });
    const { status, socket } = await tunnelTo(`127.0.0.1:${hostPort}`, port);
    expect(status).toBe(200);
    const words = randomBytes(3 * 1024 * 1024);
    socket.end(words);
    expect(MEGABYTES.equals(await buffer(socket))).toBe(true);
    expect(words.equals(Buffer.concat(heard))).toBe(true);
    expect(await reported()).toEqual([
      {
        host: '127.0.0.1',
        port: hostPort,
        verdict: 'allowed',
        why: null,
        sentBytes: words.length,
        receivedBytes: MEGABYTES.length,
      },
    ]);
  });

  test('both ways at once', async () => {
    const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
    const hostPort = await listening(echo);
    const { port, reported } = await gateway({ network: [`localhost:${hostPort}`] });
    const { socket } = await tunnelTo(`localhost:${hostPort}`, port);
    socket.end(MEGABYTES);
    expect(MEGABYTES.equals(await buffer(socket))).toBe(true);
    expect(await reported()).toMatchObject([
      { sentBytes: MEGABYTES.length, receivedBytes: MEGABYTES.length },
    ]);
  });

  test('what comes with the request belongs to the tunnel, also when nothing else will', async () => {
    const hostPort = await listening(replying(Buffer.from('welcome')));
    const { port, reported } = await gateway({ network: ['example.org'], dial: leadingTo(hostPort) });
    const client = connect({ port, host: '127.0.0.1' });
    client.end('CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\nhello');
    expect(await text(client)).toMatch(/^HTTP\/1\.1 200 .*\r\n\r\nwelcome$/);
    expect(await reported()).toMatchObject([{ sentBytes: 5, receivedBytes: 7, why: null }]);
  });

  test('a command that goes away ends the connection to the host', async () => {
    const isOver = new EventEmitter();
    const host = createServer((socket) => {
      const speak = (): void => {
        while (socket.writable && socket.write(MEGABYTES));
      };
      socket.on('drain', speak).on('error', () => {});
      socket.once('close', () => isOver.emit('over'));
      speak();
    });
    const { port, reported } = await gateway({
      network: ['example.org'],
      dial: leadingTo(await listening(host)),
    });
    const over = once(isOver, 'over');
    const { socket } = await tunnelTo('example.org:443', port);
    await once(socket, 'data');
    socket.destroy();
    await over;
    expect(await reported()).toMatchObject([{ verdict: 'allowed', why: 'the command hung up' }]);
  });

  test('a host that goes away ends the connection of the command', async () => {
    const hostPort = await listening(
      createServer((socket) => void socket.once('data', () => socket.resetAndDestroy())),
    );
    const { port, reported } = await gateway({ network: ['example.org'], dial: leadingTo(hostPort) });
    const { socket } = await tunnelTo('example.org:443', port);
    socket.resume().write('hello');
    await once(socket, 'close');
    expect(await reported()).toMatchObject([
      { verdict: 'allowed', why: 'the connection to the host broke', sentBytes: 5, receivedBytes: 0 },
    ]);
  });

  test('a command that goes away while the host is dialled leaves no connection behind', async () => {
    const { client, hasArrived, steps, reported } = await dialling('CONNECT example.org:443');
    client.resetAndDestroy();
    await once(client, 'close');
    steps.emit('gone');
    const [atHost] = (await hasArrived) as [Socket];
    atHost.on('error', () => {}).resume();
    await once(atHost, 'close');
    expect(await reported()).toMatchObject([{ why: 'the command hung up', receivedBytes: 0 }]);
  });

  test('a host that refuses is told in plain words', async () => {
    const host = createServer();
    const hostPort = await listening(host);
    host.close();
    const { port, reported } = await gateway({ network: [`127.0.0.1:${hostPort}`] });
    const why = `could not connect to 127.0.0.1:${hostPort}: ECONNREFUSED`;
    expect(await refusalOf(`127.0.0.1:${hostPort}`, port)).toEqual({ status: 502, body: `${why}\n` });
    expect(await reported()).toMatchObject([{ verdict: 'failed', why, sentBytes: 0, receivedBytes: 0 }]);
  });

  test('one that is refused is over, although its command keeps the connection', async () => {
    const { port, hasLeft } = await gateway({});
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    client.write('CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    client.resume();
    await hasLeft;
    client.destroy();
  });

  test.each([
    'example.org',
    'example.org:',
    'example.org:0',
    'example.org:99999',
    ':443',
    'example.org@evil.com:443',
    'ann:secret@example.org:443',
    'exam%00ple.org:443',
    'example..org:443',
    '/:443',
    'http://example.org/',
    '::1:443',
    `${'a'.repeat(3000)}:443`,
  ])('to %s is a bad request, and goes nowhere', async (target) => {
    const { port, dialled, reports } = await gateway({ network: 'any' });
    expect(await raw(port, `CONNECT ${target} HTTP/1.1\r\nHost: example.org\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 400 /,
    );
    expect(dialled).toEqual([]);
    expect(reports).toMatchObject([
      { host: target.slice(0, 255), port: 0, verdict: 'refused', why: 'not a destination' },
    ]);
  });

  test('a report has no control characters, whatever the server lets through', async () => {
    const reports: NetworkRequest[] = [];
    const onRequest = (report: NetworkRequest) => reports.push(report);
    const near = { resolve: systemResolve, isNear: () => false, dial: dialer({}) };
    const options = { network: [], advice: ADVICE, ...near, onRequest };
    const client = new PassThrough();
    egress(options).connect({ url: 'a\x1b[2J\u0085\u202eb' } as IncomingMessage, client, Buffer.alloc(0));
    await once(client, 'close');
    expect(reports).toMatchObject([{ host: 'a[2Jb', port: 0 }]);
  });
});

describe('what is granted', () => {
  test.each([
    'example.org.evil.com:443',
    'evilexample.org:443',
    'www.example.org:443',
    'example.org:22',
    'example.com:443',
    '127.0.0.1:443',
    '[::1]:443',
  ])('%s is not, by a list with example.org and *.example.com', async (target) => {
    const { port, dialled, reported } = await gateway({ network: ['example.org', '*.example.com'] });
    expect(await refusalOf(target, port)).toEqual({
      status: 403,
      body: `${target} is not in the network of this command: ${ADVICE}\n`,
    });
    expect(dialled).toEqual([]);
    expect(await reported()).toEqual([
      {
        host: target.replace(/:\d+$/, '').replace(/[[\]]/g, ''),
        port: Number(/\d+$/.exec(target)),
        verdict: 'refused',
        why: `${target} is not in the network of this command`,
        sentBytes: 0,
        receivedBytes: 0,
      },
    ]);
  });

  test.each([
    ['any', 'rebound.example', ['127.0.0.1']],
    ['any', 'rebound.example', [PUBLIC, '10.0.0.1']],
    ['any', 'rebound.example', ['::ffff:169.254.169.254']],
    [['*.example'], 'rebound.example', ['fd00::1']],
    [['*.example'], 'rebound.example', ['2606:4700::1111', '192.168.0.1', PUBLIC]],
  ] as const)('by %j, %s is not at %j', async (network, host, addresses) => {
    const { port, dialled, reported } = await gateway({ network, resolve: async () => [...addresses] });
    const why = `${host}:443 does not lead to a public address`;
    expect(await refusalOf(`${host}:443`, port)).toEqual({ status: 403, body: `${why}: ${ADVICE}\n` });
    expect(dialled).toEqual([]);
    expect(await reported()).toMatchObject([{ host, verdict: 'refused', why }]);
  });

  test.each(['127.0.0.1', '0x7f.1', '2130706433', '169.254.169.254', '[::1]', '[::ffff:10.0.0.1]'])(
    'by any, %s is not',
    async (host) => {
      const { port, dialled } = await gateway({ network: 'any' });
      expect((await refusalOf(`${host}:443`, port)).status).toBe(403);
      expect(dialled).toEqual([]);
    },
  );

  test('by any, a public address of this machine or of its network is not, and is by its name', async () => {
    const inet = { netmask: '', mac: '', internal: false };
    const interfaces = {
      eth0: [
        { ...inet, family: 'IPv4' as const, address: PUBLIC, cidr: `${PUBLIC}/24` },
        { ...inet, family: 'IPv6' as const, address: '2606:4700::7', cidr: '2606:4700::7/64', scopeid: 0 },
      ],
    };
    const isNear = (address: string): boolean => systemIsNear(address, interfaces);
    for (const address of [PUBLIC, '93.184.215.200', '2606:4700::99']) {
      const options = { resolve: async () => ['1.1.1.1', address], isNear };
      const { port, dialled } = await gateway({ network: 'any', ...options });
      const why = 'here.example:443 leads to this machine, or to a network that it is on';
      expect(await refusalOf('here.example:443', port)).toEqual({ status: 403, body: `${why}: ${ADVICE}\n` });
      expect(dialled).toEqual([]);
    }
    expect(['93.184.216.1', '2606:4700:1::7', '1.1.1.1'].map(isNear)).toEqual([false, false, false]);
    const hostPort = await listening(replying(Buffer.from('welcome')));
    const named = await gateway({ network: ['here.example'], dial: leadingTo(hostPort), isNear: () => true });
    const { socket } = await tunnelTo('here.example:443', named.port);
    socket.end();
    expect(await text(socket)).toBe('welcome');
  });

  test('localhost is not by any, and is by its name', async () => {
    const hostPort = await listening(replying(Buffer.from('welcome')));
    const anywhere = await gateway({ network: 'any', resolve: systemResolve });
    expect((await refusalOf(`localhost:${hostPort}`, anywhere.port)).status).toBe(403);
    const named = await gateway({ network: [`localhost:${hostPort}`] });
    const { socket } = await tunnelTo(`localhost:${hostPort}`, named.port);
    socket.end();
    expect(await text(socket)).toBe('welcome');
    expect(named.dialled).toEqual([{ host: 'localhost', port: hostPort }]);
  });

  test.each([
    ['any', 'Rebound.example.'],
    [['*.example'], 'rebound.EXAMPLE'],
  ] as const)('by %j, a name is asked once, and what it said then is dialled', async (network, asked) => {
    const hostPort = await listening(replying(Buffer.from('welcome')));
    const answers = [[PUBLIC, '2606:4700::1111'], ['127.0.0.1']];
    const { port, dialled, reported } = await gateway({
      network,
      resolve: async () => answers.shift() ?? [],
      dial: leadingTo(hostPort),
    });
    const { socket } = await tunnelTo(`${asked}:443`, port);
    socket.end();
    expect(await text(socket)).toBe('welcome');
    expect(dialled).toEqual([{ host: 'rebound.example', port: 443, addresses: [PUBLIC, '2606:4700::1111'] }]);
    expect(answers).toEqual([['127.0.0.1']]);
    expect(await reported()).toMatchObject([{ host: 'rebound.example', verdict: 'allowed' }]);
  });

  test('a name that leads nowhere is not asked for again', async () => {
    const { port, reported } = await gateway({ network: 'any' });
    const why = 'could not connect to localhost:443: its name could not be resolved';
    expect(await refusalOf('localhost:443', port)).toEqual({ status: 502, body: `${why}\n` });
    expect(await reported()).toMatchObject([{ verdict: 'failed', why }]);
  });
});

describe('behind a proxy of the operator', () => {
  async function proxied(resolve: EgressOptions['resolve'], noProxy = '') {
    const hostPort = await listening(replying(Buffer.from('welcome')));
    const asked: string[] = [];
    const proxy = createHttpServer().on('connect', async (request, client: Socket) => {
      asked.push(request.url!);
      const socket = await dialer({})({ host: '127.0.0.1', port: hostPort });
      client.write('HTTP/1.1 200 Go\r\n\r\n');
      client.pipe(socket).pipe(client);
    });
    const HTTPS_PROXY = `http://127.0.0.1:${await listening(proxy)}`;
    const dial = dialer({ HTTPS_PROXY, NO_PROXY: noProxy });
    return { ...(await gateway({ network: 'any', resolve, dial })), asked };
  }

  test.each([
    ['a name that leads to the public', async () => [PUBLIC]],
    ['a name that only the proxy knows', () => Promise.reject(new Error('ENOTFOUND'))],
  ])('%s is sent to it, and its own words are not counted', async (_what, resolve) => {
    const { port, asked, reported } = await proxied(resolve);
    const { socket } = await tunnelTo('example.org:443', port);
    socket.end('hello');
    expect(await text(socket)).toBe('welcome');
    expect(asked).toEqual(['example.org:443']);
    expect(await reported()).toMatchObject([{ verdict: 'allowed', sentBytes: 5, receivedBytes: 7 }]);
  });

  test('a name that leads inside is not', async () => {
    const { port, asked } = await proxied(async () => ['10.0.0.1']);
    expect((await refusalOf('example.org:443', port)).status).toBe(403);
    expect(asked).toEqual([]);
  });

  test('a name that NO_PROXY has and nobody knows is not', async () => {
    const { port, asked } = await proxied(async () => [], 'example.org');
    expect((await refusalOf('example.org:443', port)).status).toBe(502);
    expect(asked).toEqual([]);
  });
});

describe('plain requests', () => {
  /** Through the gateway, as a client with HTTP_PROXY asks. */
  const asking = (
    port: number,
    url: string,
    options: { method?: string; headers?: Record<string, string> },
  ) => request({ host: '127.0.0.1', port, path: url, agent: false, ...options });

  const replied = async (asked: ReturnType<typeof request>): Promise<IncomingMessage> =>
    (await once(asked, 'response'))[0];

  test('some megabytes both ways, streamed', async () => {
    const host = createHttpServer((request, response) => void request.pipe(response));
    const { port, reported } = await gateway({
      network: ['example.org'],
      dial: leadingTo(await listening(host)),
    });
    const asked = asking(port, 'http://example.org/echo', { method: 'POST' });
    asked.write('first');
    const response = await replied(asked);
    expect(String((await once(response, 'data'))[0])).toBe('first');
    asked.end(MEGABYTES);
    expect(MEGABYTES.equals(await buffer(response))).toBe(true);
    const [report] = await reported();
    expect(report).toMatchObject({ host: 'example.org', port: 80, verdict: 'allowed', why: null });
    expect(report!.sentBytes).toBeGreaterThan(MEGABYTES.length);
    expect(report!.receivedBytes).toBeGreaterThan(MEGABYTES.length);
  });

  test('headers of the connection stay, the others pass, and the host is the one that was granted', async () => {
    const seen: [string, string[]][] = [];
    const host = createHttpServer((request, response) => {
      seen.push([`${request.method} ${request.url}`, request.rawHeaders]);
      const own = ['Connection', 'X-Own', 'X-Own', '1', 'Keep-Alive', 'timeout=9', 'Proxy-Authenticate', 'x'];
      response.writeHead(201, [...own, 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Date', 'then']).end('done');
    });
    const { port } = await gateway({ network: ['example.org:8080'], dial: leadingTo(await listening(host)) });
    const answer = await raw(
      port,
      [
        'GET http://Example.org:8080/a/../b?q=%20#part HTTP/1.1',
        'Host: evil.com',
        'Connection: close, X-Mine',
        'X-Mine: 1',
        'Proxy-Authorization: Basic secret',
        'Proxy-Connection: keep-alive',
        'TE: trailers',
        'Upgrade: websocket',
        'Cookie: c',
        'Accept: a',
        'Accept: b',
        '\r\n',
      ].join('\r\n'),
    );
    expect(seen).toEqual([
      [
        'GET /a/../b?q=%20',
        ['Host', 'example.org:8080', 'Cookie', 'c', 'Accept', 'a', 'Accept', 'b', 'Connection', 'close'],
      ],
    ]);
    expect(answer).toMatch(/^HTTP\/1\.1 201 Created\r\n/);
    expect(answer).toMatch(/Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nDate: then\r\n/);
    expect(answer).not.toMatch(/X-Own|timeout=9|Proxy-Auth/i);
    expect(answer).toContain('done');
  });

  test('a body that a request has against all habit is passed on', async () => {
    const host = createHttpServer((request, response) => void request.pipe(response));
    const { port } = await gateway({ network: ['example.org'], dial: leadingTo(await listening(host)) });
    const headers = { 'transfer-encoding': 'chunked' };
    const asked = asking(port, 'http://example.org?q', { method: 'DELETE', headers }).end('chunked');
    expect(await text(await replied(asked))).toBe('chunked');
  });

  test('a host that is not granted is refused, and never sees anything', async () => {
    const { port, dialled, reported } = await gateway({ network: ['example.org'] });
    const asked = asking(port, 'http://evil.com/', { method: 'POST', headers: { host: 'example.org' } });
    const response = await replied(asked.end('secret'));
    expect(response.statusCode).toBe(403);
    expect(await text(response)).toBe(`evil.com:80 is not in the network of this command: ${ADVICE}\n`);
    expect(dialled).toEqual([]);
    expect(await reported()).toMatchObject([{ host: 'evil.com', port: 80, verdict: 'refused' }]);
  });

  test('a report has nothing of what was said', async () => {
    const host = createHttpServer((_request, response) => response.end('secret'));
    const { port, reported } = await gateway({
      network: ['example.org'],
      dial: leadingTo(await listening(host)),
    });
    const headers = { authorization: 'secret' };
    for (const url of ['http://example.org/secret?secret', 'http://evil.com/secret', 'http:///secret'])
      (await replied(asking(port, url, { method: 'PUT', headers }).end('secret'))).resume();
    expect(JSON.stringify(await reported(3))).not.toContain('secret');
  });

  test.each([
    'https://example.org/',
    'http://ann:pw@example.org/',
    'http://example.org@evil.com/',
    'http://exam%70le.org/',
    'http://example.org:0/',
    'http:///x',
    'ftp://example.org/',
    '/x',
  ])('%s is a bad request', async (url) => {
    const { port, dialled, reported } = await gateway({ network: 'any' });
    const response = await replied(asking(port, url, {}).end());
    expect(response.statusCode).toBe(400);
    response.resume();
    expect(dialled).toEqual([]);
    expect(await reported()).toMatchObject([{ port: 0, verdict: 'refused', why: 'not a destination' }]);
  });

  test.each([
    ['hangs up', ''],
    ['speaks no HTTP', 'hello\r\n\r\n'],
    ['has a status that is none', 'HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n'],
    ['wants another protocol', 'HTTP/1.1 101 Switch\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'],
    ['has a header that is none', 'HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 0\r\n\r\n'],
  ])('a host that %s has not answered', async (_what, words) => {
    const host = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(words));
    });
    const { port, reported } = await gateway({
      network: ['example.org'],
      dial: leadingTo(await listening(host)),
    });
    const response = await replied(asking(port, 'http://example.org/', {}).end());
    expect(response.statusCode).toBe(502);
    expect(await text(response)).toMatch(/^example\.org did not answer: \w/);
    expect(await reported()).toMatchObject([
      { verdict: 'failed', why: expect.stringMatching(/^example\.org did not answer/) },
    ]);
  });

  test('an answer that breaks off does so for the command, too', async () => {
    const host = createHttpServer((_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('some', () => response.destroy());
    });
    const { port, reported } = await gateway({
      network: ['example.org'],
      dial: leadingTo(await listening(host)),
    });
    const response = await replied(asking(port, 'http://example.org/', {}).end());
    expect(response.statusCode).toBe(200);
    await expect(text(response)).rejects.toThrow('aborted');
    expect(await reported()).toMatchObject([{ verdict: 'allowed', why: 'the connection to the host broke' }]);
  });

  test.each(['before', 'in the middle of'])(
    'a command that goes away %s the answer ends it',
    async (when) => {
      const arrived = new EventEmitter();
      const host = createHttpServer((request, response) => {
        if (when !== 'before') response.write('some');
        request.socket.once('close', () => arrived.emit('over'));
        arrived.emit('request');
      });
      const { port, reported } = await gateway({
        network: ['example.org'],
        dial: leadingTo(await listening(host)),
      });
      const [atHost, isOver] = [once(arrived, 'request'), once(arrived, 'over')];
      const asked = asking(port, 'http://example.org/', { method: 'POST' });
      asked.on('error', () => {});
      asked.write('some');
      if (when !== 'before') (await replied(asked)).on('error', () => {});
      await atHost;
      asked.destroy();
      await isOver;
      expect(await reported()).toMatchObject([{ verdict: 'allowed', why: 'the command hung up' }]);
    },
  );

  test('a command that goes away while the host is dialled leaves no connection behind', async () => {
    const { client, hasArrived, hasLeft, steps, reported } = await dialling('GET http://example.org/');
    client.destroy();
    await hasLeft;
    steps.emit('gone');
    const [atHost] = (await hasArrived) as [Socket];
    expect(await text(atHost)).toBe('');
    expect(await reported()).toMatchObject([
      { verdict: 'allowed', why: 'the command hung up', sentBytes: 0, receivedBytes: 0 },
    ]);
  });

  test('an answer before the whole request has been sent arrives, and the connection is good for more', async () => {
    const host = createHttpServer((request, response) => {
      if (request.method === 'GET') response.end('welcome back');
      else response.writeHead(413, { connection: 'close' }).end('too much');
    });
    const { port, reported } = await gateway({
      network: ['example.org'],
      dial: leadingTo(await listening(host)),
    });
    const client = connect({ port, host: '127.0.0.1' });
    const length = MEGABYTES.length + 4;
    client.write(`POST http://example.org/ HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\nsome`);
    let said = '';
    client.on('data', (chunk) => {
      said += chunk;
    });
    expect(await reported()).toMatchObject([{ verdict: 'allowed', why: null }]);
    client.write(MEGABYTES);
    client.write('GET http://example.org/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await once(client, 'end');
    expect(said).toMatch(/^HTTP\/1\.1 413 .*too much.*HTTP\/1\.1 200 .*welcome back/s);
  });
});
