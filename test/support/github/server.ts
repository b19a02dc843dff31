/**
 * A GitHub to test against. It is honest because it computes from git: heads, diffs, mergeability and merges come from
 * the bare repository that people and the loop push to over HTTP.
 *
 * It answers under the addresses of an Enterprise server: REST at /api/v3, GraphQL at /api/graphql, git at
 * /owner/name.git.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Answer, Refusal } from './answer.ts';
import { answerApp } from './app-routes.ts';
import { checkRoutes, jobLog } from './check-routes.ts';
import { says } from './error-texts.ts';
import { createFaults, type Fault, type Faults } from './faults.ts';
import { askGit, branches, relay } from './git-backend.ts';
import { answerGraphql } from './graphql-schema.ts';
import { issueRoutes } from './issue-routes.ts';
import { createLag } from './lag.ts';
import { noticePush } from './merging.ts';
import { answerProblems, requestProblems, withAddresses } from './openapi.ts';
import { pullRoutes } from './pull-routes.ts';
import { ownRoute, repositoryRoutes } from './repository-routes.ts';
import { reviewRoutes } from './review-routes.ts';
import { dispatch } from './router.ts';
import { elsewhereJson } from './shapes.ts';
import { mayUse, scopesOf } from './token-rights.ts';
import { createWebhooks, type Webhooks } from './webhooks.ts';
import { atLeast, fullName, openWorld, permissionOf, type World } from './world.ts';

export interface Seen {
  method: string;
  /** Path and query without the API prefix; for git, `git <what>`. */
  path: string;
  /** 0: the connection was broken on purpose. */
  status: number;
  user: string | null;
  at: number;
  /** What a GraphQL request changes, by the names of its mutations; absent where it only asks. */
  mutation?: string;
}

export interface GitHub {
  /** `http://127.0.0.1:port` */
  url: string;
  apiUrl: string;
  gitUrl: string;
  world: World;
  /** Every request in order. */
  requests: Seen[];
  faults: Faults;
  webhooks: Webhooks;
  /**
   * What was asked or answered here and could not have been at GitHub, by its published descriptions. Closing fails when there
   * is any.
   */
  deviations: string[];
  /** Requests left before the primary limit, for everybody; null is no limit. */
  limit: { remaining: number | null; resetAt: number };
  close(): Promise<void>;
}

const ROUTES = [...repositoryRoutes, ...issueRoutes, ...reviewRoutes, ...pullRoutes, ...checkRoutes];

/** What is read from a copy; a thing that is asked for by its number is not. */
const LISTS = /\/(issues|pulls|comments|reviews|timeline|sub_issues|blocked_by|status|statuses|check-runs)$/;

const RUNS = /\/actions\/runs(\/\d+\/jobs)?$/;

