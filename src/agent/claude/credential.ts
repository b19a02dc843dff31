/**
 * The one credential Claude gets: an API key, or a subscription's token. Nothing that could renew a login is handed
 * on, because a child that renews it would sign the operator out.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { SignIn } from '../agent.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Credential {
  /** Where it is from, to show people; never what it is. */
  source: string;
  env: Record<string, string>;
}

const KEYS = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'] as const;
/** Where the provider is, if not at its usual place; a gateway may want headers of its own. */
const PROVIDER = ['ANTHROPIC_BASE_URL', 'ANTHROPIC_CUSTOM_HEADERS'] as const;

const login = z.object({
  claudeAiOauth: z.object({ accessToken: z.string().min(1), expiresAt: z.number().optional() }),
});

/** Null when the operator is not signed in. */
export async function findCredential(operator: Environment, now: number): Promise<Credential | null> {
  const provider = picked(operator, PROVIDER);
  const key = KEYS.find((name) => operator[name]);
  if (key) return { source: key, env: { ...provider, [key]: operator[key] as string } };
  const file = join(operator.CLAUDE_CONFIG_DIR || join(operator.HOME ?? '', '.claude'), '.credentials.json');
  const { data } = login.safeParse(
    await readFile(file, 'utf8')
      .then(JSON.parse)
      .catch(() => null),
  );
  if (!data) return null;
  const { accessToken, expiresAt } = data.claudeAiOauth;
  if (expiresAt !== undefined && expiresAt <= now) return null;
  return { source: file, env: { ...provider, CLAUDE_CODE_OAUTH_TOKEN: accessToken } };
}

export async function signInOf(operator: Environment, now: number): Promise<SignIn> {
  const credential = await findCredential(operator, now);
  return credential ? { by: credential.source } : 'none';
}

export const NOT_SIGNED_IN =
  'Claude is not signed in: set ANTHROPIC_API_KEY, or run `claude setup-token` and set CLAUDE_CODE_OAUTH_TOKEN, in the environment of forge-loop';

const picked = (from: Environment, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (from[name] ? [[name, from[name] as string]] : [])));
