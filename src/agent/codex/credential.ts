/**
 * The one credential Codex gets: an API key, or the access of a ChatGPT login. What could renew the login is not handed
 * on: it is good for one use, so a child that renews it would sign the operator out. The operator's own `codex` renews
 * it, and the next turn finds the new one.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { untilOf } from '../../core/words/wall-time.ts';
import type { Failure, FailureCode, SignIn } from '../agent.ts';
import { type Passage, PLACEHOLDER } from '../passage.ts';
import type { Environment } from '../program-path.ts';
import { ownFolder, replaceFile } from '../replace-file.ts';

export type CodexCredential =
  /** Where it is from, to show people; never what it is. */
  { source: string; key: string } | { source: string; login: ChatgptLogin };

interface ChatgptLogin {
  /** What Codex's own file of it is to hold, without what could renew it. */
  tokens: Record<string, string>;
  /** The provider, as the operator's settings of Codex have it. */
  baseUrl: string;
  /** Null when the access does not tell. */
  expiresAt: number | null;
}

const kept = z.object({
  auth_mode: z.string().nullish().catch(null),
  OPENAI_API_KEY: z.string().min(1).nullish().catch(null),
  tokens: z
    .object({ id_token: z.string(), access_token: z.string().min(1), account_id: z.string().nullish() })
    .nullish()
    .catch(null),
});

/** Or what to do when the operator is not signed in, or not any more. */
export async function findCredential(operator: Environment, now: number): Promise<CodexCredential | string> {
  const found = await seen(operator);
  if (found === null) return NOT_SIGNED_IN;
  if (typeof found === 'string' || 'key' in found) return found;
  const { expiresAt } = found.login;
  return expiresAt !== null && expiresAt <= now ? expired(expiresAt, now) : found;
}

export async function signInOf(operator: Environment, now: number): Promise<SignIn> {
  const found = await seen(operator);
  if (found === null) return 'none';
  if (typeof found === 'string') return { unusable: found };
  const { source: by } = found;
  if ('key' in found || found.login.expiresAt === null) return { by };
  const { expiresAt: at } = found.login;
  return at <= now ? { unusable: expired(at, now) } : { by, expires: { at, advice: LASTS } };
}

/** What the program is shown: the credential, or, by a route, what takes its place and where it is asked. */
export function shown(
  credential: CodexCredential,
  operator: Environment,
  route: Passage['route'],
): { credential: CodexCredential; baseUrl: string } {
  if ('key' in credential) {
    const upstream = operator.OPENAI_BASE_URL || 'https://api.openai.com/v1';
    if (route === null) return { credential, baseUrl: upstream };
    const headers = { authorization: `Bearer ${credential.key}` };
    return {
      credential: { ...credential, key: PLACEHOLDER },
      baseUrl: route({ upstream, headers, speaks: SPEAKS }),
    };
  }
  const { login } = credential;
  if (route === null) return { credential, baseUrl: login.baseUrl };
  const { access_token = '', account_id } = login.tokens;
  const headers = {
    authorization: `Bearer ${access_token}`,
    ...(account_id && { 'chatgpt-account-id': account_id }),
  };
  const baseUrl = route({ upstream: login.baseUrl, headers, speaks: SPEAKS });
  return { credential: { ...credential, login: { ...login, tokens: UNSIGNED, baseUrl } }, baseUrl };
}

const SPEAKS = ['responses'] as const;

const unsigned = (claims: object): string =>
  [{ alg: 'none', typ: 'JWT' }, claims, {}]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');

/** A login in form: it reads its own tokens, and proves nothing by them. */
const UNSIGNED = {
  id_token: unsigned({
    email: 'nobody@example.com',
    'https://api.openai.com/auth': { chatgpt_plan_type: 'pro', chatgpt_account_id: PLACEHOLDER },
  }),
  access_token: unsigned({
    exp: Date.UTC(2100, 0) / 1000,
    'https://api.openai.com/auth': { chatgpt_account_id: PLACEHOLDER },
  }),
  account_id: PLACEHOLDER,
};

/** A turn that its login did not outlast failed for that, whatever Codex made of it. */
export function failureOfLogin(failure: Failure, credential: CodexCredential, now: number): Failure {
  if ('key' in credential) return failure;
  const { expiresAt } = credential.login;
  const failed = (message: string): Failure => ({ code: 'auth', message, retryAt: null });
  if (expiresAt !== null && expiresAt <= now && UNTOLD.includes(failure.code))
    return failed(expired(expiresAt, now));
  const { message } = failure;
  const wantedRenewal = message.includes(NO_RENEWAL) || message.startsWith('Failed to refresh token');
  return wantedRenewal ? failed(REFUSED) : failure;
}

