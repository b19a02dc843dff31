import { EventEmitter, once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { dialer } from './dial.ts';

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

async function listening(server: Server, host = '127.0.0.1'): Promise<number> {
  open.push(server);
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Says what it heard, when it has heard all of it. */
const echo = (): Server =>
  createServer({ allowHalfOpen: true }, (socket) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => socket.end(`heard ${Buffer.concat(chunks)}`));
  });

/** A proxy that leads everybody to one port, and writes down what it was asked for. */
function proxyTo(port: number, greeting = ''): { server: Server; asked: string[] } {
  const asked: string[] = [];
  const server = createHttpServer().on('connect', async (request, client: Socket) => {
    const { host, 'proxy-authorization': basic } = request.headers;
    asked.push(`${request.url} ${host} ${basic ?? '-'}`);
    const upstream = await dialer({})({ host: '127.0.0.1', port });
    client.write(`HTTP/1.1 200 Go\r\n\r\n${greeting}`);
    client.pipe(upstream).pipe(client);
  });
  return { server, asked };
}

async function said(socket: Socket, words: string): Promise<string> {
  socket.end(words);
  return text(socket);
}

describe('directly', () => {
  test('to a host, which may go on speaking when it was told everything', async () => {
    const port = await listening(echo());
    expect(await said(await dialer({})({ host: 'localhost', port }), 'hello')).toBe('heard hello');
  });

  test('to the addresses of a name, which is not resolved again; to the next one if one fails', async () => {
    const port = await listening(echo());
    const addresses = ['127.0.0.2', '::1', '127.0.0.1'];
    const socket = await dialer({})({ host: 'nowhere.invalid', port, addresses });
    expect(socket.remoteAddress).toBe('127.0.0.1');
    expect(await said(socket, 'hello')).toBe('heard hello');
  });

  test('a host that refuses, and a name that leads nowhere, are told in plain words', async () => {
    const server = echo();
    const port = await listening(server);
    server.close();
    const dial = dialer({});
    await expect(dial({ host: '127.0.0.1', port })).rejects.toThrow(
      new Error(`could not connect to 127.0.0.1:${port}: ECONNREFUSED`),
    );
    await expect(dial({ host: 'a.example', port, addresses: ['127.0.0.1', '127.0.0.2'] })).rejects.toThrow(
      new Error(`could not connect to a.example:${port}: ECONNREFUSED`),
    );
    await expect(dial({ host: 'nowhere.invalid', port: 443 })).rejects.toThrow(
      /^could not connect to nowhere\.invalid:443: (ENOTFOUND|EAI_AGAIN)$/,
    );
    await expect(dial({ host: 'localhost', port, addresses: [] })).rejects.toThrow(
      new Error(`could not connect to localhost:${port}: its name could not be resolved`),
    );
  });
});

describe.each(['directly', 'through a proxy'])('%s, a connection', (way) => {
  async function dialled(server: Server): Promise<Socket> {
    const port = await listening(server);
    if (way === 'directly') return dialer({})({ host: '127.0.0.1', port });
    const proxy = await listening(proxyTo(port).server);
    return dialer({ HTTPS_PROXY: `127.0.0.1:${proxy}` })({ host: 'example.org', port: 443 });
  }

  test('may go on speaking to a host that has said everything', async () => {
    const heard = new EventEmitter();
    const isHeard = once(heard, 'all');
    const host = createServer({ allowHalfOpen: true }, (socket) => {
      socket.end('bye');
      text(socket).then((words) => heard.emit('all', words));
    });
    const socket = await dialled(host);
    socket.resume();
    await once(socket, 'end');
    socket.end('late');
    expect(await isHeard).toEqual(['late']);
  });

  test('may break before its caller listens', async () => {
    const socket = await dialled(createServer(() => {}));
    socket.destroy(new Error('broken'));
    await new Promise((resolve) => socket.once('close', resolve));
  });
});

