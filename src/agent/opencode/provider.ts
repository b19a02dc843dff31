/**
 * The one provider opencode gets: the chosen model's, as the operator has set it up for opencode, with its key and no
 * other. A login that renews itself is not handed on, because a child that renews it would sign the operator out.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Environment } from '../program-path.ts';

export interface Provider {
  id: string;
  /** Its section in the operator's own configuration of opencode. */
  config: Record<string, unknown> | null;
  env: Record<string, string>;
}

/** Null when the operator has no key for it. */
export async function findProvider(id: string, operator: Environment): Promise<Provider | null> {
  const config = await sectionOf(id, operator);
  const named = [...JSON.stringify(config ?? {}).matchAll(/\{env:(\w+)\}/g)].map(
    ([, name]) => name as string,
  );
  const variables = [...named, ...(KEYS[id] ?? [`${id.toUpperCase().replace(/\W/g, '_')}_API_KEY`])];
  const env = Object.fromEntries(
    variables.flatMap((name) => (operator[name] ? [[name, operator[name] as string]] : [])),
  );
  if (Object.keys(env).length > 0) return { id, config, env };
  const key = await keptKey(id, operator);
  if (key !== null)
    return { id, config, env: { OPENCODE_AUTH_CONTENT: JSON.stringify({ [id]: { type: 'api', key } }) } };
  // A provider of the operator's own making may need no key, or has it in its section.
  return config === null ? null : { id, config, env: {} };
}

export const notSignedIn = (id: string): string =>
  `opencode has no key for the provider ${id}: set ${(KEYS[id] ?? [`${id.toUpperCase().replace(/\W/g, '_')}_API_KEY`])[0]} in the environment of forge-loop, or run \`opencode auth login\` with an API key`;

/** Where a provider's key has another name than its own in capitals. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  google: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
  azure: ['AZURE_API_KEY', 'AZURE_RESOURCE_NAME'],
  'amazon-bedrock': ['AWS_BEARER_TOKEN_BEDROCK', 'AWS_REGION'],
  'github-models': ['GITHUB_MODELS_TOKEN'],
  huggingface: ['HF_TOKEN'],
};

const configFile = z.object({ provider: z.record(z.string(), z.record(z.string(), z.unknown())).catch({}) });

async function sectionOf(id: string, operator: Environment): Promise<Record<string, unknown> | null> {
  const folder = join(operator.XDG_CONFIG_HOME || join(operator.HOME ?? '', '.config'), 'opencode');
  const files = [operator.OPENCODE_CONFIG, join(folder, 'opencode.jsonc'), join(folder, 'opencode.json')];
  const texts = [
    operator.OPENCODE_CONFIG_CONTENT ?? '',
    ...(await Promise.all(files.map((path) => (path ? readFile(path, 'utf8').catch(() => '') : '')))),
  ];
  for (const text of texts) {
    const section = configFile.safeParse(parsed(withoutComments(text))).data?.provider[id];
    if (section) return section;
  }
  return null;
}

const logins = z.record(z.string(), z.unknown());
const kept = z.object({ type: z.literal('api'), key: z.string().min(1) });

async function keptKey(id: string, operator: Environment): Promise<string | null> {
  const folder = join(operator.XDG_DATA_HOME || join(operator.HOME ?? '', '.local', 'share'), 'opencode');
  const { data } = logins.safeParse(
    parsed(await readFile(join(folder, 'auth.json'), 'utf8').catch(() => '')),
  );
  return kept.safeParse(data?.[id]).data?.key ?? null;
}

/** opencode's configuration is JSON with comments and trailing commas. */
const withoutComments = (text: string): string =>
  text
    .replace(
      /("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
      (_, quoted: string | undefined) => quoted ?? '',
    )
    .replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, quoted: string | undefined) => quoted ?? '');

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
