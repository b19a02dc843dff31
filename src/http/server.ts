/**
 * The HTTP server: the table of operations, the stream of events, Symphony's interface, and the dashboard. It listens on loopback
 * unless told otherwise, and every request passes the guard first.
 */

import type { AddressInfo } from 'node:net';
import { type HttpBindings, serve } from '@hono/node-server';
import { type Context as Asked, Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { secureHeaders } from 'hono/secure-headers';
import type { Context } from '../context.ts';
import { isLoopback } from '../core/network.ts';
import { type Redaction, redactValue } from '../core/redact.ts';
import { UserError } from '../errors.ts';
import { api } from './api.ts';
import { envelope, problemOf } from './envelope.ts';
import { type Door, isSame, refusalOf } from './guard.ts';
import { liveContext } from './live-context.ts';
import { openApi } from './openapi.ts';
import { stream } from './stream.ts';
import { symphony } from './symphony.ts';

export interface ServerOptions {
  port: number;
  bind: string;
  token: string | null;
  hosts: readonly string[];
  version: string;
  redact: Redaction;
  open(): Promise<Context>;
  /** What nobody expected, with its stack. */
  log(message: string): void;
}

export interface Serving {
  readonly url: string;
  close(): Promise<void>;
}

const COOKIE = 'forge-loop-token';

export async function startServer(options: ServerOptions): Promise<Serving> {
  const door: Door = { ...options, loopback: isLoopback(options.bind) };
  if (!door.loopback && door.token === null)
    throw new UserError(
      `Listening on ${options.bind} lets everybody who reaches it steer the loop.`,
      'Set `server.token`, say `$FORGE_LOOP_TOKEN`, or listen on 127.0.0.1.',
    );
  const closing = new AbortController();
  const live = await liveContext(options.open);
  const app = new Hono<{ Bindings: HttpBindings }>();

  app.use(secureHeaders(HEADERS));
  app.use(async (asked, next) => {
    const refused = refusalOf(askingOf(asked), door);
    if (refused) return asked.json(envelope(refused.code, refused.message), refused.status);
    await next();
    if (!asked.res.headers.has('cache-control')) asked.res.headers.set('Cache-Control', 'no-store');
  });
  app.get('/api/events.stream', stream(live, closing.signal));
  app.get('/api/openapi.json', (asked) => asked.json(openApi(options.version)));
  app.route('/api/v1', symphony(live));
  app.route('/api', api(live, options.redact));
  app.get('/login', (asked) => login(asked, door));
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
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`,
    async close() {
      closing.abort();
      if ('closeAllConnections' in server) server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
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
  referrerPolicy: 'no-referrer',
  strictTransportSecurity: false,
};

function askingOf(asked: Asked): Parameters<typeof refusalOf>[0] {
  const header = (name: string): string | null => asked.req.header(name) ?? null;
  const bearer = /^Bearer (.+)$/.exec(header('authorization') ?? '')?.[1];
  const login = asked.req.path === '/login' ? asked.req.query('token') : undefined;
  const tokens = [bearer, getCookie(asked, COOKIE), login].filter((one) => one !== undefined);
  return {
    method: asked.req.method,
    page: !asked.req.path.startsWith('/api/'),
    host: header('host'),
    origin: header('origin'),
    fetchSite: header('sec-fetch-site'),
    tokens,
  };
}

/** A link with the token, opened once: afterwards the browser has it, and no address bar shows it. */
function login(asked: Asked, { token }: Door): Response {
  const given = asked.req.query('token') ?? '';
  if (!isSame(given, token)) return asked.json(envelope('token_needed', 'This is not the token.'), 401);
  setCookie(asked, COOKIE, given, { httpOnly: true, sameSite: 'Strict', path: '/', maxAge: 30 * 86_400 });
  return asked.redirect('/');
}