describe('through the proxy of the operator', () => {
  test('by name, with its credentials, and half closed as directly', async () => {
    const { server, asked } = proxyTo(await listening(echo()));
    const port = await listening(server);
    const dial = dialer({ HTTPS_PROXY: `http://ann:p%40ss@127.0.0.1:${port}` });
    const socket = await dial({ host: 'example.org', port: 443, addresses: ['192.0.2.1'] });
    expect(await said(socket, 'hello')).toBe('heard hello');
    expect(await said(await dial({ host: '2001:db8::1', port: 443, addresses: [] }), '')).toBe('heard ');
    const basic = `Basic ${Buffer.from('ann:p@ss').toString('base64')}`;
    expect(asked).toEqual([
      `example.org:443 example.org:443 ${basic}`,
      `[2001:db8::1]:443 [2001:db8::1]:443 ${basic}`,
    ]);
  });

  test('what came with its answer belongs to the connection', async () => {
    const { server } = proxyTo(await listening(echo()), 'greetings, ');
    const dial = dialer({ https_proxy: `127.0.0.1:${await listening(server)}` });
    const socket = await dial({ host: 'example.org', port: 443 });
    expect(await said(socket, 'hello')).toBe('greetings, heard hello');
  });

  test.each([
    ['HTTPS_PROXY', 443, true],
    ['https_proxy', 443, true],
    ['HTTPS_PROXY', 8443, true],
    ['HTTPS_PROXY', 80, false],
    ['HTTP_PROXY', 80, true],
    ['http_proxy', 80, true],
    ['HTTP_PROXY', 443, false],
    ['ALL_PROXY', 80, true],
    ['all_proxy', 443, true],
  ])('%s is for port %d: %s', async (name, port, isUsed) => {
    const { server, asked } = proxyTo(await listening(echo()));
    const dial = dialer({ [name]: `http://127.0.0.1:${await listening(server)}` });
    const dialled = dial({ host: 'example.org', port, addresses: [] });
    if (isUsed) await said(await dialled, '');
    else await expect(dialled).rejects.toThrow('could not be resolved');
    expect(asked).toHaveLength(isUsed ? 1 : 0);
  });

  test.each([
    ['example.org', true],
    ['EXAMPLE.org', true],
    ['localhost, .example.org', true],
    ['*.example.org', true],
    ['org', true],
    ['*', true],
    ['example.org:443', true],
    ['example.org:8443', false],
    ['www.example.org', false],
    ['ample.org', false],
    ['10.0.0.0/8', false],
    ['', false],
  ])('NO_PROXY %j excludes example.org: %s', async (list, isExcluded) => {
    const { server, asked } = proxyTo(await listening(echo()));
    const proxy = `http://127.0.0.1:${await listening(server)}`;
    const dialled = dialer({ HTTPS_PROXY: proxy, NO_PROXY: list })({
      host: 'example.org',
      port: 443,
      addresses: [],
    });
    if (isExcluded) await expect(dialled).rejects.toThrow('could not be resolved');
    else await said(await dialled, '');
    expect(asked).toHaveLength(isExcluded ? 0 : 1);
  });

  test.each([
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.1.2.3', '10.0.0.0/8', false],
    ['fd00::1', 'fd00::/8', true],
    ['fd00::1', 'fd00::1', true],
    ['fd00::1', '[fd00::1]:443', true],
    ['fd00::1', '[fd00::1]:80', false],
    ['127.0.0.1', '', true],
    ['localhost', '', true],
  ])('%s is excluded by NO_PROXY %j: %s', async (host, list, isExcluded) => {
    const { server, asked } = proxyTo(await listening(echo()));
    const environment = { ALL_PROXY: `http://127.0.0.1:${await listening(server)}`, no_proxy: list };
    const dialled = dialer(environment)({ host, port: 443, addresses: [] });
    if (isExcluded) await expect(dialled).rejects.toThrow('could not be resolved');
    else await said(await dialled, '');
    expect(asked).toHaveLength(isExcluded ? 0 : 1);
  });

  test('one that refuses, is not there, is silent or of another kind is told, without its password', async () => {
    const refusing = createHttpServer().on('connect', (_request, client: Socket) => {
      client.end('HTTP/1.1 407 Who are you\r\n\r\n');
    });
    const silent = createServer(() => {});
    const [refusingPort, silentPort] = [await listening(refusing), await listening(silent)];
    const gone = createServer();
    const gonePort = await listening(gone);
    gone.close();
    const failure = (proxy: string, timeoutMs = 60_000): Promise<Error> =>
      dialer(
        { HTTPS_PROXY: proxy },
        timeoutMs,
      )({ host: 'example.org', port: 443 }).then(
        () => expect.unreachable(),
        (error: Error) => error,
      );
    const begins = 'could not connect to example.org:443: the proxy';
    expect((await failure(`http://ann:secret@127.0.0.1:${refusingPort}`)).message).toBe(
      `${begins} 127.0.0.1:${refusingPort} answered 407`,
    );
    expect((await failure(`http://ann:secret@127.0.0.1:${gonePort}`)).message).toBe(
      `${begins} 127.0.0.1:${gonePort}: ECONNREFUSED`,
    );
    expect((await failure(`http://ann:secret@127.0.0.1:${silentPort}`, 50)).message).toBe(
      `${begins} 127.0.0.1:${silentPort}: no answer within 0.05 s`,
    );
    expect((await failure('socks5://ann:secret@127.0.0.1:1080')).message).toBe(
      `${begins} of your environment is of the kind socks5://, and only http:// works`,
    );
    expect((await failure('http://ann:secret@:99999')).message).toBe(
      `${begins} of your environment is no URL`,
    );
  });
});
