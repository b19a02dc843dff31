/**
 * Every request to GitHub's API goes through here.
 *
 * Reading is conditional: an unchanged answer costs nothing of the limit and comes back as the very same value. Reads
 * are repeated once after a passing fault; writes never are, since only the outbox knows how to repeat them. What
 * GitHub can't answer now is ForgeUnavailable, with the time it named; what it refuses is Refused. A row of a list that
 * can't be read is left out and logged; one thing that was asked for and can't be read is ForgeUnavailable.
 */
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import { Octokit } from '@octokit/rest';
import type { z } from 'zod';
import type { RequestsLeft } from '../../core/access/forge-reading.ts';
import { ForgeUnavailable, UserError } from '../../errors.ts';
import { memo } from './memo.ts';
import { whatIsWrong } from './shapes.ts';

export interface Client {
  /** One resource; null when there is none. */
  get<T>(route: string, params: Params, shape: z.ZodType<T>): Promise<T | null>;
  /** All pages, of rows or of an object with the rows under a name. While nothing changed, the same array. */
  list<T>(route: string, params: Params, shape: z.ZodType<T>, under?: string): Promise<readonly T[]>;
  /** `never` repeated: the caller finds out what an answer that was lost had done. */
  write<T>(route: string, params: Params, shape: z.ZodType<T>): Promise<T>;
  /**
   * What names nothing, or may not be read with this token, is null in the answer to a query; `told` hears of each. Any
   * other error is thrown, and every error of a mutation.
   */
  graphql<T>(
    query: string,
    variables: Params,
    shape: z.ZodType<T>,
    told?: (error: GraphqlError) => void,
  ): Promise<T>;
  /** The text behind a route that redirects to it, as job logs do; null when there is none. */
  text(route: string, params: Params): Promise<string | null>;
  /** How far GitHub's clock is ahead of ours, in ms; rather too much than too little. */
  ahead(): number;
  /** The scopes of a classic token, as the last answer named them; null for tokens of other kinds. */
  scopes(): readonly string[] | null;
  /** What may still be asked before the nearest limit, ours or GitHub's as it told last. */
  left(): RequestsLeft;
  /** Something that can't be read or shown, and that the work goes on without: logged once. */
  warn(message: string): void;
}

type Params = Record<string, unknown>;

/** GitHub understood and said no. */
export class Refused extends UserError {
  override name = 'Refused';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message, 'See docs/github.md for what the token needs.');
    this.status = status;
  }
}

/** GitHub began with it and failed: too much was asked at once, or it is down. */
export class GaveUp extends ForgeUnavailable {
  /** It says which. */
  readonly isTooMuch: boolean;
  constructor(message: string, isTooMuch: boolean, options: ErrorOptions = {}) {
    super(message, null, options);
    this.isTooMuch = isTooMuch;
  }
}

/** It answered, in a form that can't be read. */
class Unreadable extends ForgeUnavailable {}

/** A failure that says nothing about what else is asked for. An outage or a limit does. */
export const isAboutOne = (problem: unknown): problem is Refused | GaveUp | Unreadable =>
  problem instanceof Refused || problem instanceof GaveUp || problem instanceof Unreadable;

interface ClientOptions {
  apiUrl: string;
  /** `again`: the one in use is not accepted any more. */
  token(again?: boolean): Promise<string>;
  now(): number;
  /** A second between two writes, three between two that notify people, as GitHub asks of programs. */
  paced: boolean;
  /** More than this within an hour, and it waits; answers that changed nothing do not count. */
  requestsPerHour: number;
  /** More writes than this within an hour, and it waits with them; unless told, there is no such limit. */
  writesPerHour?: number;
  /** How long an answer may take. */
  patienceMs?: number;
  warn?(message: string): void;
}

const PATIENCE_MS = 30_000;
const HOUR_MS = 3_600_000;
const REMEMBERED = 1000;
const PAGE = 100;