export async function startGitHub(
  options: {
    owner?: string;
    name?: string;
    defaultBranch?: string;
    now?: () => number;
    /** What was written is seen later, by at most so many milliseconds. */
    lag?: { seed: number; ms: number };
  } = {},
): Promise<GitHub> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'github-')));
  const now = options.now ?? Date.now;
  const webhooks = createWebhooks(() => world.hooks);
  const world: World = await openWorld({
    root,
    owner: options.owner ?? 'acme',
    name: options.name ?? 'rocket',
    defaultBranch: options.defaultBranch ?? 'main',
    now,
    emit: webhooks.emit,
  });
  if (options.lag) world.copies = createLag(world, options.lag);
  const server = createServer((request, response) => {
    void respond(github, request, response).catch((problem: unknown) => {
      response.writeHead(500).end(String((problem as Error)?.stack ?? problem));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  world.url = url;
  const github: GitHub = {
    url,
    apiUrl: `${url}/api/v3`,
    gitUrl: `${url}/${fullName(world)}.git`,
    world,
    requests: [],
    faults: createFaults(),
    webhooks,
    deviations: [],
    limit: { remaining: null, resetAt: 0 },
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
      await world.git.close();
      rmSync(root, { recursive: true, force: true });
      if (github.deviations.length > 0)
        throw new Error(`Not as at GitHub:\n${[...new Set(github.deviations)].join('\n')}`);
    },
  };
  return github;
}

async function respond(github: GitHub, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', github.url);
  const body = await bodyOf(request);
  const method = request.method ?? 'GET';
  response.setHeader('date', new Date(github.world.now()).toUTCString());
  const user = caller(github.world, request.headers.authorization);
  if (url.pathname.startsWith('/logs/')) {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.end(jobLog(github.world, Number(url.pathname.slice(6))) ?? '');
    return;
  }
  const isApi = url.pathname.startsWith('/api/');
  const path = isApi
    ? url.pathname.replace(/^\/api(\/v3)?/, '') + url.search
    : `git ${url.pathname.replace(/^.*\.git/, '')}${url.search}`;
  const seen: Seen = { method, path, status: 0, user, at: github.world.now() };
  github.requests.push(seen);
  const asked = path === '/graphql' ? body.toString('utf8') : '';
  const isMutation = /"query":"mutation/.test(asked);
  if (isMutation) seen.mutation = [...asked.matchAll(/(\w+)\(input:/g)].map(([, name]) => name).join(' + ');
  const isPush = !isApi && method === 'POST' && path.startsWith('git /git-receive-pack');
  if (isPush || isMutation || (isApi && method !== 'GET' && path !== '/graphql')) github.world.copies?.keep();
  const fault = github.faults.hit(method, isMutation ? `/graphql mutation ${seen.mutation}` : path);
  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'meanwhile') await fault.act();
  if (fault?.kind === 'answer') {
    seen.status = fault.status;
    const { status, message = 'Server Error', body: given, page, headers = {} } = fault;
    if (page !== undefined)
      send(response, { status, text: page, headers: { ...headers, 'content-type': 'text/html' } });
    else if (given === undefined) send(response, refusal(new Refusal(status, message, [], headers)));
    else send(response, { status, body: given, headers });
    return;
  }
  if (fault?.kind === 'errors') {
    seen.status = 200;
    send(response, { status: 200, body: { data: null, errors: fault.errors } });
    return;
  }
  if (!isApi) {
    seen.status = await answerGit(github, request, response, { url, user, body, fault });
    return;
  }
  const answer = described(
    github,
    { method, path: url.pathname.replace(/^\/api(\/v3)?/, '') },
    await answerApi(github, { method, url, path, user, body, request }),
  );
  const told = fault?.kind === 'garble' ? { ...answer, body: garbled(answer.body, fault.change) } : answer;
  const final = conditional(github, request, fault?.kind === 'stale', path, told);
  if (fault?.kind === 'lose') {
    await fault.also?.();
    request.socket.destroy();
    return;
  }
  seen.status = final.status;
  send(response, final, { ...limitHeaders(github, final.status), ...scopesOf(github.world, user) });
}

async function answerApi(
  github: GitHub,
  call: {
    method: string;
    url: URL;
    path: string;
    user: string | null;
    body: Buffer;
    request: IncomingMessage;
  },
): Promise<Answer> {
  const { world, limit } = github;
  const { method, url, user, request } = call;
  try {
    const plain = url.pathname.replace(/^\/api(\/v3)?/, '');
    const given = call.body.length === 0 ? undefined : (JSON.parse(call.body.toString('utf8')) as never);
    const isGraphql = plain === '/graphql';
    const at = { method, path: byName(world, plain) };
    const unlike = isGraphql ? [] : requestProblems({ ...at, query: url.searchParams, body: given });
    if (unlike.length > 0) return deviation(github, `${method} ${plain}${url.search}`, unlike);
    const ofApp = answerApp(world, method, plain, request.headers.authorization);
    if (ofApp) return ofApp;
    if (user === null) throw new Refusal(401, says('badCredentials'));
    if (limit.remaining !== null && limit.remaining <= 0 && world.now() < limit.resetAt)
      throw new Refusal(403, says('rateLimit', { id: world.users.get(user)?.id ?? 1 }));
    const json = given ?? {};
    if (isGraphql) {
      const report = (deviation: string): void => void github.deviations.push(deviation);
      return await answerGraphql(world, user, json, report);
    }
    const own = ownRoute(plain, { world, user });
    if (own) return own;
    const place = placeOf(world, plain);
    if (place === null) {
      const other = /^\/repos\/([^/]+\/[^/]+)\/issues\/(\d+)$/.exec(plain);
      const found = other && elsewhereJson(world, `${other[1]}#${other[2]}`);
      if (found) return { status: 200, body: found };
      throw new Refusal(404, says('notFound'));
    }
    if (place.moved) {
      const location = `${github.apiUrl}/repositories/${world.id}${place.rest}${url.search}`;
      // Only a GET may change its method on the way.
      return {
        status: method === 'GET' ? 301 : 307,
        body: { message: 'Moved Permanently', url: location },
        headers: { location },
      };
    }
    const accept = String(request.headers.accept ?? '');
    const reader = LISTS.test(place.rest) ? 'list' : RUNS.test(place.rest) ? 'runs' : null;
    const seen = method === 'GET' && reader ? (world.copies?.seen(reader) ?? world) : world;
    return await dispatch(ROUTES, method, place.rest, { world: seen, user, url, body: json, accept });
  } catch (problem) {
    if (problem instanceof Refusal) return refusal(problem);
    throw problem;
  }
}

const garbled = (body: unknown, change: (key: string, value: unknown) => unknown): unknown =>
  JSON.parse(JSON.stringify(body), change);

/** An answer of ours, with the addresses GitHub gives in it, held to what GitHub says it answers. */
function described(github: GitHub, asked: { method: string; path: string }, answer: Answer): Answer {
  if (asked.path === '/graphql' || answer.status === 500) return answer;
  const at = { method: asked.method, path: byName(github.world, asked.path) };
  const whole = withAddresses(at, answer, github.apiUrl);
  const unlike = answerProblems(at, whole);
  return unlike.length === 0
    ? whole
    : deviation(github, `${asked.method} ${asked.path}: ${answer.status}`, unlike);
}

function deviation(github: GitHub, what: string, problems: readonly string[]): Answer {
  const message = `${what}: ${problems.join('; ')}`;
  github.deviations.push(message);
  return { status: 500, body: { message } };
}

/** A repository that moved is asked for by its number, which the description leaves out. */
const byName = (world: World, path: string): string =>
  path.replace(new RegExp(`^/repositories/${world.id}(?=/|$)`), `/repos/${fullName(world)}`);

/** The part of a path below the repository; a former name is known but has moved. */
function placeOf(world: World, path: string): { rest: string; moved: boolean } | null {
  const byId = new RegExp(`^/repositories/${world.id}(/.*)?$`).exec(path);
  if (byId) return { rest: byId[1] ?? '', moved: false };
  const named = /^\/repos\/([^/]+\/[^/]+)(\/.*)?$/.exec(path);
  if (!named) return null;
  const asked = named[1]!.toLowerCase();
  const isFormer = world.formerNames.some((name) => name.toLowerCase() === asked);
  if (asked !== fullName(world).toLowerCase() && !isFormer) return null;
  return { rest: named[2] ?? '', moved: isFormer };
}

async function answerGit(
  github: GitHub,
  request: IncomingMessage,
  response: ServerResponse,
  call: { url: URL; user: string | null; body: Buffer; fault: Fault['how'] | null },
): Promise<number> {
  const { world } = github;
  const { url, user, body, fault } = call;
  const match = /^\/([^/]+\/[^/]+?)\.git(\/.*)$/.exec(url.pathname);
  const refuse = (status: number, headers: Record<string, string> = {}): number => {
    response.writeHead(status, headers).end();
    return status;
  };
  if (!match) return refuse(404);
  const [, name, rest] = match;
  if (world.formerNames.includes(name!))
    return refuse(301, { location: `${github.url}/${fullName(world)}.git${rest}${url.search}` });
  if (name !== fullName(world)) return refuse(404);
  const isPush = rest!.endsWith('git-receive-pack') || url.search.includes('git-receive-pack');
  if (user === null && (isPush || world.isPrivate || request.headers.authorization !== undefined))
    return refuse(401, { 'www-authenticate': 'Basic realm="GitHub"' });
  const wanted = isPush ? 'write' : 'read';
  const mayGit = user === null || mayUse(world, user, `contents=${wanted}`);
  if (!mayGit || !atLeast(permissionOf(world, user), wanted) || (isPush && world.archived))
    return refuse(403);
  const before = isPush && request.method === 'POST' ? branches(world) : null;
  const output = await askGit(world, request, { rest: rest!, query: url.search.slice(1), user, body });
  // Before the answer: whoever pushed and asks next finds what follows from it.
  if (before) await noticePush(world, before, user!);
  if (fault?.kind !== 'lose') return relay(output, response);
  await fault.also?.();
  request.socket.destroy();
  return 0;
}

/** Who a header stands for: a bearer or token, or, for git, a password with any name. */
function caller(world: World, header: string | undefined): string | null {
  const [kind = '', value = ''] = (header ?? '').split(' ');
  const token =
    kind.toLowerCase() === 'basic'
      ? Buffer.from(value, 'base64')
          .toString('utf8')
          .replace(/^[^:]*:/, '')
      : value;
  const known = world.tokens.get(token);
  return known && world.now() < (known.expiresAt ?? Number.POSITIVE_INFINITY) ? known.login : null;
}

const lastAnswers = new WeakMap<GitHub, Map<string, Answer>>();

/** Unchanged answers are 304; a stale one is what was said before. */
function conditional(
  github: GitHub,
  request: IncomingMessage,
  stale: boolean,
  path: string,
  answer: Answer,
): Answer {
  if (request.method !== 'GET' || answer.status !== 200 || answer.text !== undefined) return answer;
  const answers = lastAnswers.get(github) ?? new Map<string, Answer>();
  lastAnswers.set(github, answers);
  const said = (stale ? answers.get(path) : undefined) ?? answer;
  if (!stale) answers.set(path, answer);
  const etag = `W/"${createHash('sha256').update(JSON.stringify(said.body)).digest('hex').slice(0, 40)}"`;
  const headers = { ...said.headers, etag };
  // An ETag is that of the rows: nothing is said of pages that were added behind them.
  if (request.headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
  return { ...said, headers };
}

/** A conditional request that changed nothing costs nothing. */
function limitHeaders(github: GitHub, status: number): Record<string, string> {
  const { limit } = github;
  if (limit.remaining !== null && status !== 304) limit.remaining = Math.max(0, limit.remaining - 1);
  const remaining = limit.remaining ?? 5000;
  return {
    'x-ratelimit-limit': '5000',
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-used': String(5000 - remaining),
    'x-ratelimit-reset': String(Math.ceil(limit.resetAt / 1000)),
    'x-ratelimit-resource': 'core',
  };
}

function refusal(problem: Refusal): Answer {
  const body = {
    message: problem.message,
    ...(problem.errors.length > 0 ? { errors: problem.errors } : {}),
    documentation_url: 'https://docs.github.com/rest',
    status: String(problem.status),
  };
  return { status: problem.status, body, headers: problem.headers };
}

function send(response: ServerResponse, answer: Answer, more: Record<string, string> = {}): void {
  const headers = { ...answer.headers, ...more };
  if (answer.text !== undefined) {
    response.writeHead(answer.status, { 'content-type': 'text/plain; charset=utf-8', ...headers });
    response.end(answer.text);
    return;
  }
  const isJson = answer.body !== undefined;
  response.writeHead(answer.status, {
    ...(isJson ? { 'content-type': 'application/json; charset=utf-8' } : {}),
    ...headers,
  });
  response.end(isJson ? JSON.stringify(answer.body) : undefined);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
