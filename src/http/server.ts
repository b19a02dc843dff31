/**
 * The HTTP server: the table of operations, the stream of events, Symphony's interface, and the dashboard. It listens on loopback
 * unless told otherwise, and every request passes the guard first, except for signed deliveries of GitHub.
 */

import type { AddressInfo } from 'node:net';
import { type HttpBindings, serve } from '@hono/node-server';
import { type Context as Asked, Hono } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { StatusCode } from 'hono/utils/http-status';
import type { Context, Serving } from '../context.ts';
import { isLoopback } from '../core/access/network.ts';
import { type Redaction, redactValue } from '../core/access/redact.ts';
import { UserError } from '../errors.ts';
import { prometheusText, readMetrics } from '../operations/metrics.ts';
import { api } from './api.ts';
import { envelope, problemOf } from './envelope.ts';
import { type Asking, type Proof, refusalOf } from './guard.ts';
import { type LiveContext, liveContext } from './live-context.ts';
import { openLogin } from './login.ts';
import { openApi } from './openapi.ts';
import { pages } from './pages.ts';
import { stream } from './stream.ts';
import { symphony } from './symphony.ts';
import { type Hearing, takeDeliveries, WEBHOOK_PATH } from './webhook.ts';

export interface ServerOptions {
  port: number;
  bind: string;
  token: string | null;
  hosts: readonly string[];
  version: string;
  /** The folder of the dashboard, as `npm run build` makes it. */
  pages: string;
  /** The folder of what operations answer, as JSON Schemas. */
  schemas: string;
  redact: Redaction;
  open(): Promise<Context>;
  /** Answers `/mcp`. */
  mcp(live: LiveContext): { fetch(request: Request): Promise<Response>; close(): Promise<void> };
  /** Takes GitHub's deliveries; null where they have no secret. */
  webhook: Hearing | null;
  /** What nobody expected, with its stack. */
  log(message: string): void;
}

export async function startServer(options: ServerOptions): Promise<Serving> {
  if (!isLoopback(options.bind) && options.token === null)
    throw new UserError(
      `Listening on ${options.bind} lets everybody who reaches it steer the loop.`,
      'Set `server.token`, say `$FORGE_LOOP_TOKEN`, or listen on 127.0.0.1.',
    );
  const closing = new AbortController();
  const live = await liveContext(options.open);
  const mcp = options.mcp(live);
  const login = openLogin(options.token);
  const app = new Hono<{ Bindings: HttpBindings }>();

  app.use(secureHeaders(HEADERS));
  // Before the guard: a delivery proves itself by its signature, and arrives under any name. It only wakes.
  const deliveries = options.webhook && takeDeliveries(options.webhook);
  if (deliveries)
    app.all(WEBHOOK_PATH, async (asked) => {
      const status = await deliveries.receive(asked.env.incoming);
      if (status === 413) asked.header('Connection', 'close');
      return asked.body(null, status as StatusCode);
    });
  app.use(async (asked, next) => {
    const asking = askingOf(asked, login.proofOf(asked));
    const refused = refusalOf(asking, options.hosts);
    if (refused?.code === 'token_needed' && asking.what === 'page') return login.first(asked);
    if (refused) return asked.json(envelope(refused.code, refused.message, refused.hint), refused.status);
    await next();
    if (!asked.res.headers.has('cache-control')) asked.res.headers.set('Cache-Control', 'no-store');
  });
  app.get('/api/events.stream', stream(live, closing.signal));
  app.get('/api/openapi.json', (asked) => asked.json(openApi(options.version, options.schemas)));
  app.route('/api/v1', symphony(live));
  app.route('/api', api(live, options.redact));
  app.all('/mcp', (asked) => mcp.fetch(asked.req.raw));
  app.get('/metrics', async (asked) => {
    asked.header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8');
    return asked.body(prometheusText(await live.use(readMetrics)));
  });
  app.route('/login', login.pages);
  app.get('*', pages(options.pages));
  app.notFound((asked) => asked.json(envelope('not_found', `There is nothing at ${asked.req.path}.`), 404));
  app.onError((error, asked) => {
    const { status, body } = problemOf(error);
    if (status === 500) options.log(error.stack ?? error.message);
    return asked.json(redactValue(body, options.redact), status);
  });

  const server = serve({ fetch: app.fetch, port: options.port, hostname: options.bind });
  await new Promise<void>((done, failed) => {
    server.once('listening', done);
    server.once('error', failed);
  }).catch(async (problem) => {
    await live.close();
    throw problem;
  });
  const { address, family, port } = server.address() as AddressInfo;
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`;
  return {
    url,
    link: `${url}login?token=${login.key}`,
    webhook: deliveries && new URL(WEBHOOK_PATH, url).href,
    async close() {
      closing.abort();
      if ('closeAllConnections' in server) server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
      await deliveries?.settle();
      await mcp.close();
      await live.close();
    },
  };
}

/** Text of issues, agents and changes is shown on the page: nothing in it may run, load or be framed. */
const HEADERS = {
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", 'data:'],
    fontSrc: ["'self'"],
    connectSrc: ["'self'"],
    manifestSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
  },
  xFrameOptions: 'DENY',
  // Without any, a browser would call the origin of our own form `null`.
  referrerPolicy: 'same-origin',
  strictTransportSecurity: false,
};

function askingOf(asked: Asked, proof: Proof): Asking {
  const { method, path } = asked.req;
  const header = (name: string): string | null => asked.req.header(name) ?? null;
  return {
    ...{ method, proof, what: whatIs(path) },
    ...{ host: header('host'), origin: header('origin'), fetchSite: header('sec-fetch-site') },
  };
}

function whatIs(path: string): Asking['what'] {
  if (path === '/login' || path === '/mcp') return path.slice(1) as 'login' | 'mcp';
  return path === '/metrics' || path.startsWith('/api/') ? 'call' : 'page';
}
