/** Programs that speak ACP and that we know how to start: where they are, what they are signed in with, how they are set. */
import { lstat, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { passedOn } from '../../core/access/toolchains.ts';
import { pricesFor } from '../../core/money/prices.ts';
import type { AgentPolicy } from '../../core/policy.ts';
import type { Access } from '../../core/role.ts';
import type { Failure, TurnRequest, UsageReport } from '../agent.ts';
import { failureOfLogin, findCredential, kindOf, shown } from '../claude/credential.ts';
import { codexAccount } from '../codex/account.ts';
import {
  failureOfLogin as failureOfCodexLogin,
  findCredential as findCodexCredential,
  putCredential,
  removeLogin,
  shown as shownToCodex,
} from '../codex/credential.ts';
import { brokeOff, turnError } from '../codex/failure.ts';
import { codexOf } from '../codex/program.ts';
import { lastEnd } from '../codex/recorded-failure.ts';
import { blindText, sandboxed } from '../codex/sandbox.ts';
import { configFile, PLANTED } from '../codex/settings.ts';
import { recordedTotals } from '../codex/thread.ts';
import { credentialIn, heldIn } from '../held-keys.ts';
import { installHint } from '../install-hint.ts';
import { opencodeAccount } from '../opencode/account.ts';
import { watchCalls } from '../opencode/asked.ts';
import { recordedFailure as failureInOpencode } from '../opencode/failure.ts';
import { refusedWorkspace } from '../opencode/plugins.ts';
import {
  findProvider,
  kindOf as kindOfProvider,
  modelParts,
  notSignedIn,
  shown as shownToOpencode,
} from '../opencode/provider.ts';
import { recordOf } from '../opencode/record.ts';
import { databaseOf, prepareSession } from '../opencode/session.ts';
import {
  findOpencode,
  NO_MODEL,
  notInstalled,
  OFFLINE,
  opencodeConfig,
  removeUserSettings,
} from '../opencode/settings.ts';
import type { Passage } from '../passage.ts';
import { type Environment, isOlder, onPath } from '../program-path.ts';
import { ownFolder, removePlanted, replaceFile } from '../replace-file.ts';
import { unlessStrange } from '../stranger-files.ts';
import { toldLedger } from '../told-ledger.ts';
import type { ToolDialogue } from '../tool-dialogue.ts';
import { turnEnvironment } from '../turn-place.ts';
import { claudeRecorder } from './claude-record.ts';
import { isUnexplained } from './failure.ts';
import { geminiRecorder, heldGemini, NOT_SIGNED_IN as NO_GEMINI, setUpGemini } from './gemini.ts';
import { readSession } from './session.ts';

/** A program that is there and signed in, or what is missing: a program, or somebody who pays for it. */
type Equipped = Equipment | string | { unsigned: string };

export interface Equipment {
  argv: readonly string[];
  /** What it needs to be let ask its model. */
  credential: 'key' | 'login' | 'none' | 'other';
  /** Makes what the program needs in the session's directory; returns its part of the environment. */
  setUp(
    turn: TurnRequest,
    tools: ToolDialogue | null,
    route: Passage['route'],
  ): Promise<Record<string, string>>;
  /** It is told of the host's tools when it is furnished, not as of a server. */
  toolsInSettings?: boolean;
  /** Its model is one of its settings too; asked for in a session, it would be tried out first. */
  modelInSettings?: boolean;
  /** A command that succeeds where whoever only reads could read, and what to say when it fails. */
  reading?: { argv: readonly string[]; blind(said: string): string };
  /** Where the program has modes. */
  mode?(access: Access): string;
  /** What `session/new` and `session/load` are told besides. */
  meta?: Record<string, unknown>;
  /** For a program whose own record tells more of what it used than its answers. */
  recorder?(turn: TurnRequest, report: (delta: UsageReport) => void): Promise<Recorder>;
  /** Of a program that is signed in by a login, which may end in the middle of a turn. */
  failureOfLogin?(failure: Failure, now: number): Failure;
  /** It answers that a session is loaded before it has replayed all of it. */
  replaysLate?: boolean;
}

export interface Recorder {
  /** Tells what the record has by now, each call of the model once. */
  read(): Promise<void>;
  /** What the program told on the way: an update of the session. */
  hear?(update: unknown): void;
  /** When its prompt is over: until it has told what it still has to tell, or for a short while. */
  lastWords?(): Promise<void>;
  /** After the program has ended: what it told beyond its record. */
  close?(): Promise<void>;
  /** Then: nothing was charged that nobody told. */
  isComplete(): boolean;
  /** Then: why the turn failed, given what the program itself said of it; null when it said that it is done. */
  failure?(said: Failure | null): Failure | null;
}

export const PRESETS = ['claude-agent-acp', 'codex-acp', 'opencode', 'gemini'] as const;
export type Preset = (typeof PRESETS)[number];

export async function equip(
  { preset, command, model, env }: Pick<AgentPolicy, 'preset' | 'command' | 'model' | 'env'>,
  operator: Environment,
  now: number,
): Promise<Equipped> {
  if (preset !== null && isPreset(preset)) return KNOWN[preset](operator, model, now);
  // Who pays for it is its own affair, unless it is by a key that it is given.
  if (command !== null)
    return {
      argv: ['/bin/sh', '-c', `exec ${command}`],
      credential: credentialIn({ ...passedOn(operator, env.pass), ...env.set }),
      setUp: async (turn, _, route) => heldIn(turnEnvironment(turn), route),
    };
  return `agent.preset is not set: the agent \`acp\` needs one of ${PRESETS.join(', ')}, or agent.command with a program that speaks ACP on stdin and stdout`;
}

export const isPreset = (name: string): name is Preset => (PRESETS as readonly string[]).includes(name);

const KNOWN: Record<Preset, (operator: Environment, model: string | null, now: number) => Promise<Equipped>> =
  {
    async 'claude-agent-acp'(operator, model, now) {
      const argv = await programOf('claude-agent-acp', operator);
      if (!argv) return missing('claude-agent-acp');
      const credential = await findCredential(operator, now);
      if (typeof credential === 'string') return { unsigned: credential };
      return {
        argv,
        credential: kindOf(credential),
        mode: () => 'default',
        failureOfLogin: (failure, at) => failureOfLogin(failure, credential, at),
        modelInSettings: true,
        // Nothing that the branch brings along configures the agent that works on it.
        meta: {
          claudeCode: {
            options: {
              settingSources: [],
              strictMcpConfig: true,
              promptSuggestions: false,
              ...(model !== null && { model }),
            },
          },
        },
        setUp: async (turn, _, route) => ({
          ...shown(credential, route),
          CLAUDE_CONFIG_DIR: await folder(turn, 'claude'),
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
          CLAUDE_CODE_MAX_RETRIES: '3',
          DISABLE_AUTOUPDATER: '1',
          ...(process.getuid?.() === 0 && { IS_SANDBOX: '1' }),
        }),
        recorder: (turn, report) => claudeRecorder(turn, recordsIn(turn), report),
      };
    },

    async 'codex-acp'(operator, model, now) {
      const argv = await programOf('codex-acp', operator);
      if (!argv) return missing('codex-acp');
      const codex = await codexOf(argv.at(-1) ?? '');
      const credential = await findCodexCredential(operator, now);
      if (typeof credential === 'string') return { unsigned: credential };
      return {
        argv,
        credential: 'key' in credential ? 'key' : 'login',
        ...(codex && { reading: { argv: sandboxed(codex, 'test', '-r', '.'), blind: blindText } }),
        // Its other modes make the workspace's .git unwritable.
        mode: ({ tools }) => (tools === 'work' ? 'agent-full-access' : 'read-only'),
        failureOfLogin: (failure, at) => failureOfCodexLogin(failure, credential, at),
        async setUp(turn, _, route) {
          // It declares the workspace trusted, whatever it is told, and its Codex then heeds what is there.
          if (await lstat(join(turn.cwd, '.codex')).catch(() => null))
            throw new Error(
              'the workspace has .codex, which codex-acp would heed, servers and hooks that the branch may have changed included, so it was not started. Use `agent.kind: codex`, which does not',
            );
          const home = await folder(turn, 'codex');
          const { credential: given, baseUrl } = shownToCodex(credential, operator, route);
          removePlanted(home, PLANTED);
          replaceFile(join(home, 'config.toml'), await configFile(baseUrl, given, turn, []));
          return {
            ...(await putCredential(given, home, now)),
            CODEX_HOME: home,
            NO_BROWSER: '1',
            ...(model !== null && { CODEX_CONFIG: JSON.stringify({ model }) }),
          };
        },
        async recorder(turn, report) {
          const account = await codexAccount(turn, pricesFor(turn.policy), () => model ?? 'unknown', report);
          const before = await unlessStrange(lastEnd(recordsIn(turn)));
          let end = before;
          let isComplete = true;
          return {
            hear(update) {
              const { data } = codexTold.safeParse(update);
              if (data && brokeOff(data._meta.codex.error)) isComplete = false;
            },
            isComplete: () => isComplete,
            async read() {
              for (const { thread, total } of await recordedTotals(recordsIn(turn)))
                account.see(thread, total);
              await account.settle();
            },
            async close() {
              await removeLogin(await folder(turn, 'codex'));
              end = await unlessStrange(lastEnd(recordsIn(turn)));
            },
            failure: () => (end !== null && end.turn !== before?.turn ? end.failure : null),
          };
        },
      };
    },

    async opencode(operator, model, now) {
      const argv = await programOf('opencode', operator);
      if (!argv) return notInstalled();
      const parts = model === null ? null : modelParts(model);
      if (model === null || !parts) return NO_MODEL;
      const provider = await findProvider(parts.providerID, operator);
      if (!provider) return { unsigned: notSignedIn(parts.providerID) };
      return {
        argv: [...argv, 'acp'],
        credential: kindOfProvider(provider, parts.modelID),
        async setUp(turn, _, route) {
          const refused = await refusedWorkspace(turn.cwd);
          if (refused !== null) throw new Error(refused);
          await prepareSession(turn.sessionDir);
          removeUserSettings(turn);
          const given = shownToOpencode(provider, parts.modelID, route);
          return {
            ...given.env,
            ...OFFLINE,
            OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(turn, model, given, [])),
            OPENCODE_DB: databaseOf(turn.sessionDir),
          };
        },
        // The end of a prompt tells its last call only.
        async recorder(turn, report) {
          const ledger = await toldLedger(turn.sessionDir, turn.number);
          const account = opencodeAccount(pricesFor(turn.policy), ledger, report);
          let failure: Failure | null = null;
          const read = async () => {
            account.seeAll((await unlessStrange(recordOf(turn.sessionDir))) ?? []);
            await ledger.settle(account.told());
          };
          await read();
          const calls = await watchCalls(turn.home, account);
          const session = async () => (await readSession(turn.sessionDir))?.session ?? '';
          let isComplete = false;
          return {
            read,
            lastWords: async () => calls.ended(await session()),
            async close() {
              isComplete = await calls.areTold(await session());
              failure = failureInOpencode((await unlessStrange(recordOf(turn.sessionDir))) ?? [], now);
            },
            failure: (said) => (isUnexplained(said) ? failure : null),
            isComplete: () => isComplete,
          };
        },
      };
    },

    async gemini(operator, model) {
      const argv = await programOf('gemini', operator);
      if (!argv) return missing('gemini');
      if (!operator.GEMINI_API_KEY) return { unsigned: NO_GEMINI };
      return {
        argv: [...argv, '--acp', ...(model === null ? [] : ['--model', model])],
        credential: 'key',
        mode: () => 'default',
        replaysLate: true,
        toolsInSettings: true,
        setUp: async (turn, tools, route) =>
          setUpGemini(
            turn,
            await folder(turn, 'gemini'),
            { ...operator, ...heldGemini(operator, route) },
            tools,
          ),
        recorder: async (turn, report) => geminiRecorder(turn, await folder(turn, 'gemini'), report),
      };
    },
  };

