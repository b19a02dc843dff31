/** Programs that speak ACP and that we know how to start: where they are, what they are signed in with, how they are set. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { AgentPolicy, Role } from '../../core/policy.ts';
import type { TurnRequest, UsageReport } from '../agent.ts';
import { findCredential, NOT_SIGNED_IN as NO_CLAUDE } from '../claude/credential.ts';
import { configFile, findKey, NOT_SIGNED_IN as NO_CODEX } from '../codex/settings.ts';
import { opencodeAccount } from '../opencode/account.ts';
import { findProvider, notSignedIn } from '../opencode/provider.ts';
import { databaseOf, prepareSession, recordOf } from '../opencode/session.ts';
import {
  findOpencode,
  modelParts,
  NO_MODEL,
  NOT_INSTALLED as NO_OPENCODE,
  OFFLINE,
  opencodeConfig,
} from '../opencode/settings.ts';
import { pricesFor } from '../prices.ts';
import { type Environment, onPath } from '../program-path.ts';
import { toldLedger } from '../told-ledger.ts';

/** A program that is there and signed in, or what is missing. */
export type Equipped = Equipment | string;

export interface Equipment {
  argv: readonly string[];
  /** Makes what the program needs in the session's directory; returns its part of the environment. */
  furnish(turn: TurnRequest): Promise<Record<string, string>>;
  /** The mode that fits a role, where the program has modes. */
  mode?(role: Role): string;
  /** How to sign in, where the program has to be told. */
  authMethod?: string;
  /** What `session/new` and `session/load` are told besides. */
  meta?: Record<string, unknown>;
  /** For a program whose answers tell too little of what they used: tells what its own record has, each call once. */
  recorder?(turn: TurnRequest, report: (delta: UsageReport) => void): Promise<() => Promise<void>>;
  /** Its running total of cost begins anew with each process. */
  costRestarts?: boolean;
}

const PRESETS = ['claude-agent-acp', 'codex-acp', 'opencode', 'gemini'] as const;
type Preset = (typeof PRESETS)[number];

export async function equip(
  { preset, command, model }: Pick<AgentPolicy, 'preset' | 'command' | 'model'>,
  operator: Environment,
  now: number,
): Promise<Equipped> {
  if (preset !== null && isPreset(preset)) return KNOWN[preset](operator, model, now);
  if (command !== null) return { argv: ['/bin/sh', '-c', `exec ${command}`], furnish: async () => ({}) };
  return `agent.preset is not set: the agent \`acp\` needs one of ${PRESETS.join(', ')}, or agent.command with a program that speaks ACP on stdin and stdout`;
}

const isPreset = (name: string): name is Preset => (PRESETS as readonly string[]).includes(name);

const KNOWN: Record<Preset, (operator: Environment, model: string | null, now: number) => Promise<Equipped>> =
  {
    async 'claude-agent-acp'(operator, model, now) {
      const argv = await find('@agentclientprotocol/claude-agent-acp', 'claude-agent-acp', operator);
      if (!argv) return missing('claude-agent-acp', '@agentclientprotocol/claude-agent-acp@0.99.1');
      const credential = await findCredential(operator, now);
      if (!credential) return NO_CLAUDE;
      return {
        argv,
        mode: () => 'default',
        costRestarts: true,
        // Nothing that the branch brings along configures the agent that works on it.
        meta: {
          claudeCode: { options: { settingSources: [], strictMcpConfig: true, promptSuggestions: false } },
        },
        furnish: async (turn) => ({
          ...credential.env,
          CLAUDE_CONFIG_DIR: await folder(turn, 'claude'),
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
          CLAUDE_CODE_MAX_RETRIES: '3',
          DISABLE_AUTOUPDATER: '1',
          ...(model !== null && { ANTHROPIC_MODEL: model }),
          ...(process.getuid?.() === 0 && { IS_SANDBOX: '1' }),
        }),
      };
    },

    async 'codex-acp'(operator, model) {
      const argv = await find('@agentclientprotocol/codex-acp', 'codex-acp', operator);
      if (!argv) return missing('codex-acp', '@agentclientprotocol/codex-acp@2.6.0');
      const key = await findKey(operator);
      if (!key) return NO_CODEX;
      return {
        argv,
        // Else it ends a turn that failed as if it were done.
        capabilities: { jetbrains: { air: { version: 1, capabilities: ['sessionFailure'] } } },
        // Its other modes make the workspace's .git unwritable.
        mode: (role) => (role === 'coder' ? 'agent-full-access' : 'read-only'),
        async furnish(turn) {
          const home = await folder(turn, 'codex');
          await writeFile(join(home, 'config.toml'), configFile(operator, null));
          return {
            OPENAI_API_KEY: key,
            CODEX_HOME: home,
            NO_BROWSER: '1',
            ...(model !== null && { CODEX_CONFIG: JSON.stringify({ model }) }),
          };
        },
      };
    },

    async opencode(operator, model) {
      const argv = await findOpencode(operator);
      if (!argv) return NO_OPENCODE;
      const parts = model === null ? null : modelParts(model);
      if (model === null || !parts) return NO_MODEL;
      const provider = await findProvider(parts.providerID, operator);
      if (!provider) return notSignedIn(parts.providerID);
      return {
        argv: [...argv, 'acp'],
        async furnish(turn) {
          await prepareSession(turn.sessionDir);
          return {
            ...provider.env,
            ...OFFLINE,
            OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(turn.role, model, provider, null)),
            OPENCODE_DB: databaseOf(turn.sessionDir),
          };
        },
        // The end of a prompt tells its last call only.
        async recorder(turn, report) {
          const ledger = await toldLedger(turn.sessionDir, turn.turn);
          const account = opencodeAccount(pricesFor(turn.policy), ledger, report);
          return async () => {
            account.seeAll(await recordOf(turn.sessionDir).catch(() => []));
            await ledger.settle(account.told());
          };
        },
      };
    },

    async gemini(operator, model) {
      const argv = await find('@google/gemini-cli', 'gemini', operator);
      if (!argv) return missing('gemini', '@google/gemini-cli@0.61.0');
      if (!operator.GEMINI_API_KEY)
        return 'Gemini is not signed in: set GEMINI_API_KEY in the environment of forge-loop';
      const key = operator.GEMINI_API_KEY;
      return {
        argv: [...argv, '--acp', ...(model === null ? [] : ['--model', model])],
        authMethod: 'gemini-api-key',
        furnish: async () => ({ GEMINI_API_KEY: key }),
      };
    },
  };

/** Where the program keeps what it knows of the session; the same when it is resumed. */
async function folder({ sessionDir }: TurnRequest, name: string): Promise<string> {
  const path = join(sessionDir, 'acp', name);
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}

const missing = (name: string, what: string): string =>
  `the preset \`${name}\` needs ${what.replace(/(?<=.)@[^@]*$/, '')}, which is neither installed beside forge-loop nor on the PATH: run \`npm install ${what}\` where you installed forge-loop`;

const manifest = z.object({ bin: z.union([z.string(), z.record(z.string(), z.string())]) });

/** The program's argv: the package beside us, else the one on the PATH. */
async function find(packageName: string, name: string, operator: Environment): Promise<string[] | null> {
  try {
    const path = createRequire(import.meta.url).resolve(`${packageName}/package.json`);
    const { bin } = manifest.parse(JSON.parse(await readFile(path, 'utf8')));
    const file = typeof bin === 'string' ? bin : bin[name];
    if (file !== undefined) return [process.execPath, join(dirname(path), file)];
  } catch {
    // Not beside us.
  }
  const path = await onPath(name, operator);
  return path === null ? null : [path];
}