export function openClient(options: ClientOptions): Client {
  const { apiUrl, now } = options;
  const octokit = createOctokit(options);
  const known = memo<string, { etag: string; data: unknown; next: boolean }>(REMEMBERED);
  const lists = memo<string, { pages: readonly unknown[]; whole: readonly unknown[] }>(REMEMBERED);
  const warned = memo<string, true>(REMEMBERED);
  const spent = budget(now, options.requestsPerHour, budgetSpent);
  const written = budget(now, options.writesPerHour ?? Number.POSITIVE_INFINITY, writesSpent);
  let pausedUntil = 0;
  let ahead = 0;
  let scopes: readonly string[] | null = null;
  /** GitHub's own limits, of REST and of GraphQL, as the last answer under each named them. */
  const limits = new Map<string, RequestsLeft>();
  const heed = (headers: Headers): void => {
    scopes = scopesIn(headers);
    const limit = limitTold(headers);
    if (limit) limits.set(headers['x-ratelimit-resource'] ?? '', limit);
  };

  const warn = (message: string): void => {
    if (warned.get(message)) return;
    warned.set(message, true);
    options.warn?.(message);
  };

  /** One request, with the limits kept and every failure named. */
  const send = async (route: string, params: Params, headers: Record<string, string> = {}) => {
    if (now() < pausedUntil) throw limited(pausedUntil);
    const made: Made = { at: null };
    try {
      spent.take(made);
      if (isMutation(params) || !(route.startsWith('GET ') || route === GRAPHQL)) written.take(made);
      return await sendAs(made, route, params, headers);
    } finally {
      if (made.at === null) for (const one of [spent, written]) one.giveBack(made);
    }
  };

  const sendAs = async (made: Made, route: string, params: Params, headers: Record<string, string>) => {
    const isRead = route.startsWith('GET ');
    // It may have waited for its turn here: only now is it made, and only now does GitHub's time for an answer begin.
    const fetchNow = (url: string, init: RequestInit): Promise<Response> => {
      made.at = now();
      return fetch(url, { ...init, signal: AbortSignal.timeout(options.patienceMs ?? PATIENCE_MS) });
    };
    for (let attempt = 1; ; attempt++) {
      const authorization = `Bearer ${await options.token(attempt > 1)}`;
      try {
        const answer = await octokit.request(route, {
          ...params,
          headers: { ...headers, authorization },
          request: { ...(isRead ? {} : { retries: 0 }), fetch: fetchNow },
        });
        // The header names the second, and leaves out what has passed of it.
        if (answer.headers.date) ahead = Date.parse(answer.headers.date) + 1000 - now();
        heed(answer.headers);
        if (isGraphqlLimit(answer.data)) throw { response: answer };
        return answer;
      } catch (problem) {
        const failure = readFailure(problem);
        if (failure.status !== null) heed(failure.headers);
        if (failure.status === 304) {
          spent.giveBack(made);
          return { status: 304, data: null, headers: failure.headers };
        }
        if (failure.status === 401 && attempt === 1) continue;
        const until = limitIn(failure, now());
        if (until !== null) {
          pausedUntil = until;
          throw limited(until);
        }
        throw failed(failure, named(route, params));
      }
    }
  };

  const ask = async (route: string, params: Params): Promise<{ data: unknown; next: boolean }> => {
    const key = `${route} ${JSON.stringify(params)}`;
    const before = known.get(key);
    const answer = await send(route, params, before ? { 'if-none-match': before.etag } : {});
    const link = answer.headers.link;
    const isSame = answer.status === 304 && before !== undefined;
    const found = {
      data: isSame ? before.data : answer.data,
      next: link === undefined && isSame ? before.next : /rel="next"/.test(link ?? ''),
    };
    const etag = isSame ? before.etag : answer.headers.etag;
    if (etag) known.set(key, { ...found, etag });
    return found;
  };

  /** What can't be read is no answer. */
  const read = <T>(shape: z.ZodType<T>, data: unknown, what: string): T => {
    const found = shape.safeParse(data);
    if (found.success) return found.data;
    throw unreadable(what, whatIsWrong(found.error));
  };

  const readRows = <T>(shape: z.ZodType<T>, rows: readonly unknown[], what: string): T[] =>
    rows.flatMap((row) => {
      const found = shape.safeParse(row);
      if (found.success) return [found.data];
      warn(
        `GitHub's answer to ${what} has a row that can't be read; it is left out: ${whatIsWrong(found.error)}.`,
      );
      return [];
    });

  return {
    async get(route, params, shape) {
      try {
        return read(shape, (await ask(`GET ${route}`, params)).data, named(`GET ${route}`, params));
      } catch (problem) {
        if (problem instanceof Refused && problem.status === 404) return null;
        throw problem;
      }
    },
    async list(route, params, shape, under) {
      const what = named(`GET ${route}`, params);
      const pages: (readonly unknown[])[] = [];
      for (let page = 1, more = true; more; page++) {
        const { data, next } = await ask(`GET ${route}`, { ...params, per_page: PAGE, page });
        const rows = under === undefined ? data : (data as Params | null)?.[under];
        if (!Array.isArray(rows)) throw unreadable(what, 'it is no list');
        pages.push(rows);
        // An ETag is that of the rows: a full page that did not change may be followed by a new one.
        more = next || rows.length >= PAGE;
      }
      const key = `${route} ${JSON.stringify(params)}`;
      const before = lists.get(key);
      if (
        before &&
        pages.length === before.pages.length &&
        pages.every((page, n) => page === before.pages[n])
      )
        return before.whole as ReturnType<typeof shape.array>['_output'];
      const whole = pages.flatMap((rows) => readRows(shape, rows, what));
      lists.set(key, { pages, whole });
      return whole;
    },
    async write(route, params, shape) {
      return read(shape, (await send(route, params)).data, named(route, params));
    },
    async graphql(query, variables, shape, told) {
      const baseUrl = apiUrl.replace(/\/api\/v3$/, '/api');
      const answer = await send(GRAPHQL, { baseUrl, query, variables });
      const { data, errors = [] } = (answer.data ?? {}) as { data?: unknown; errors?: GraphqlError[] };
      const gaveUp = errors.find(isGivenUp);
      if (gaveUp) throw new GaveUp(`GitHub ended a query: ${gaveUp.message}`, isTooMuch(gaveUp));
      const isPartial = (data ?? null) !== null && !isMutation({ query });
      const serious = errors.filter(({ type }) => !isPartial || !LEAVES_OUT.has(type ?? ''));
      if (serious.length > 0) throw new Refused(200, serious.map((error) => error.message).join(' '));
      for (const error of errors) told?.(error);
      return read(shape, data, GRAPHQL);
    },
    async text(route, params) {
      try {
        const answer = await send(`GET ${route}`, params);
        return typeof answer.data === 'string' ? answer.data : null;
      } catch (problem) {
        if (problem instanceof Refused && (problem.status === 404 || problem.status === 410)) return null;
        throw problem;
      }
    },
    left: () => {
      const told = [...limits.values()].filter(({ until }) => until > now());
      const paused = { left: 0, of: options.requestsPerHour, until: pausedUntil };
      const all = [spent.left(), ...told, ...(now() < pausedUntil ? [paused] : [])];
      return all.reduce((least, one) => (one.left / one.of < least.left / least.of ? one : least));
    },
    ahead: () => ahead,
    scopes: () => scopes,
    warn,
  };
}