/** Beside an update, an error of its provider that Codex gets over by asking again. */
const codexTold = z.object({ _meta: z.object({ codex: z.object({ error: turnError }) }) });

const recordsIn = ({ sessionDir }: Pick<TurnRequest, 'sessionDir'>): string => join(sessionDir, 'acp');

/** Where the program keeps what it knows of the session; the same when it is resumed. */
async function folder({ sessionDir }: TurnRequest, name: string): Promise<string> {
  const path = join(recordsIn({ sessionDir }), name);
  ownFolder(recordsIn({ sessionDir }));
  ownFolder(path);
  return path;
}

/** What to install for each, at the version it is tried with. */
const PACKAGES: Record<Exclude<Preset, 'opencode'>, { name: string; version: string; node?: string }> = {
  'claude-agent-acp': { name: '@agentclientprotocol/claude-agent-acp', version: '0.99.1', node: '>=22' },
  'codex-acp': { name: '@agentclientprotocol/codex-acp', version: '2.6.0' },
  gemini: { name: '@google/gemini-cli', version: '0.61.0' },
};

function missing(preset: Exclude<Preset, 'opencode'>): string {
  const { name, version, node = '' } = PACKAGES[preset];
  const { node: running } = process.versions;
  const older = isOlder(running, node) ? `. It asks for Node ${node}, and this is ${running}` : '';
  return `the preset \`${preset}\` needs ${name}, which is neither installed beside forge-loop nor on the PATH: ${installHint([`${name}@${version}`])}${older}`;
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
