/** What opencode is told besides the prompt: its program, its one provider, and how far it may go. */
import { access } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { TOOL_SERVER } from '../../core/policy.ts';
import type { Access } from '../../core/role.ts';
import type { TurnRequest } from '../agent.ts';
import { installHint } from '../install-hint.ts';
import type { GrantedServer } from '../mcp-servers.ts';
import { type Environment, onPath } from '../program-path.ts';
import { removePlanted } from '../replace-file.ts';
import { skillsFolder } from '../skills.ts';
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

/** `servers` are those that it is not told of in another way. */
export function opencodeConfig(
  { access, policy, skill }: Pick<TurnRequest, 'access' | 'policy' | 'skill'>,
  model: string,
  provider: Provider,
  servers: readonly GrantedServer[],
): Record<string, unknown> {
  const granted = [TOOL_SERVER, ...policy.mcp.map(({ name }) => name)];
  return {
    model,
    // Whatever it asks on the side is asked of the model that was chosen, and counted with it.
    small_model: model,
    enabled_providers: [provider.id],
    ...(provider.config && { provider: { [provider.id]: provider.config } }),
    permission: {
      ...PERMISSIONS[access.tools],
      ...Object.fromEntries(granted.map((name) => [`${name}_*`, 'allow'])),
    },
    mcp: Object.fromEntries(
      servers.map(({ name, command, args }) => [
        name,
        { type: 'local', command: [command, ...args], enabled: true, timeout: SERVER_STARTS_WITHIN_MS },
      ]),
    ),
    ...(skill && { skills: { paths: [skillsFolder(skill)] } }),
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

/** Where it looks for settings, plugins, tools and servers of its user: nobody but an earlier turn can have put any there. */
export const removeUserSettings = ({ home, policy }: Pick<TurnRequest, 'home' | 'policy'>): void =>
  removePlanted(home, ['.config/opencode', '.opencode'], policy.env.homeEntries);

/** `npx` may have to fetch one first. */
const SERVER_STARTS_WITHIN_MS = 60_000;

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
  },
};