/** What a refused login may look like: its adapter hands on no more than that there was an error. */
const UNTOLD: readonly FailureCode[] = ['auth', 'network', 'overload', 'crashed'];

/** Makes Codex's home hold this credential and no other; returns its part of the environment. */
export async function putCredential(
  credential: CodexCredential,
  home: string,
  now: number,
): Promise<Record<string, string>> {
  await removeLogin(home);
  if ('key' in credential) return { OPENAI_API_KEY: credential.key };
  const { tokens } = credential.login;
  // It would renew a login that it takes for an old one, so this one is of today.
  const file = {
    auth_mode: 'chatgpt',
    OPENAI_API_KEY: null,
    tokens: { ...tokens, refresh_token: '' },
    last_refresh: new Date(now).toISOString(),
  };
  replaceFile(join(home, 'auth.json'), JSON.stringify(file));
  return { CODEX_REFRESH_TOKEN_URL_OVERRIDE: NO_RENEWAL };
}

/** After a turn: nothing of a login stays with the session. */
export async function removeLogin(home: string): Promise<void> {
  // The agent may have put a link to another one there.
  ownFolder(home);
  await rm(join(home, 'auth.json'), { recursive: true, force: true });
}

/** Null when there is nothing; a sentence when there is a login that can't be handed on. */
async function seen(operator: Environment): Promise<CodexCredential | string | null> {
  if (operator.OPENAI_API_KEY) return { source: 'OPENAI_API_KEY', key: operator.OPENAI_API_KEY };
  const home = operator.CODEX_HOME || join(operator.HOME ?? '', '.codex');
  const { data } = kept.safeParse(
    await readFile(join(home, 'auth.json'), 'utf8')
      .then(JSON.parse)
      .catch(() => null),
  );
  if (!data) return null;
  const { auth_mode: mode, OPENAI_API_KEY: key, tokens } = data;
  if (key && mode !== 'chatgpt') return { source: 'codex login', key };
  if (tokens && (!mode || mode === 'chatgpt')) {
    const { account_id, ...texts } = tokens;
    const login = {
      tokens: { ...texts, ...(account_id && { account_id }) },
      baseUrl: await chatgptUrl(home),
      expiresAt: expiryOf(tokens.access_token),
    };
    return { source: 'ChatGPT login', login };
  }
  if (!mode) return null;
  return mode === 'chatgpt' ? HALF : otherLogin(mode);
}

const claims = z.object({ exp: z.number() });

/** The access is a JWT, which says when it ends. */
function expiryOf(token: string): number | null {
  try {
    const [, body = ''] = token.split('.');
    return claims.parse(JSON.parse(Buffer.from(body, 'base64url').toString('utf8'))).exp * 1000;
  } catch {
    return null;
  }
}

/** Of Codex's settings the one that says where ChatGPT is; it stands before the first table. */
async function chatgptUrl(home: string): Promise<string> {
  const [top = ''] = (await readFile(join(home, 'config.toml'), 'utf8').catch(() => '')).split(/^\s*\[/m, 1);
  const [, url] = /^\s*chatgpt_base_url\s*=\s*["'](.+?)["']/m.exec(top) ?? [];
  return (url ?? 'https://chatgpt.com/backend-api').replace(/\/+$/, '');
}

/** Nobody listens there, and an error that names it tells that the provider no longer took the access. */
const NO_RENEWAL = 'http://127.0.0.1:9/login-is-not-renewed-here';

const KEY = 'set OPENAI_API_KEY in the environment of forge-loop, or run `codex login --with-api-key`';
const LASTS = `start \`codex\` before that, which renews it; for longer runs, ${KEY}`;
const NOT_SIGNED_IN = `Codex is not signed in: run \`codex login\`, or ${KEY}`;
const HALF = `your ChatGPT login has no access token: run \`codex login\`, or ${KEY}`;
const REFUSED = `OpenAI no longer accepts your ChatGPT login: run \`codex login\`, or ${KEY}`;
const otherLogin = (mode: string): string =>
  `Codex is signed in by \`${mode}\`, which forge-loop can't hand on: ${KEY}`;
const expired = (at: number, now: number): string =>
  `your ChatGPT login expired at ${untilOf(at, now)}: start \`codex\` to renew it, or run \`codex login\`; for longer runs, ${KEY}`;
