/**
 * Every request to GitHub's API goes through here.
 *
 * Reading is conditional: an unchanged answer costs nothing of the limit and comes back as the very same value. Reads
 * are repeated once after a passing fault; writes never are, since only the outbox knows how to repeat them. What
 * GitHub can't answer now is ForgeUnavailable, with the time it named; what it refuses is Refused.
 */
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import { Octokit } from '@octokit/rest';
import type { z } from 'zod';
import { ForgeUnavailable, UserError } from '../../errors.ts';

export interface Client {
  /** One resource; null when there is none. */
  get<T>(route: string, params: Params, shape: z.ZodType<T>): Promise<T | null>;
  /** All pages. While nothing changed, the same array. */
  list<T>(route: string, params: Params, shape: z.ZodType<T>): Promise<readonly T[]>;
  /** `never` repeated: the caller finds out what an answer that was lost had done. */
  write<T>(route: string, params: Params, shape: z.ZodType<T>): Promise<T>;
  /** What names nothing is null in the answer; any other error is thrown. */
  graphql<T>(query: string, variables: Params, shape: z.ZodType<T>): Promise<T>;
  /** The text behind a route that redirects to it, as job logs do; null when there is none. */
  text(route: string, params: Params): Promise<string | null>;
  /** How far GitHub's clock is ahead of ours, in ms; rather too much than too little. */
  ahead(): number;
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

interface ClientOptions {
  apiUrl: string;
  /** Asked anew when the one in use is not accepted any more. */
  token(): Promise<string>;
  now(): number;
  /** A second between two writes, three between two that notify people, as GitHub asks of programs. */
  paced: boolean;
  /** More than this within an hour, and it waits; answers that changed nothing do not count. */
  requestsPerHour: number;
}

const PATIENCE_MS = 30_000;
const HOUR_MS = 3_600_000;
const REMEMBERED = 1000;

export function openClient(options: ClientOptions): Client {
  const { apiUrl, now } = options;
  const octokit = createOctokit(options);
  const known = new Map<string, { etag: string; data: unknown; next: boolean }>();
  const lists = new Map<string, { pages: readonly unknown[]; whole: readonly unknown[] }>();
  const spent: number[] = [];
  let token: Promise<string> | null = null;
  let pausedUntil = 0;
  let ahead = 0;

  /** One request, with the limits kept and every failure named. */
  const send = async (route: string, params: Params, headers: Record<string, string> = {}) => {
    if (now() < pausedUntil) throw limited(pausedUntil);
    while (spent.length > 0 && spent[0]! <= now() - HOUR_MS) spent.shift();
    if (spent.length >= options.requestsPerHour)
      throw budgetSpent(options.requestsPerHour, spent[0]! + HOUR_MS);
    spent.push(now());
    const isRead = route.startsWith('GET ');
    for (let attempt = 1; ; attempt++) {
      token ??= options.token();
      const authorization = `Bearer ${await token}`;
      try {
        const answer = await octokit.request(route, {
          ...params,
          headers: { ...headers, authorization },
          request: { ...(isRead ? {} : { retries: 0 }), signal: AbortSignal.timeout(PATIENCE_MS) },
        });
        // The header names the second, and leaves out what has passed of it.
        if (answer.headers.date) ahead = Date.parse(answer.headers.date) + 1000 - now();
        return answer;
      } catch (problem) {
        const failure = readFailure(problem);
        if (failure.status === 304) {
          spent.pop();
          return null;
        }
        if (failure.status === 401 && attempt === 1) {
          token = null;
          continue;
        }
        const until = limitIn(failure, now());
        if (until !== null) {
          pausedUntil = until;
          throw limited(until);
        }
        throw named(failure, route);
      }
    }
  };

  const ask = async (route: string, params: Params): Promise<{ data: unknown; next: boolean }> => {
    const key = `${route} ${JSON.stringify(params)}`;
    const before = known.get(key);
    const answer = await send(route, params, before ? { 'if-none-match': before.etag } : {});
    if (answer === null) return before!;
    const next = /rel="next"/.test(answer.headers.link ?? '');
    const etag = answer.headers.etag;
    if (known.size >= REMEMBERED) known.clear();
    if (etag) known.set(key, { etag, data: answer.data, next });
    return { data: answer.data, next };
  };

  return {
    async get(route, params, shape) {
      try {
        return shape.parse((await ask(`GET ${route}`, params)).data);
      } catch (problem) {
        if (problem instanceof Refused && problem.status === 404) return null;
        throw problem;
      }
    },
    async list(route, params, shape) {
      const pages: unknown[] = [];
      for (let page = 1, more = true; more; page++) {
        const answer = await ask(`GET ${route}`, { ...params, per_page: 100, page });
        pages.push(answer.data);
        more = answer.next;
      }
      const key = `${route} ${JSON.stringify(params)}`;
      const before = lists.get(key);
      if (
        before &&
        pages.length === before.pages.length &&
        pages.every((page, n) => page === before.pages[n])
      )
        return before.whole as ReturnType<typeof shape.array>['_output'];
      const whole = pages.flatMap((page) => shape.array().parse(page));
      lists.set(key, { pages, whole });
      return whole;
    },
    async write(route, params, shape) {
      const answer = await send(route, params);
      return shape.parse(answer?.data);
    },
    async graphql(query, variables, shape) {
      const baseUrl = apiUrl.replace(/\/api\/v3$/, '/api');
      const answer = await send('POST /graphql', { baseUrl, query, variables });
      const { data, errors = [] } = (answer?.data ?? {}) as { data?: unknown; errors?: GraphqlError[] };
      const serious = errors.filter((error) => error.type !== 'NOT_FOUND');
      if (serious.length > 0) throw new Refused(200, serious.map((error) => error.message).join(' '));
      return shape.parse(data);
    },
    async text(route, params) {
      try {
        const answer = await send(`GET ${route}`, params);
        return typeof answer?.data === 'string' ? answer.data : null;
      } catch (problem) {
        if (problem instanceof Refused && (problem.status === 404 || problem.status === 410)) return null;
        throw problem;
      }
    },
    ahead: () => ahead,
  };
}

interface GraphqlError {
  type?: string;
  message: string;
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
  headers: Record<string, string | undefined>;
  cause: unknown;
}

function readFailure(problem: unknown): Failure {
  const error = problem as {
    status?: number;
    message?: string;
    response?: { headers?: Record<string, string>; data?: { message?: string; errors?: unknown[] } };
  };
  const { data, headers = {} } = error.response ?? {};
  const details = (data?.errors ?? []).map((one) =>
    typeof one === 'string' ? one : ((one as { message?: string }).message ?? JSON.stringify(one)),
  );
  const message = [data?.message ?? error.message ?? String(problem), ...details].join(': ');
  return { status: error.response ? (error.status ?? null) : null, message, headers, cause: problem };
}

/** When it may be asked again, if this is a limit; null for any other failure. */
function limitIn({ status, message, headers }: Failure, now: number): number | null {
  if (status !== 403 && status !== 429) return null;
  const after = Number.parseInt(headers['retry-after'] ?? '', 10);
  if (!Number.isNaN(after)) return now + after * 1000;
  const reset = Number.parseInt(headers['x-ratelimit-reset'] ?? '', 10);
  if (headers['x-ratelimit-remaining'] === '0' && !Number.isNaN(reset))
    return Math.max(reset * 1000, now + 1000);
  return status === 429 || /rate limit|abuse detection/i.test(message) ? now + 60_000 : null;
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

function named({ status, message, headers, cause }: Failure, route: string): Error {
  const what = route.replace('{owner}/{repo}/', '');
  if (status === null || status >= 500)
    return new ForgeUnavailable(`GitHub did not answer ${what}: ${message}`, null, { cause });
  if (status === 401) {
    return new ForgeUnavailable(
      `GitHub does not accept the token any more (401). Renew it, then start again or \`gh auth login\`.`,
      null,
      { cause },
    );
  }
  const right = headers['x-accepted-github-permissions'];
  const needs = status === 403 && right ? ` It needs the permission ${right}.` : '';
  return new Refused(status, `GitHub refused ${what} (${status}): ${message}.${needs}`);
}
