/** GitHub as the stage asks it: over its API and over git, one write at a time, each refusal kept in GitHub's own words. */
import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Address } from '../../src/forge/github/address.ts';

/** A request, by us or by the program. */
export interface Made {
  method: string;
  path: string;
  status: number;
  /** GitHub's words where it refused; null where it did not. */
  said: string | null;
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever GitHub describes it to be.
export type Json = any;

interface Answer {
  status: number;
  headers: Headers;
  body: Json;
  said: string | null;
}

export interface Hub {
  /** Paths start below the repository, or with `/user`. */
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  /** The body of an answer that must not be a refusal. */
  must(method: string, path: string, body?: unknown): Promise<Json>;
  /** All pages of a list. */
  all(path: string): Promise<Json[]>;
  git(cwd: string, ...args: string[]): Promise<string>;
  readonly made: readonly Made[];
}

/** GitHub said no; the message is what it said. */
export class Refused extends Error {
  override name = 'Refused';
}

const LONGEST_LIMIT_MS = 15 * 60_000;

export function openHub(options: {
  address: Address;
  token: string;
  pauseMs: number;
  signal: AbortSignal;
}): Hub {
  const { address, token, pauseMs, signal } = options;
  const repository = `/repos/${address.owner}/${address.name}`;
  const made: Made[] = [];
  let mayWriteAt = 0;

  const once = async (method: string, path: string, body: unknown): Promise<Answer> => {
    const response = await fetch(`${address.apiUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'forge-loop-live',
      },
      signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = jsonIn(text);
    const right = response.headers.get('x-accepted-github-permissions');
    const needs = response.status === 403 && right ? ` (it needs ${right})` : '';
    const said = response.status < 400 ? null : `${wordsIn(json, text)}${needs}`;
    made.push({ method, path, status: response.status, said });
    return { status: response.status, headers: response.headers, body: json, said };
  };

  const ask: Hub['ask'] = async (method, path, body) => {
    const whole = path.startsWith('/user') ? path : `${repository}${path}`;
    for (let tries = 1; ; tries += 1) {
      if (method !== 'GET') {
        await pause(Math.max(0, mayWriteAt - Date.now()), undefined, { signal });
        mayWriteAt = Date.now() + pauseMs;
      }
      const answer = await once(method, whole, body);
      const wait = limitOf(answer);
      if (wait === null || tries === 5) return answer;
      await pause(wait, undefined, { signal });
    }
  };

  const must: Hub['must'] = async (method, path, body) => {
    const { status, said, body: json } = await ask(method, path, body);
    if (said !== null) throw new Refused(`GitHub refused ${method} ${path} (${status}): ${said}`);
    return json;
  };

  return {
    ask,
    must,
    async all(path) {
      const rows: Json[] = [];
      for (let page = 1; ; page += 1) {
        const more = await must('GET', `${path}${path.includes('?') ? '&' : '?'}per_page=100&page=${page}`);
        rows.push(...more);
        if (more.length < 100) return rows;
      }
    },
    git: (cwd, ...args) => runGit(cwd, args, token, signal),
    made,
  };
}

/** How long to wait before the same is asked again; null where no limit was reached. */
function limitOf({ status, headers, said }: Answer): number | null {
  if (status !== 403 && status !== 429) return null;
  const after = Number.parseInt(headers.get('retry-after') ?? '', 10);
  if (!Number.isNaN(after)) return Math.min(after * 1000, LONGEST_LIMIT_MS);
  if (headers.get('x-ratelimit-remaining') === '0')
    return Math.min(
      Math.max(1000, Number(headers.get('x-ratelimit-reset')) * 1000 - Date.now()),
      LONGEST_LIMIT_MS,
    );
  return /secondary rate limit/i.test(said ?? '') ? 60_000 : null;
}

function jsonIn(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function wordsIn(body: Json, text: string): string {
  const details = (Array.isArray(body?.errors) ? body.errors : []).map((one: Json) =>
    typeof one === 'string' ? one : (one.message ?? JSON.stringify(one)),
  );
  return [body?.message ?? text.slice(0, 300), ...details].join(': ');
}

/** The token goes by the environment: arguments can be read by everybody on the machine. */
async function runGit(
  cwd: string,
  args: readonly string[],
  token: string,
  signal: AbortSignal,
): Promise<string> {
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  try {
    const { stdout } = await promisify(execFile)('git', args, {
      cwd,
      signal,
      env: {
        ...process.env,
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_TERMINAL_PROMPT: '0',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'http.extraHeader',
        GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
      },
    });
    return stdout.trimEnd();
  } catch (problem) {
    const { stderr = '', message } = problem as Error & { stderr?: string };
    if (signal.aborted) throw problem;
    throw new Refused(`git ${args[0]}: ${(stderr || message).trim()}`);
  }
}
