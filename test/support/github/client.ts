/** A person at this GitHub: what they do over its API with their own token, and with git over HTTP. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { GitHub } from './server.ts';
import { addUser, fullName, type Permission } from './world.ts';

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the test that asked for it asserts.
export type Json = any;

export interface Person {
  login: string;
  token: string;
  /** Paths start below the repository: `/issues/1`. */
  request(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; headers: Headers; body: Json; text: string }>;
  get(path: string): Promise<Json>;
  post(path: string, body: unknown): Promise<Json>;
  patch(path: string, body: unknown): Promise<Json>;
  put(path: string, body: unknown): Promise<Json>;
  delete(path: string): Promise<Json>;
  graphql(query: string, variables?: Record<string, unknown>): Promise<Json>;
  /** git in a folder, with this person's credentials. */
  git(cwd: string, ...args: string[]): Promise<string>;
}

export function person(
  github: GitHub,
  login: string,
  permission: Permission,
  type: 'User' | 'Bot' = 'User',
): Person {
  const token = addUser(github.world, login, permission, type);
  return personAt({
    login,
    token,
    // Asked anew each time: a repository may be renamed.
    repository: () => `${github.apiUrl}/repos/${fullName(github.world)}`,
    graphql: `${github.url}/api/graphql`,
  });
}

export function personAt(at: {
  login: string;
  token: string;
  repository(): string;
  graphql: string;
}): Person {
  const { login, token } = at;
  const ask = async (url: string, method: string, body: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${token}`, accept: 'application/vnd.github+json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = (answer.headers.get('content-type') ?? '').includes('json');
    return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : null };
  };
  const request: Person['request'] = (method, path, body, headers) =>
    ask(`${at.repository()}${path}`, method, body, headers);
  const must = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const answer = await request(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  return {
    login,
    token,
    request,
    get: (path) => must('GET', path),
    post: (path, body) => must('POST', path, body),
    patch: (path, body) => must('PATCH', path, body),
    put: (path, body) => must('PUT', path, body),
    delete: (path) => must('DELETE', path),
    graphql: async (query, variables = {}) => (await ask(at.graphql, 'POST', { query, variables })).body,
    git: async (cwd, ...args) => {
      const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
      const ran = await promisify(execFile)(
        'git',
        ['-c', 'maintenance.auto=false', '-c', `http.extraHeader=Authorization: Basic ${basic}`, ...args],
        {
          cwd,
          env: {
            ...process.env,
            GIT_CONFIG_GLOBAL: '/dev/null',
            GIT_CONFIG_NOSYSTEM: '1',
            GIT_TERMINAL_PROMPT: '0',
            GIT_AUTHOR_NAME: login,
            GIT_AUTHOR_EMAIL: `${login}@example.com`,
            GIT_COMMITTER_NAME: login,
            GIT_COMMITTER_EMAIL: `${login}@example.com`,
          },
        },
      );
      return ran.stdout.trim();
    },
  };
}
