/** What Codex is told besides the prompt: its provider and credential, and how far it may go. */
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Role } from '../../core/policy.ts';
import type { SignIn, TurnRequest } from '../agent.ts';
import type { Environment } from '../program-path.ts';

export const NOT_SIGNED_IN =
  'Codex is not signed in: set OPENAI_API_KEY in the environment of forge-loop, or run `codex login --with-api-key`';

const login = z.object({ OPENAI_API_KEY: z.string().min(1) });

/** The one credential it gets; null when the operator has none. */
export async function findKey(operator: Environment): Promise<string | null> {
  if (operator.OPENAI_API_KEY) return operator.OPENAI_API_KEY;
  const file = join(operator.CODEX_HOME || join(operator.HOME ?? '', '.codex'), 'auth.json');
  const { data } = login.safeParse(
    await readFile(file, 'utf8')
      .then(JSON.parse)
      .catch(() => null),
  );
  return data?.OPENAI_API_KEY ?? null;
}

export async function signInOf(operator: Environment): Promise<SignIn> {
  if (operator.OPENAI_API_KEY) return { by: 'OPENAI_API_KEY' };
  return (await findKey(operator)) ? { by: 'codex login' } : 'none';
}

/** The provider is spelled out: the built-in one tries websockets for seconds before it asks anything. */
export async function configFile(
  operator: Environment,
  { cwd, role }: Pick<TurnRequest, 'cwd' | 'role'>,
): Promise<string> {
  const url = operator.OPENAI_BASE_URL || 'https://api.openai.com/v1';
  // Of a place that it may write to it trusts the settings too, servers and all, unless it is told not to.
  const places = new Set([cwd, await realpath(cwd)]);
  const distrust = [...places].map(
    (place) => `[projects.${JSON.stringify(place)}]\ntrust_level = "untrusted"\n`,
  );
  // Project documents are the branch's own; what trunk says is told when the thread begins.
  return `model_provider = "forge"
project_doc_max_bytes = 0
[model_providers.forge]
name = "OpenAI"
base_url = ${JSON.stringify(url)}
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
[features]
plugins = false
hooks = false
apps = false
memories = false
${role === 'coder' ? '' : ALONE}[skills]
include_instructions = false
${distrust.join('')}`;
}

/** Who only reads needs nobody to hand work to, and no goals; the tools for it would be sent with every verdict. */
const ALONE = `multi_agent = false
goals = false
`;

/**
 * A coder asks before every command that is not plainly harmless, and is answered by rule; its own sandbox would make
 * the workspace's .git unwritable, and confining is the loop's. Everybody else can only read.
 */
export const permissions = (role: Role) =>
  role === 'coder'
    ? ({ approvalPolicy: 'untrusted', sandbox: 'danger-full-access' } as const)
    : ({ approvalPolicy: 'never', sandbox: 'read-only' } as const);
