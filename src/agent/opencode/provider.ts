/**
 * The one provider opencode gets: the chosen model's, as the operator has set it up for opencode, with its key and no
 * other. A login that renews itself is not handed on, because a child that renews it would sign the operator out.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { SignIn } from '../agent.ts';
import { type Passage, PLACEHOLDER } from '../passage.ts';
import type { Environment } from '../program-path.ts';
import { readJsonc } from './jsonc.ts';

export interface Provider {
  id: string;
  /** Its section in the operator's own configuration of opencode. */
  config: Record<string, unknown> | null;
  env: Record<string, string>;
  /** Where its key is from, to show people; null when none is known here. */
  source: string | null;
}

/** Null when the operator has no key for it. */
export async function findProvider(id: string, operator: Environment): Promise<Provider | null> {
  const config = await sectionOf(id, operator);
  const named = [...JSON.stringify(config ?? {}).matchAll(/\{env:(\w+)\}/g)].map(
    ([, name]) => name as string,
  );
  const variables = [...named, ...keyNames(id)];
  const env = Object.fromEntries(
    variables.flatMap((name) => (operator[name] ? [[name, operator[name] as string]] : [])),
  );
  if (Object.keys(env).length > 0) return { id, config, env, source: Object.keys(env).join(', ') };
  const key = await keptKey(id, operator);
  if (key !== null) {
    const env = { OPENCODE_AUTH_CONTENT: JSON.stringify({ [id]: { type: 'api', key } }) };
    return { id, config, env, source: 'opencode auth login' };
  }
  // A provider of the operator's own making may need no key, or has it in its section.
  return config === null ? null : { id, config, env: {}, source: null };
}

/** How those are asked that opencode knows by name, and those of the operator's own making by the package they use. */
const KNOWN: Readonly<Record<string, { upstream: string; header: Header }>> = {
  anthropic: { upstream: 'https://api.anthropic.com/v1', header: 'x-api-key' },
  openai: { upstream: 'https://api.openai.com/v1', header: 'authorization' },
  google: { upstream: 'https://generativelanguage.googleapis.com/v1beta', header: 'x-goog-api-key' },
};
const PACKAGES: Readonly<Record<string, Header>> = {
  '@ai-sdk/anthropic': 'x-api-key',
  '@ai-sdk/openai': 'authorization',
  '@ai-sdk/openai-compatible': 'authorization',
  '@ai-sdk/google': 'x-goog-api-key',
};
type Header = 'x-api-key' | 'authorization' | 'x-goog-api-key';
const SPEAKS: Readonly<Record<Header, Speaks>> = {
  'x-api-key': ['messages'],
  authorization: ['responses', 'chat'],
  'x-goog-api-key': ['generate'],
};
type Speaks = Parameters<NonNullable<Passage['route']>>[0]['speaks'];

const headers = z.record(z.string(), z.unknown()).optional().catch(undefined);
const section = z.object({
  npm: z.string().optional().catch(undefined),
  options: z
    .looseObject({
      baseURL: z.string().optional().catch(undefined),
      apiKey: z.string().optional().catch(undefined),
      headers,
    })
    .default({}),
  models: z.record(z.string(), z.looseObject({ headers }).catch({})).optional().catch(undefined),
});

interface Upstream {
  upstream: string;
  speaks: Speaks;
  /** What proves who pays, by key, by headers of the operator's own, or both. */
  headers: Record<string, string>;
}

function upstreamOf({ id, config, env }: Provider, model: string): Upstream | null {
  const { npm, options, models } = section.safeParse(config).data ?? { options: {} };
  const known = npm === undefined ? KNOWN[id] : undefined;
  const header = known?.header ?? PACKAGES[npm ?? ''];
  const upstream = options.baseURL === undefined ? known?.upstream : resolved(options.baseURL, env);
  const kept = keptIn.safeParse(parsedOrNull(env.OPENCODE_AUTH_CONTENT)).data?.[id]?.key;
  const named = keyNames(id).find((name) => env[name]);
  const key = kept ?? (options.apiKey ? resolved(options.apiKey, env) : named && env[named]);
  const own = Object.entries({ ...options.headers, ...models?.[model]?.headers }).map(
    ([name, value]) => [name.toLowerCase(), resolved(String(value), env)] as const,
  );
  if (header === undefined || upstream === undefined || !(key || own.length > 0)) return null;
  const proof = key ? { [header]: header === 'authorization' ? `Bearer ${key}` : key } : {};
  const headers = { ...proof, ...Object.fromEntries(own) };
  return { upstream: upstream.replace(/\/+$/, ''), speaks: SPEAKS[header], headers };
}