export interface GraphqlError {
  type?: string;
  message: string;
  /** Where the null is that stands for it. */
  path?: readonly (string | number)[];
}

const GRAPHQL = 'POST /graphql';

const isMutation = ({ query }: Params): boolean => typeof query === 'string' && query.startsWith('mutation');

/** A request: when it was sent, and null while it waits for its turn. */
interface Made {
  at: number | null;
}

/** So many within any hour. */
function budget(now: () => number, limit: number, refusal: (limit: number, until: number) => Error) {
  let taken: Made[] = [];
  const forgetOld = (): void => {
    taken = taken.filter(({ at }) => at === null || at > now() - HOUR_MS);
  };
  const until = (): number => (taken[0]?.at ?? now()) + HOUR_MS;
  return {
    take(made: Made): void {
      forgetOld();
      if (taken.length >= limit) throw refusal(limit, until());
      taken.push(made);
    },
    giveBack(made: Made): void {
      taken = taken.filter((one) => one !== made);
    },
    left(): RequestsLeft {
      forgetOld();
      return { left: limit - taken.length, of: limit, until: until() };
    },
  };
}

/** Errors about one part of an answer, whose other parts are as good as ever. */
const LEAVES_OUT = new Set(['NOT_FOUND', 'FORBIDDEN']);

/** The first says that the query is at fault. The second comes with status 502 or 200, and may be a fault of GitHub's. */
const isTooMuch = ({ type }: GraphqlError): boolean => type === 'RESOURCE_LIMITS_EXCEEDED';
const isGivenUp = (error: GraphqlError): boolean =>
  isTooMuch(error) || /^Something went wrong while executing your query/.test(error.message);

type Headers = Record<string, string | undefined>;

function limitTold(headers: Headers): RequestsLeft | null {
  const [left, of, reset] = ['remaining', 'limit', 'reset'].map((name) =>
    Number.parseInt(headers[`x-ratelimit-${name}`] ?? '', 10),
  ) as [number, number, number];
  return [left, of, reset].some(Number.isNaN) || of === 0 ? null : { left, of, until: reset * 1000 };
}

const scopesIn = (headers: Headers): string[] | null => headers['x-oauth-scopes']?.split(/, */) ?? null;

/** GraphQL says with status 200 that a limit is reached: by any of these, whatever it documents. */
function isGraphqlLimit(data: unknown): boolean {
  const { errors } = (data ?? {}) as { errors?: unknown };
  return (
    Array.isArray(errors) &&
    (errors as Partial<GraphqlError & { code: string }>[]).some(
      ({ type, code, message }) =>
        type === 'RATE_LIMITED' ||
        type === 'RATE_LIMIT' ||
        code === 'graphql_rate_limit' ||
        /secondary rate limit/i.test(message ?? ''),
    )
  );
}

