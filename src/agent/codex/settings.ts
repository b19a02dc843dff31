/** What Codex is told besides the prompt: its provider and credential, and how far it may go. */
import { realpath } from 'node:fs/promises';
import type { Access } from '../../core/role.ts';
import type { TurnRequest } from '../agent.ts';
import type { GrantedServer } from '../mcp-servers.ts';
import { mayRoam } from '../passage.ts';
import type { CodexCredential } from './credential.ts';

/** The provider is spelled out: the built-in one tries websockets for seconds before it asks anything. */
export async function configFile(
  baseUrl: string,
  credential: CodexCredential,
  turn: Pick<TurnRequest, 'cwd' | 'access' | 'policy'>,
  servers: readonly GrantedServer[],
): Promise<string> {
  const { cwd, access } = turn;
  // Of a place that it may write to it trusts the settings too, servers and all, unless it is told not to.
  const places = new Set([cwd, await realpath(cwd)]);
  const distrust = [...places].map(
    (place) => `[projects.${JSON.stringify(place)}]\ntrust_level = "untrusted"\n`,
  );
  // Project documents are the branch's own; what trunk says is told when the thread begins.
  return `model_provider = "forge"
project_doc_max_bytes = 0
${mayRoam(turn) ? '' : NO_SEARCH}${providerOf(credential, baseUrl)}wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
[features]
plugins = false
hooks = false
apps = false
memories = false
enable_request_compression = false
${access.tools === 'read' ? ALONE : ''}[skills]
include_instructions = false
${distrust.join('')}${servers.map(serverSection).join('')}`;
}

/** OpenAI would search for it, which the gateway refuses, and with it every call that offers the tool. */
const NO_SEARCH = 'web_search = "disabled"\n';

/** It was granted, so nobody has to be asked; `npx` may have to fetch it first. */
const serverSection = ({ name, command, args }: GrantedServer): string => `[mcp_servers.${name}]
command = ${JSON.stringify(command)}
args = ${JSON.stringify(args)}
default_tools_approval_mode = "approve"
startup_timeout_sec = ${SERVER_STARTS_WITHIN_SECONDS}
`;

const SERVER_STARTS_WITHIN_SECONDS = 60;

function providerOf(credential: CodexCredential, baseUrl: string): string {
  const provider = (url: string, access: string) =>
    `[model_providers.forge]\nname = "OpenAI"\nbase_url = ${JSON.stringify(url)}\n${access}\n`;
  if ('key' in credential) return provider(baseUrl, 'env_key = "OPENAI_API_KEY"');
  // A login is kept in a file, is for ChatGPT alone, and tells its provider what was done with it unless told not to.
  return `chatgpt_base_url = ${JSON.stringify(`${baseUrl}/`)}
cli_auth_credentials_store = "file"
[analytics]
enabled = false
${provider(`${baseUrl}/codex`, 'requires_openai_auth = true')}`;
}

/** What Codex would heed in its own folder, beside its settings and its records. */
export const PLANTED = [
  'AGENTS.md',
  'AGENTS.override.md',
  'hooks.json',
  'prompts',
  'rules',
  'skills',
  'plugins',
];

/** Who only reads needs nobody to hand work to, and no goals; the tools for it would be sent with every verdict. */
const ALONE = `multi_agent = false
goals = false
`;

/**
 * Who works asks before every change of a file, and is answered by rule (it asks before most commands too); its own sandbox
 * would make the workspace's .git unwritable, and confining is the loop's.
 */
export const permissions = (access: Access) =>
  access.tools === 'work'
    ? ({ approvalPolicy: 'untrusted', sandbox: 'danger-full-access' } as const)
    : ({
        approvalPolicy: 'never',
        sandbox: readsByItself(access) ? 'read-only' : 'danger-full-access',
      } as const);

/** Whether only Codex's own sandbox keeps it from writing; inside of ours that could not start. */
export const readsByItself = ({ tools, sandbox }: Access): boolean => tools === 'read' && sandbox === 'none';