/** As opencode reads its settings. */
const resolved = (text: string, env: Provider['env']): string =>
  text.replace(/\{env:(\w+)\}/g, (_, name: string) => env[name] ?? '');

const keptIn = z.record(z.string(), z.object({ key: z.string() }));

function parsedOrNull(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return null;
  }
}

/** Whether the gateway can hold what it is signed in with. */
export const kindOf = (provider: Provider, model: string): 'key' | 'other' =>
  upstreamOf(provider, model) ? 'key' : 'other';

/** As opencode is told of it: with its key and headers, or, by a route, with what takes their place. */
export function shown(provider: Provider, model: string, route: Passage['route']): Provider {
  const found = route && upstreamOf(provider, model);
  if (!route || !found) return provider;
  const { config } = provider;
  const { headers: _, ...rest } = (config?.options ?? {}) as Record<string, unknown>;
  const options = { ...rest, baseURL: route(found), apiKey: PLACEHOLDER };
  const models = section.safeParse(config).data?.models;
  const others = models && { models: withoutHeaders(models) };
  return { ...provider, config: { ...config, ...others, options }, env: {} };
}

const withoutHeaders = (models: Record<string, Record<string, unknown>>): Record<string, object> =>
  Object.fromEntries(Object.entries(models).map(([name, { headers: _, ...model }]) => [name, model]));

/** A model is named with its provider: `anthropic/claude-sonnet-5`. */
export function modelParts(model: string): { providerID: string; modelID: string } | null {
  const at = model.indexOf('/');
  return at < 1 || at === model.length - 1
    ? null
    : { providerID: model.slice(0, at), modelID: model.slice(at + 1) };
}

/** Each provider has its own, so it can be told only of the models that are asked for. */
export async function signInOf(models: readonly string[], operator: Environment): Promise<SignIn> {
  const ids = new Set(models.flatMap((model) => modelParts(model)?.providerID ?? []));
  if (ids.size === 0) return { unknown: 'that depends on the provider, and agent.model names none' };
  const sources: string[] = [];
  for (const id of ids) {
    const provider = await findProvider(id, operator);
    if (!provider) return 'none';
    if (provider.source === null)
      return { unknown: `${id} is a provider of your own, and has no key that is known here` };
    sources.push(`${provider.source} (${id})`);
  }
  return { by: sources.join(', ') };
}

export const notSignedIn = (id: string): string =>
  `opencode has no key for the provider ${id}: set ${keyNames(id)[0]} in the environment of forge-loop, or run \`opencode auth login\` with an API key`;

const VERTEX = ['GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_VERTEX_PROJECT', 'GOOGLE_VERTEX_LOCATION'];

/** Where a provider's key has another name than its own in capitals. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  google: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
  azure: ['AZURE_API_KEY', 'AZURE_RESOURCE_NAME'],
  'amazon-bedrock': [
    'AWS_BEARER_TOKEN_BEDROCK',
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'AWS_REGION',
  ],
  'google-vertex': VERTEX,
  'google-vertex-anthropic': VERTEX,
  'github-models': ['GITHUB_MODELS_TOKEN'],
  huggingface: ['HF_TOKEN'],
};

const keyNames = (id: string): readonly string[] =>
  KEYS[id] ?? [`${id.toUpperCase().replace(/\W/g, '_')}_API_KEY`];

const configFile = z.object({ provider: z.record(z.string(), z.record(z.string(), z.unknown())).catch({}) });

async function sectionOf(id: string, operator: Environment): Promise<Record<string, unknown> | null> {
  const folder = join(operator.XDG_CONFIG_HOME || join(operator.HOME ?? '', '.config'), 'opencode');
  const files = [operator.OPENCODE_CONFIG, join(folder, 'opencode.jsonc'), join(folder, 'opencode.json')];
  const texts = [
    operator.OPENCODE_CONFIG_CONTENT ?? '',
    ...(await Promise.all(files.map((path) => (path ? readFile(path, 'utf8').catch(() => '') : '')))),
  ];
  for (const text of texts) {
    const section = configFile.safeParse(readJsonc(text)).data?.provider[id];
    if (section) return section;
  }
  return null;
}

const logins = z.record(z.string(), z.unknown());
const kept = z.object({ type: z.literal('api'), key: z.string().min(1) });

async function keptKey(id: string, operator: Environment): Promise<string | null> {
  const folder = join(operator.XDG_DATA_HOME || join(operator.HOME ?? '', '.local', 'share'), 'opencode');
  const { data } = logins.safeParse(
    readJsonc(await readFile(join(folder, 'auth.json'), 'utf8').catch(() => '')),
  );
  return kept.safeParse(data?.[id]).data?.key ?? null;
}
