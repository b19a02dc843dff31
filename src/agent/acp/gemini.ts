/**
 * Gemini CLI over ACP: how it is set, and its own record of a conversation.
 *
 * Its answers tell tokens without what was read from the cache; the record has every message, written before its tools
 * are run, and what is not in the record is told when the turn is over. Loading a session within the minute it began in overwrites that record, because both are named by the
 * minute: so the record is put aside under a name of its own first, where it is found all the same.
 */
import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { restKey } from '../../core/money/cost.ts';
import { costOf, pricesFor } from '../../core/money/prices.ts';
import type { Access } from '../../core/role.ts';
import type { Failure, TurnRequest, UsageReport } from '../agent.ts';
import { parsedLine, recordsBelow } from '../json-lines.ts';
import { type Passage, PLACEHOLDER } from '../passage.ts';
import type { Environment } from '../program-path.ts';
import { ownFolder, removePlanted, replaceFile } from '../replace-file.ts';
import { linesBelow } from '../stranger-files.ts';
import { toldLedger } from '../told-ledger.ts';
import type { ToolDialogue } from '../tool-dialogue.ts';
import { beyond } from './beyond-record.ts';
import { isUnexplained } from './failure.ts';
import { readTelemetry, telemetryIn } from './gemini-telemetry.ts';
import type { Recorder } from './presets.ts';

export const NOT_SIGNED_IN = 'Gemini is not signed in: set GEMINI_API_KEY in the environment of forge-loop';

/** What takes its key's place, where the gateway holds it. */
export function heldGemini(operator: Environment, route: Passage['route']): Environment {
  if (route === null) return {};
  const { GEMINI_API_KEY = '', GOOGLE_GEMINI_BASE_URL } = operator;
  const url = route({
    upstream: GOOGLE_GEMINI_BASE_URL || 'https://generativelanguage.googleapis.com',
    headers: { 'x-goog-api-key': GEMINI_API_KEY },
    speaks: ['generate'],
    asides: ['flash', 'lite'],
  });
  return { GEMINI_API_KEY: PLACEHOLDER, GOOGLE_GEMINI_BASE_URL: url };
}

/** `home` is where it keeps everything, in a folder `.gemini`. */
export async function setUpGemini(
  turn: TurnRequest,
  home: string,
  operator: Environment,
  tools: ToolDialogue | null,
): Promise<Record<string, string>> {
  const own = join(home, '.gemini');
  ownFolder(own);
  ownFolder(join(own, 'tmp'));
  if (turn.resume) await putRecordsAside(home);
  removePlanted(own, PLANTED);
  // A turn that died told nobody what is in it, but its record tells nearly all of that.
  await rm(telemetryIn(home), { recursive: true, force: true });
  const settings = {
    ...SETTINGS,
    telemetry: { enabled: true, target: 'local', outfile: telemetryIn(home), logPrompts: false },
    tools: { ...toolSettings(turn.access, tools), ...(tools && (await offeredTools(own, tools))) },
  };
  replaceFile(join(own, 'settings.json'), JSON.stringify(settings));
  const { GEMINI_API_KEY = '', GOOGLE_GEMINI_BASE_URL } = operator;
  return {
    GEMINI_API_KEY,
    ...(GOOGLE_GEMINI_BASE_URL && { GOOGLE_GEMINI_BASE_URL }),
    GEMINI_CLI_HOME: home,
    // Nothing that the branch brings along configures the agent that works on it.
    GEMINI_CLI_TRUST_WORKSPACE: 'false',
    // Else it is a process that only waits for another one.
    GEMINI_CLI_NO_RELAUNCH: '1',
  };
}

