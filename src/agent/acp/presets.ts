/** Programs that speak ACP and that we know how to start: where they are, what they are signed in with, how they are set. */
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { AgentPolicy, Role } from '../../core/policy.ts';
import type { TurnRequest, UsageReport } from '../agent.ts';
import { findCredential, NOT_SIGNED_IN as NO_CLAUDE } from '../claude/credential.ts';
import { codexAccount } from '../codex/account.ts';
import { configFile, findKey, NOT_SIGNED_IN as NO_CODEX } from '../codex/settings.ts';
import { recordedTotals } from '../codex/thread.ts';
import { opencodeAccount } from '../opencode/account.ts';
import { refusedWorkspace } from '../opencode/plugins.ts';
import { findProvider, modelParts, notSignedIn } from '../opencode/provider.ts';
import { databaseOf, prepareSession, recordOf } from '../opencode/session.ts';
import {
  findOpencode,
  NO_MODEL,
  NOT_INSTALLED as NO_OPENCODE,
  OFFLINE,
  opencodeConfig,
} from '../opencode/settings.ts';
import { pricesFor } from '../prices.ts';
import { type Environment, onPath } from '../program-path.ts';
import { toldLedger } from '../told-ledger.ts';
import type { ToolDialogue } from '../tool-dialogue.ts';
import { claudeRecorder } from './claude-record.ts';
import type { Failure } from './failure.ts';
import { furnishGemini, geminiRecorder, NOT_SIGNED_IN as NO_GEMINI } from './gemini.ts';

/** A program that is there and signed in, or what is missing. */
export type Equipped = Equipment | string;

export interface Equipment {
  argv: readonly string[];
  /** Makes what the program needs in the session's directory; returns its part of the environment. */
  furnish(turn: TurnRequest, tools: ToolDialogue | null): Promise<Record<string, string>>;
  /** It is told of the host's tools when it is furnished, not as of a server. */
  toolsInSettings?: boolean;
  /** The mode that fits a role, where the program has modes. */
  mode?(role: Role): string;
  /** What `session/new` and `session/load` are told besides. */
  meta?: Record<string, unknown>;
  /** For a program whose own record tells more of what it used than its answers. */
  recorder?(turn: TurnRequest, report: (delta: UsageReport) => void): Promise<Recorder>;
  /** Its running total of cost begins anew with each process. */
  costRestarts?: boolean;
  /** A command that it wants to run is the title of the call. */
  commandIsTitle?: boolean;
  /** It answers that a session is loaded before it has replayed all of it. */
  replaysLate?: boolean;
}

export interface Recorder {
  /** Tells what the record has by now, each call of the model once. */
  read(): Promise<void>;
  /** What the program itself told. */
  hear?(delta: UsageReport): void;
  /** After the program has ended: what it told beyond its record. */
  close?(): Promise<void>;
  /** Then: why a turn that it ended as if it were done was none. */
  failure?(): Failure | null;
}

export const PRESETS = ['claude-agent-acp', 'codex-acp', 'opencode', 'gemini'] as const;
export type Preset = (typeof PRESETS)[number];

export async function equip(
  { preset, command, model }: Pick<AgentPolicy, 'preset' | 'command' | 'model'>,
  operator: Environment,
  now: number,
): Promise<Equipped> {
  if (preset !== null && isPreset(preset)) return KNOWN[preset](operator, model, now);
  if (command !== null) return { argv: ['/bin/sh', '-c', `exec ${command}`], furnish: async () => ({}) };
  return `agent.preset is not set: the agent \`acp\` needs one of ${PRESETS.join(', ')}, or agent.command with a program that speaks ACP on stdin and stdout`;
}

export const isPreset = (name: string): name is Preset => (PRESETS as readonly string[]).includes(name);

