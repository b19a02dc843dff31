/**
 * The one credential Claude gets: an API key, a subscription's token, or what proves who somebody is to their cloud. Nothing that could renew a login is handed
 * on, because a child that renews it would sign the operator out.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { untilOf } from '../../core/words/wall-time.ts';
import type { Failure, SignIn } from '../agent.ts';
import { type Passage, PLACEHOLDER } from '../passage.ts';
import type { Environment } from '../program-path.ts';
import { cloudCredential } from './cloud.ts';

export interface Credential {
  /** Where it is from, to show people; never what it is. */
  source: string;
  env: Record<string, string>;
  /** Of a login; a key or a token of `claude setup-token` does not tell. */
  expiresAt?: number;
}

const KEYS = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'] as const;
/** Where the provider is, if not at its usual place; a gateway may want headers of its own. */
const PROVIDER = ['ANTHROPIC_BASE_URL', 'ANTHROPIC_CUSTOM_HEADERS'] as const;

const login = z.object({
  claudeAiOauth: z.object({ accessToken: z.string().min(1), expiresAt: z.number().optional() }),
});

/** Or what to do when the operator is not signed in, or not any more. */
export async function findCredential(operator: Environment, now: number): Promise<Credential | string> {
  // Chosen by its own variable, a cloud goes before a key, as with Claude's own program.
  const cloud = await cloudCredential(operator);
  if (cloud) return cloud;
  const provider = picked(operator, PROVIDER);
  const key = KEYS.find((name) => operator[name]);
  if (key) return { source: key, env: { ...provider, [key]: operator[key] as string } };
  const file = join(operator.CLAUDE_CONFIG_DIR || join(operator.HOME ?? '', '.claude'), '.credentials.json');
  const { data } = login.safeParse(
    await readFile(file, 'utf8')
      .then(JSON.parse)
      .catch(() => null),
  );
  if (!data) return NOT_SIGNED_IN;
  const { accessToken, expiresAt } = data.claudeAiOauth;
  if (expiresAt !== undefined && expiresAt <= now) return expired(expiresAt, now);
  const env = { ...provider, CLAUDE_CODE_OAUTH_TOKEN: accessToken };
  return { source: file, env, ...(expiresAt !== undefined && { expiresAt }) };
}

/** What can be held for it, if anything can. */
export const kindOf = ({ env }: Credential): 'key' | 'login' | 'other' =>
  env.CLAUDE_CODE_OAUTH_TOKEN ? 'login' : KEYS.some((name) => env[name]) ? 'key' : 'other';

/** Its part of the program's environment; without a route, with the credential itself. */
export function shown({ env }: Credential, route: Passage['route']): Record<string, string> {
  const key = KEYS.find((name) => env[name]);
  if (route === null || key === undefined) return env;
  const secret = env[key] as string;
  const proof = key === 'ANTHROPIC_API_KEY' ? { 'x-api-key': secret } : { authorization: `Bearer ${secret}` };
  const url = route({
    upstream: env.ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com',
    headers: { ...headersIn(env.ANTHROPIC_CUSTOM_HEADERS ?? ''), ...proof },
    speaks: ['messages'],
    asides: ['haiku'],
  });
  return { [key]: PLACEHOLDER, ANTHROPIC_BASE_URL: url };
}

/** A line each: `Name: value`. */
const headersIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const [, name, value] = /^([\w-]+):\s*(.*?)\s*$/.exec(line) ?? [];
      return name === undefined ? [] : [[name.toLowerCase(), value ?? '']];
    }),
  );

export async function signInOf(operator: Environment, now: number): Promise<SignIn> {
  const credential = await findCredential(operator, now);
  if (typeof credential === 'string') return credential === NOT_SIGNED_IN ? 'none' : { unusable: credential };
  const { source: by, expiresAt } = credential;
  return expiresAt === undefined ? { by } : { by, expires: { at: expiresAt, advice: LASTS } };
}

/** A turn that its login did not outlast failed for that, whatever the provider calls it. */
export function failureOfLogin(failure: Failure, { expiresAt }: Credential, now: number): Failure {
  const isOver = failure.code === 'auth' && expiresAt !== undefined && expiresAt <= now;
  return isOver ? { ...failure, message: expired(expiresAt, now) } : failure;
}

const expired = (at: number, now: number): string =>
  `your Claude login expired at ${untilOf(at, now)}: start \`claude\` to renew it, or ${LASTS}`;

const LASTS =
  'run `claude setup-token` and set CLAUDE_CODE_OAUTH_TOKEN in the environment of forge-loop, which lasts a year';

const NOT_SIGNED_IN = `Claude is not signed in: set ANTHROPIC_API_KEY in the environment of forge-loop, or ${LASTS}`;

const picked = (from: Environment, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (from[name] ? [[name, from[name] as string]] : [])));
