/**
 * Hosts on the internet as far as the loop can tell: a server with a certificate of its own, a proxy that leads every name
 * to it, and an operator whose environment has both.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';

export const HOST = 'api.example.org';
export const OTHER_HOST = 'other.example.org';

interface Heard {
  /** Whom the connection was for, and what its header says. */
  host: string;
  header: string;
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
  /** Which connection it came by. */
  connection: number;
}

export interface SecureHosts {
  /** The environment that leads here, and trusts it. */
  operator: Record<string, string>;
  heard: Heard[];
  /** What the proxy was asked for. */
  dialled: string[];
  /** In place of an answer that says what was heard. */
  answer: ((heard: Heard, response: ServerResponse) => void) | null;
  /** It answers without having read a body. */
  isEager: boolean;
  close(): Promise<void>;
}

export async function secureHosts(): Promise<SecureHosts> {
  const folder = mkdtempSync(join(tmpdir(), 'forge-hosts-'));
  const at = (name: string): string => join(folder, name);
  const names = [HOST, OTHER_HOST].map((host) => `DNS:${host}`).join(',');
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const files = ['-keyout', at('key.pem'), '-out', at('cert.pem')];
  const subject = ['-subj', '/CN=hosts', '-addext', `subjectAltName=${names}`];
  execFileSync('openssl', ['req', '-x509', ...newKey, ...subject, ...files], { stdio: 'pipe' });

  const connections: Socket[] = [];
  const server = createServer({ key: readFileSync(at('key.pem')), cert: readFileSync(at('cert.pem')) });
  server.on('secureConnection', (socket) => connections.push(socket));
  server.on('request', async (request, response) => {
    const heard: Heard = {
      host: String((request.socket as TLSSocket & { servername: string }).servername),
      header: request.headers.host ?? '',
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: hosts.isEager ? '' : await text(request).catch(() => ''),
      connection: connections.indexOf(request.socket),
    };
    hosts.heard.push(heard);
    if (hosts.answer) hosts.answer(heard, response);
    else response.end(`heard ${heard.method} ${heard.url}\n`);
  });
  const port = await listening(server);
  const proxy = createHttpServer().on('connect', (request, client: Socket) => {
    hosts.dialled.push(request.url ?? '');
    const upstream = connect(port, '127.0.0.1');
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
    client.write('HTTP/1.1 200 Go\r\n\r\n');
    client.pipe(upstream).pipe(client);
  });
  const proxyPort = await listening(proxy);
  const hosts: SecureHosts = {
    operator: {
      PATH: process.env.PATH ?? '',
      https_proxy: `http://127.0.0.1:${proxyPort}`,
      all_proxy: `http://127.0.0.1:${proxyPort}`,
      SSL_CERT_FILE: at('cert.pem'),
    },
    heard: [],
    dialled: [],
    answer: null,
    isEager: false,
    async close() {
      for (const one of connections) one.destroy();
      for (const one of [server, proxy]) {
        one.closeAllConnections();
        one.close();
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return hosts;
}

async function listening(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}