const KNOWN: Record<Preset, (operator: Environment, model: string | null, now: number) => Promise<Equipped>> =
  {
    async 'claude-agent-acp'(operator, model, now) {
      const argv = await programOf('claude-agent-acp', operator);
      if (!argv) return missing('claude-agent-acp');
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
        recorder: (turn, report) => claudeRecorder(turn, recordsIn(turn), report),
      };
    },

    async 'codex-acp'(operator, model) {
      const argv = await programOf('codex-acp', operator);
      if (!argv) return missing('codex-acp');
      const key = await findKey(operator);
      if (!key) return NO_CODEX;
      return {
        argv,
        // Its other modes make the workspace's .git unwritable.
        mode: (role) => (role === 'coder' ? 'agent-full-access' : 'read-only'),
        async furnish(turn) {
          // It declares the workspace trusted, whatever it is told, and its Codex then heeds what is there.
          if (await lstat(join(turn.cwd, '.codex')).catch(() => null))
            throw new Error(
              'the workspace has .codex, which codex-acp would heed, servers and hooks that the branch may have changed included, so it was not started. Use `agent.kind: codex`, which does not',
            );
          const home = await folder(turn, 'codex');
          await writeFile(join(home, 'config.toml'), await configFile(operator, turn));
          return {
            OPENAI_API_KEY: key,
            CODEX_HOME: home,
            NO_BROWSER: '1',
            ...(model !== null && { CODEX_CONFIG: JSON.stringify({ model }) }),
          };
        },
        async recorder(turn, report) {
          const account = await codexAccount(turn, pricesFor(turn.policy), () => model ?? 'unknown', report);
          return {
            async read() {
              for (const { thread, total } of await recordedTotals(recordsIn(turn)))
                account.see(thread, total);
              await account.settle();
            },
          };
        },
      };
    },

    async opencode(operator, model) {
      const argv = await programOf('opencode', operator);
      if (!argv) return NO_OPENCODE;
      const parts = model === null ? null : modelParts(model);
      if (model === null || !parts) return NO_MODEL;
      const provider = await findProvider(parts.providerID, operator);
      if (!provider) return notSignedIn(parts.providerID);
      return {
        argv: [...argv, 'acp'],
        async furnish(turn) {
          const refused = await refusedWorkspace(turn.cwd);
          if (refused !== null) throw new Error(refused);
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
          return {
            async read() {
              account.seeAll(await recordOf(turn.sessionDir).catch(() => []));
              await ledger.settle(account.told());
            },
          };
        },
      };
    },

    async gemini(operator, model) {
      const argv = await programOf('gemini', operator);
      if (!argv) return missing('gemini');
      if (!operator.GEMINI_API_KEY) return NO_GEMINI;
      return {
        argv: [...argv, '--acp', ...(model === null ? [] : ['--model', model])],
        mode: () => 'default',
        commandIsTitle: true,
        replaysLate: true,
        toolsInSettings: true,
        furnish: async (turn, tools) => furnishGemini(turn, await folder(turn, 'gemini'), operator, tools),
        recorder: async (turn, report) => geminiRecorder(turn, await folder(turn, 'gemini'), report),
      };
    },
  };

const recordsIn = ({ sessionDir }: Pick<TurnRequest, 'sessionDir'>): string => join(sessionDir, 'acp');

/** Where the program keeps what it knows of the session; the same when it is resumed. */
async function folder({ sessionDir }: TurnRequest, name: string): Promise<string> {
  const path = join(recordsIn({ sessionDir }), name);
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}

/** What to install for each, at the version it is tried with. */
const PACKAGES: Record<Exclude<Preset, 'opencode'>, { name: string; version: string }> = {
  'claude-agent-acp': { name: '@agentclientprotocol/claude-agent-acp', version: '0.99.1' },
  'codex-acp': { name: '@agentclientprotocol/codex-acp', version: '2.6.0' },
  gemini: { name: '@google/gemini-cli', version: '0.61.0' },
};

function missing(preset: Exclude<Preset, 'opencode'>): string {
  const { name, version } = PACKAGES[preset];
  return `the preset \`${preset}\` needs ${name}, which is neither installed beside forge-loop nor on the PATH: run \`npm install ${name}@${version}\` where you installed forge-loop`;
}

const manifest = z.object({ bin: z.union([z.string(), z.record(z.string(), z.string())]) });

/** The program's argv: the package beside us, else the one on the PATH; null when there is neither. */
export async function programOf(preset: Preset, operator: Environment): Promise<string[] | null> {
  if (preset === 'opencode') return findOpencode(operator);
  try {
    const path = createRequire(import.meta.url).resolve(`${PACKAGES[preset].name}/package.json`);
    const { bin } = manifest.parse(JSON.parse(await readFile(path, 'utf8')));
    const file = typeof bin === 'string' ? bin : bin[preset];
    if (file !== undefined) return [process.execPath, join(dirname(path), file)];
  } catch {
    // Not beside us.
  }
  const path = await onPath(preset, operator);
  return path === null ? null : [path];
}