export async function geminiRecorder(
  turn: TurnRequest,
  home: string,
  report: (delta: UsageReport) => void,
): Promise<Recorder> {
  const ledger = await toldLedger(turn.sessionDir, turn.number);
  const prices = pricesFor(turn.policy);
  const told = new Set<string>();
  const recorded: UsageReport[] = [];
  let failure: Failure | null = null;
  let isComplete = false;
  // What a turn that died did not get to tell is no part of what this one's program counts.
  await read();
  recorded.length = 0;
  return {
    read,
    async close() {
      const telemetry = await readTelemetry(home, prices);
      failure = telemetry.failure;
      // It is written when the program ends: of one that could not, the record may have more.
      isComplete = telemetry.isComplete && telemetry.used.length >= Math.max(1, recorded.length);
      const rest = beyond(telemetry.used, recorded);
      if (rest) report({ key: restKey(randomUUID()), ...rest });
      ownFolder(join(home, '.gemini'));
      await rm(telemetryIn(home), { recursive: true, force: true });
    },
    failure: (said) => (isUnexplained(said) ? failure : null),
    isComplete: () => isComplete,
  };

  async function read(): Promise<void> {
    for await (const { line } of linesBelow(home, await recordsBelow(home, RECORDS))) {
      const { data } = message.safeParse(parsedLine(line));
      if (!data || told.has(data.id) || ledger.isSettled(data.id)) continue;
      told.add(data.id);
      const { id, model } = data;
      const usage = usageOf(data.tokens);
      const delta = { key: id, model, ...usage, costUsd: costOf(prices, model, usage) };
      recorded.push(delta);
      report(delta);
    }
    await ledger.settle([...told]);
  }
}

/** What it would heed in its own folder, beside its settings and its records. */
const PLANTED = [
  'GEMINI.md',
  '.env',
  'system.md',
  'agents',
  'commands',
  'extensions',
  'policies',
  'skills',
  'hooks',
];

const RECORDS = join('.gemini', 'tmp');

const count = z.number().nonnegative().catch(0);
const message = z.object({
  id: z.string(),
  type: z.literal('gemini'),
  model: z.string().catch('unknown'),
  tokens: z.object({ input: count, output: count, cached: count, thoughts: count, tool: count }),
});

/** What was read from the cache is part of its input; what its own tools sent, and thoughts, are beside the rest. */
const usageOf = ({ input, output, cached, thoughts, tool }: z.output<typeof message>['tokens']) => ({
  input: Math.max(0, input - cached) + tool,
  output,
  cacheRead: cached,
  cacheWrite: 0,
  reasoning: thoughts,
});

const NAMED_BY_MINUTE = /^session-\d{4}-.*\.jsonl$/;

async function putRecordsAside(home: string): Promise<void> {
  for (const name of await recordsBelow(home, RECORDS).catch(() => []))
    if (NAMED_BY_MINUTE.test(basename(name)))
      await rename(join(home, name), join(home, dirname(name), `session-kept-${randomUUID()}.jsonl`));
}

const SETTINGS = {
  security: { folderTrust: { enabled: true }, auth: { selectedType: 'gemini-api-key' } },
  advanced: { ignoreLocalEnv: true },
  general: {
    enableAutoUpdate: false,
    enableAutoUpdateNotification: false,
    maxAttempts: 2,
    sessionRetention: { enabled: false },
    topicUpdateNarration: false,
  },
  privacy: { usageStatisticsEnabled: false },
  // A list of files would be another one when the session is resumed, and all that follows would be paid for anew.
  context: { includeDirectoryTree: false },
  skills: { enabled: false },
  hooksConfig: { enabled: false },
  // What a subagent wants to do is asked of nobody, and waits for ever.
  experimental: { enableAgents: false },
  // It asks a model on the side, and does not tell what that used.
  model: { disableLoopDetection: true },
};

const toolSettings = ({ tools }: Access, offered: ToolDialogue | null): object => ({
  shell: { enableInteractiveShell: false, inactivityTimeout: LONGEST_SILENCE_SECONDS },
  ...(tools === 'read' && { core: [...READING, ...(offered?.names ?? []).map(discovered)] }),
});

/**
 * In a folder that it does not trust it connects to no server, but it runs commands of its own settings: one that lists
 * tools, and one program, without arguments of its own, that is called with a tool's name.
 */
async function offeredTools(own: string, { command, args }: ToolDialogue): Promise<object> {
  const words = [command, ...args].map(quoted).join(' ');
  const callCommand = join(own, 'call-tool');
  replaceFile(callCommand, `#!/bin/sh\nexec ${words} call "$1"\n`, 0o700);
  return { discoveryCommand: `${words} list`, callCommand };
}

/** As it calls a tool that it was told of by a command. */
const discovered = (name: string): string => `discovered_tool_${name}`;

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** A build may be silent for long; a turn has a limit of its own. */
const LONGEST_SILENCE_SECONDS = 86_400;
const READING = ['list_directory', 'read_file', 'read_many_files', 'grep_search', 'glob'];
