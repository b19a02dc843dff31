/**
 * The loop as a GitHub App: short-lived tokens of its installation, made from the App's private key and renewed before
 * they expire. Twenty lines of RS256 in place of another dependency; nothing else of an App's login is needed here.
 */
import { createSign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { ForgeUnavailable, UserError } from '../../errors.ts';
import { limitIn } from './client.ts';
import { toBeRenewed } from './token.ts';

export interface AppOptions {
  /** Its client id or its number. */
  id: string;
  keyFile: string;
  /** Found by the repository where it is left out. */
  installation: string | null;
  apiUrl: string;
  repository: { owner: string; name: string };
  now(): number;
}

export interface App {
  /** `again`: the last one was not accepted. */
  token(again?: boolean): Promise<string>;
}

/** GitHub's tokens live an hour; a request or a push begun with one must still be good at its end. */
const RENEW_BEFORE_MS = 300_000;
const PATIENCE_MS = 30_000;

export function openApp(options: AppOptions): App {
  const { apiUrl, now, repository } = options;
  let current: { token: string; expiresAt: number } | null = null;
  let making: Promise<string> | null = null;

  const ask = async <T>(method: 'GET' | 'POST', path: string, shape: z.ZodType<T>): Promise<T> => {
    const authorization = `Bearer ${await signed(options)}`;
    let answer: Response;
    try {
      answer = await fetch(`${apiUrl}${path}`, {
        method,
        headers: { authorization, accept: 'application/vnd.github+json', 'user-agent': 'forge-loop' },
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
    } catch (cause) {
      throw new ForgeUnavailable(`GitHub did not answer ${method} ${path}.`, null, { cause });
    }
    const body: unknown = await answer.json().catch(() => null);
    if (answer.ok) return shape.parse(body);
    const { status } = answer;
    const message = saidIn(body);
    const said = `GitHub refused ${method} ${path} (${status}): ${message}`;
    const headers = Object.fromEntries(answer.headers);
    const until = limitIn({ status, message, isGraphqlLimit: false, headers }, now());
    if (status >= 500 || until !== null) throw new ForgeUnavailable(said, until);
    throw new UserError(said, REFUSALS[status] ?? 'See docs/github.md for what a GitHub App needs.');
  };

  const make = async (): Promise<string> => {
    const at = `/repos/${repository.owner}/${repository.name}/installation`;
    const id = options.installation ?? (await ask('GET', at, z.object({ id: z.int() }))).id;
    const made = await ask('POST', `/app/installations/${id}/access_tokens`, tokenShape);
    current = { token: made.token, expiresAt: Date.parse(made.expires_at) };
    return made.token;
  };

  return {
    async token(again = false) {
      if (current && !again && now() < current.expiresAt - RENEW_BEFORE_MS) return current.token;
      making ??= (current ? make().catch(toBeRenewed) : make()).finally(() => {
        making = null;
      });
      return making;
    },
  };
}

const tokenShape = z.object({ token: z.string(), expires_at: z.string() });

const REFUSALS: Record<number, string> = {
  401: 'Check tracker.provider.app_id and that app_key_file is a private key of that App.',
  404: 'Install the App on this repository, or correct tracker.provider.installation_id.',
};

const saidIn = (body: unknown): string =>
  z.object({ message: z.string() }).safeParse(body).data?.message ?? 'no reason given';

/** Good for nine minutes; a minute early, since GitHub refuses one from the future. */
async function signed({ id, keyFile, now }: AppOptions): Promise<string> {
  const key = await readFile(keyFile, 'utf8').catch((cause: unknown) => {
    throw new UserError(
      `The private key of the GitHub App can't be read: ${keyFile}.`,
      'Set tracker.provider.app_key_file to the .pem file that GitHub gave you.',
      { cause },
    );
  });
  const seconds = Math.floor(now() / 1000);
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ iat: seconds - 60, exp: seconds + 540, iss: id })}`;
  try {
    return `${claims}.${createSign('RSA-SHA256').update(claims).sign(key, 'base64url')}`;
  } catch (cause) {
    throw new UserError(`${keyFile} is not a private key of a GitHub App (RSA, PEM).`, null, { cause });
  }
}