function createOctokit({ apiUrl, paced }: ClientOptions) {
  return new (Octokit.plugin(throttling, retry))({
    baseUrl: apiUrl,
    userAgent: 'forge-loop',
    // What it would log is in what it throws.
    log: { debug() {}, info() {}, warn() {}, error() {} },
    throttle: {
      enabled: paced,
      // A limit is for the loop to know and to show, not to be waited out in silence.
      onRateLimit: () => false,
      onSecondaryRateLimit: () => false,
    },
    retry: { retries: 1, doNotRetry: [304, 400, 401, 403, 404, 405, 409, 410, 415, 422, 429, 451] },
  });
}

interface Failure {
  status: number | null;
  message: string;
  isGraphqlLimit: boolean;
  headers: Headers;
  cause: unknown;
}

function readFailure(problem: unknown): Failure {
  const error = problem as {
    status?: number;
    message?: string;
    response?: {
      status?: number;
      headers?: Record<string, string>;
      data?: { message?: string; errors?: unknown[] };
    };
  };
  const { data, headers = {} } = error.response ?? {};
  const details = (data?.errors ?? []).map((one) =>
    typeof one === 'string' ? one : ((one as { message?: string }).message ?? JSON.stringify(one)),
  );
  const said = data?.message ?? withoutPage(error.message ?? String(problem));
  const message = [said, ...details].join(': ').replace(/[.:\s]+$/, '');
  const status = error.response ? (error.status ?? error.response.status ?? null) : null;
  return { status, message, isGraphqlLimit: isGraphqlLimit(data), headers, cause: problem };
}

/** A server that is down answers with a page for people, or with a stack: its first line, if it is one. */
function withoutPage(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.startsWith('<') ? '' : line.slice(0, 300);
}

/** When it may be asked again, if this is a limit; null for any other failure. */
export function limitIn(
  { status, message, isGraphqlLimit, headers }: Omit<Failure, 'cause'>,
  now: number,
): number | null {
  if (status !== 403 && status !== 429 && !isGraphqlLimit) return null;
  const after = Number.parseInt(headers['retry-after'] ?? '', 10);
  if (!Number.isNaN(after)) return now + after * 1000;
  const reset = Number.parseInt(headers['x-ratelimit-reset'] ?? '', 10);
  if (headers['x-ratelimit-remaining'] === '0' && !Number.isNaN(reset))
    return Math.max(reset * 1000, now + 1000);
  return status === 429 || isGraphqlLimit || /rate limit|abuse detection/i.test(message)
    ? now + 60_000
    : null;
}

function limited(until: number): ForgeUnavailable {
  const at = new Date(until).toISOString();
  return new ForgeUnavailable(`GitHub's rate limit is reached; it answers again at ${at}.`, until);
}

function budgetSpent(limit: number, until: number): ForgeUnavailable {
  const at = new Date(until).toISOString();
  return new ForgeUnavailable(
    `The budget of ${limit} requests an hour (tracker.provider.requests_per_hour) is spent until ${at}.`,
    until,
  );
}

const writesSpent = (limit: number, until: number): ForgeUnavailable =>
  new ForgeUnavailable(
    `GitHub allows a program ${limit} writes an hour, and they are used up; the loop continues at ${new Date(until).toISOString()}.`,
    until,
  );

const unreadable = (what: string, why: string): Unreadable =>
  new Unreadable(`GitHub answered ${what} in a form that can't be read: ${why}.`);

/** As it was asked: `POST /repos/acme/rocket/issues/7/labels`. */
const named = (route: string, params: Params): string =>
  route.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name]));

function failed({ status, message, headers, cause }: Failure, what: string): Error {
  if (status === null)
    return new ForgeUnavailable(`GitHub did not answer ${what}: ${message}.`, null, { cause });
  if (status >= 500) {
    const said = message === '' ? '' : `: ${message}`;
    return new GaveUp(`GitHub did not answer ${what} (${status})${said}.`, false, { cause });
  }
  if (status === 401)
    return new ForgeUnavailable('GitHub does not accept the token (401).', null, {
      cause,
      isRefusal: true,
      hint: 'Renew it where it comes from: tracker.provider.token, else GITHUB_TOKEN, else GH_TOKEN, else `gh auth login`.',
    });
  const right = headers['x-accepted-github-permissions'];
  const needs = status === 403 && right ? ` It needs the permission ${right}.` : '';
  return new Refused(status, `GitHub refused ${what} (${status}): ${message}.${needs}`);
}
