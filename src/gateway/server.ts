/**
 * A door is an HTTP server: a provider's address below its own name, and a proxy for the rest. A program that goes to the
 * provider through the proxy, too, arrives here all the same.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext } from 'node:tls';
import { z } from 'zod';
import { withoutPresets } from '../core/access/network.ts';
import { unheldText } from '../core/access/secret.ts';
import { type Bodies, bodies } from './bodies.ts';
import { type Calls, calls } from './calls.ts';
import { type Dial, dialer } from './dial.ts';
import { egress, systemIsNear, systemResolve } from './egress.ts';
import { freePort } from './free-port.ts';
import type { Door, Gateway, Passage, Route } from './gateway.ts';
import { type Holding, hold } from './holding.ts';
import { inside, OFFERED } from './inside.ts';
import { secretKeeper } from './keeper.ts';
import { type Reservations, reservations } from './reservations.ts';
import { authorities, bundleWith, trusting } from './trust.ts';

/** Longer than any program thinks between two calls: a connection that is closed under a call looks like an outage. */
const IDLE_MS = 6 * 3_600_000;

/** Of one door; more than builds and agents were seen to need, and nothing that could keep others out. */
const MOST_CONNECTIONS = 256;

/** `learn` is told every secret of the operator's before it is used. */
export function openGateway(
  operator: Readonly<Record<string, string | undefined>>,
  learn: (secret: string) => void = () => {},
): Gateway {
  const dial = dialer(operator);
  let known: SecureContext | null = null;
  // Reading some hundred certificates takes longer than the rest of a connection.
  const trust = (): SecureContext => {
    known ??= createSecureContext({ ca: authorities(operator) });
    return known;
  };
  const shared = { dial, trust, reservations: reservations(), bodies: bodies() };
  const keeper = secretKeeper(operator, learn);
  const bundle = (own: string): string => bundleWith(operator, own);
  let registries: Promise<string[]> | null = null;
  return {
    async open(passage) {
      const { network, at, secrets = [] } = passage;
      if (at === 'machine' && secrets.length > 0)
        throw new Error(unheldText(secrets, 'it runs on the network of this machine'));
      const holding = secrets.length > 0 ? await hold(secrets, { keeper, trust }) : null;
      const parts = { ...shared, holding, bundle };
      if (network === 'any' || network.length === 0) return openDoor(passage, network, parts);
      registries ??= network.includes('npm') ? npmHosts() : null;
      return openDoor(passage, withoutPresets(network, (await registries) ?? []), parts);
    },
    secretProblem: (secret) =>
      keeper.obtain(secret).then(
        () => null,
        (error: Error) => error.message,
      ),
  };
}

