/** What opencode is told besides the prompt: its program, its one provider, and how far it may go. */
import { access } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Access } from '../../core/role.ts';
import { TOOL_SERVER } from '../agent.ts';
import { installHint } from '../install-hint.ts';
import { type Environment, onPath } from '../program-path.ts';
import type { Provider } from './provider.ts';

const OPENCODE_PACKAGE = 'opencode-ai';
const OPENCODE_VERSION = '1.18.33';

export const notInstalled = (): string =>
  `the agent \`opencode\` needs ${OPENCODE_PACKAGE}, which is neither installed beside forge-loop nor on the PATH: ${installHint([`${OPENCODE_PACKAGE}@${OPENCODE_VERSION}`])} (about 180 MB)`;

export const NO_MODEL =
  'agent.model is not set: opencode needs a provider and a model, such as anthropic/claude-sonnet-5';

/** The program's argv: the package beside us, else the one on the PATH; null when there is neither. */
export async function findOpencode(operator: Environment): Promise<string[] | null> {
  try {
    const path = createRequire(import.meta.url).resolve(`${OPENCODE_PACKAGE}/bin/opencode.exe`);
    await access(path);
    return [path];
  } catch {
    const path = await onPath('opencode', operator);
    return path === null ? null : [path];
  }
}

export function opencodeConfig(
  { tools: may }: Access,
  model: string,
  provider: Provider,
  tools: { command: string; args: readonly string[] } | null,
): Record<string, unknown> {
  return {
    model,
    // Whatever it asks on the side is asked of the model that was chosen, and counted with it.
    small_model: model,
    enabled_providers: [provider.id],
    ...(provider.config && { provider: { [provider.id]: provider.config } }),
    permission: PERMISSIONS[may],
    ...(tools && {
      mcp: { [TOOL_SERVER]: { type: 'local', command: [tools.command, ...tools.args], enabled: true } },
    }),
    experimental: { continue_loop_on_deny: true },
    agent: { title: { disable: true } },
    // What was sent is sent again byte for byte, so that the provider's cache reads it.
    compaction: { auto: true, prune: false },
    share: 'disabled',
    autoupdate: false,
    snapshot: false,
    lsp: false,
    formatter: false,
  };
}

/** Of the branch's own settings nothing is read, and nothing is fetched. */
export const OFFLINE: Record<string, string> = {
  OPENCODE_DISABLE_PROJECT_CONFIG: '1',
  OPENCODE_DISABLE_CLAUDE_CODE: '1',
  OPENCODE_DISABLE_EXTERNAL_SKILLS: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  OPENCODE_PURE: '1',
  npm_config_offline: 'true',
};

const PERMISSIONS: Record<Access['tools'], Record<string, string>> = {
  /** Edits are asked for, and answered by rule. */
  work: {
    '*': 'allow',
    edit: 'ask',
    question: 'deny',
    external_directory: 'allow',
    doom_loop: 'allow',
  },
  read: {
    '*': 'deny',
    read: 'allow',
    grep: 'allow',
    glob: 'allow',
    list: 'allow',
    external_directory: 'allow',
    doom_loop: 'allow',
    StructuredOutput: 'allow',
    [`${TOOL_SERVER}_*`]: 'allow',
  },
};