/** Where the operator's npm fetches packages from: a mirror of their own, or the usual place. */
function npmHosts(): Promise<string[]> {
  // It would leave a log in the operator's home.
  const folder = mkdtempSync(join(tmpdir(), 'forge-npm-'));
  const args = ['config', 'list', '--json', '--cache', folder];
  return new Promise((resolve) => {
    execFile('npm', args, { cwd: folder, timeout: 30_000 }, (error, stdout) => {
      rmSync(folder, { recursive: true, force: true });
      const { data } = settings.safeParse(error ? null : parsed(stdout));
      const urls = Object.entries(data ?? {}).filter(([name]) => /(^|:)registry$/.test(name));
      resolve(urls.flatMap(([, url]) => (URL.canParse(String(url)) ? [new URL(String(url)).host] : [])));
    });
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const settings = z.record(z.string(), z.unknown());

interface DoorParts {
  dial: Dial;
  trust(): SecureContext;
  reservations: Reservations;
  bodies: Bodies;
  /** Of the secrets that whoever comes through may use. */
  holding: Holding | null;
  /** All that programs trust, and this. */
  bundle(own: string): string;
}

async function openDoor(
  { at, advice, isOneWay, onRequest = () => {} }: Passage,
  network: Passage['network'],
  { dial, trust, reservations, bodies, holding, bundle }: DoorParts,
): Promise<Door> {
  const token = randomBytes(18).toString('base64url');
  const routes: Calls[] = [];
  const shared = { dial, trust, reservations, bodies: bodies.ofDoor() };
  const back = inside();
  const out = egress({
    network,
    dial,
    resolve: systemResolve,
    isNear: systemIsNear,
    onRequest,
    advice,
    ...(holding && { secretHost: holding.hostAt }),
  });
  const sockets = new Set<Duplex>();
  const server = createServer({ keepAliveTimeout: IDLE_MS, headersTimeout: IDLE_MS + 1, requestTimeout: 0 });
  server.maxConnections = MOST_CONNECTIONS;
  server.on('connection', (socket) => {
    // One that went to the door through the door is the same.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  server.on('request', (request, response) => {
    response.on('error', () => {});
    serve(request, response).catch(() => response.destroy());
  });
  server.on('connect', (request, socket, head) => connected(request, socket, head));
  const folder = at === 'inside' ? doorFolder() : null;
  const socket = folder && join(folder, 'door');
  const port = await listening(server, socket);
  const address = `http://127.0.0.1:${port}`;
  const trusted = folder && holding && join(folder, 'authorities.pem');
  if (trusted) writeFileSync(trusted, bundle(holding.certificate), { mode: 0o600 });
  const env = { ...proxied(address), ...(trusted && trusting(trusted)), ...holding?.env };

  return {
    way:
      socket === null
        ? null
        : { socket, port, env, reads: trusted ? [trusted] : [], offer: isOneWay ? null : OFFERED },
    route(route: Route) {
      routes.push(calls(route, shared));
      return `${address}/${token}/${routes.length - 1}`;
    },
    reach: (to) => (socket === null ? Promise.resolve(to) : back.reach(to)),
    async close() {
      back.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const one of sockets) one.destroy();
      await Promise.all([closed, ...routes.map((one) => one.settled())]);
      if (folder) rmSync(folder, { recursive: true, force: true });
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '' } = request;
    const own = url.startsWith(address) ? url.slice(address.length) : url;
    if (!own.startsWith('/')) {
      if (at === 'inside') return out.forward(request, response);
      return answer(response, 403, 'this is no proxy');
    }
    const [, name, index, path] = /^\/([^/?]+)\/(\d+)(\/.*)$/.exec(own) ?? [];
    const route = name === token ? routes[Number(index)] : undefined;
    if (!route || path === undefined) return answer(response, 404, 'there is nothing here');
    await route.pass(path, request, response);
  }

  function connected(request: IncomingMessage, client: Duplex, head: Buffer): void {
    const { url = '' } = request;
    if (at === 'machine') client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    else if (url === `127.0.0.1:${port}`) {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length > 0) client.unshift(head);
      server.emit('connection', client);
    } else if (url === OFFERED) back.offered(client);
    else out.connect(request, client, head);
  }
}

/** The path of a socket is short: 108 bytes on Linux, 104 elsewhere. */
const LONGEST_FOLDER = 80;

function doorFolder(): string {
  const temporary = realpathSync(tmpdir());
  const place = Buffer.byteLength(temporary) <= LONGEST_FOLDER ? temporary : realpathSync('/tmp');
  return mkdtempSync(join(place, 'forge-door-'));
}

function listening(server: Server | TcpServer, socket: string | null): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // One of its own, since what is confined on macOS shares the loopback of the machine.
    if (socket !== null) server.listen(socket, () => freePort().then(resolve, reject));
    else server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

/** Each tool looks for its own. What listens inside is reached without. */
function proxied(address: string): Record<string, string> {
  const { hostname, port } = new URL(address);
  const own = 'localhost,127.0.0.1,::1';
  const java = ['http', 'https'].flatMap((kind) => [
    `-D${kind}.proxyHost=${hostname}`,
    `-D${kind}.proxyPort=${port}`,
  ]);
  return {
    ...Object.fromEntries(
      ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].map((name) => [
        name,
        address,
      ]),
    ),
    no_proxy: own,
    NO_PROXY: own,
    NODE_USE_ENV_PROXY: '1',
    JAVA_TOOL_OPTIONS: java.join(' '),
  };
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' });
  response.end(`forge-loop: ${text}\n`);
}
