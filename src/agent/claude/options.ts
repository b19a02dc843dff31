/** What Claude is told besides the prompt: whom it works as, where, with which tools, and what is refused. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { TOOL_SERVER } from '../../core/policy.ts';
import { READER } from '../../core/words/prompts.ts';
import type { Progress, TurnHooks, TurnRequest, TurnTools } from '../agent.ts';
import type { GrantedServer } from '../mcp-servers.ts';
import { mayRoam } from '../passage.ts';
import { QUESTION_REFUSED, refusedPath } from '../refusal.ts';
import { skillPlugin } from '../skills.ts';
import { fromTrunk, turnEnvironment } from '../turn-place.ts';
import {
  type ClaudeOptions,
  type ClaudeSdk,
  EFFORTS,
  type Effort,
  type StdioServer,
  type ToolDecision,
  type ToolServer,
} from './sdk.ts';
import { configDir } from './transcript.ts';

export type PlainOptions = Omit<ClaudeOptions, 'spawnClaudeCodeProcess' | 'abortController'>;

export function claudeOptions(
  turn: TurnRequest,
  credential: Record<string, string>,
  { onProgress, tools }: Pick<TurnHooks, 'onProgress' | 'tools'>,
  sdk: ClaudeSdk,
  servers: readonly GrantedServer[],
): PlainOptions {
  const onlyReads = turn.access.tools === 'read';
  return {
    cwd: turn.cwd,
    env: claudeEnvironment(turn, credential),
    ...(turn.policy.model !== null && { model: turn.policy.model }),
    ...(turn.policy.effort !== null && { effort: effortOf(turn.policy.effort) }),
    mcpServers: {
      ...(tools && { [TOOL_SERVER]: toolServer(sdk, tools) }),
      ...Object.fromEntries(servers.map(stdioServer)),
    },
    ...(turn.resume ? { resume: turn.sessionId } : { sessionId: turn.sessionId }),
    // Nothing that the branch brings along configures the agent that works on it.
    settingSources: [],
    strictMcpConfig: true,
    ...(turn.skill && { plugins: [{ type: 'local', path: skillPlugin(turn.skill) }] }),
    // Recorded once and sent again byte for byte, so that a resumed session reads its cache.
    systemPrompt: onlyReads
      ? READER
      : {
          type: 'preset',
          preset: 'claude_code',
          snapshot: true,
          ...(turn.conventions && { append: fromTrunk(turn.conventions) }),
        },
    // Nobody is there to be asked; what is refused is refused by the hook, which this mode does not skip.
    permissionMode: 'bypassPermissions',
    allowDangerouslySkipPermissions: true,
    ...(onlyReads && { tools: READING }),
    disallowedTools: [...NEEDS_A_PERSON, ...(mayRoam(turn) ? [] : OF_PROVIDER)],
    includePartialMessages: true,
    ...(turn.outputSchema && { outputFormat: { type: 'json_schema', schema: plain(turn.outputSchema) } }),
    hooks: { PreToolUse: [{ hooks: [guard(turn, onProgress)] }] },
  };
}

export function claudeEnvironment(
  turn: TurnRequest,
  credential: Record<string, string>,
): Record<string, string> {
  return turnEnvironment(turn, {
    ...credential,
    CLAUDE_CONFIG_DIR: configDir(turn.sessionDir),
    CLAUDE_CODE_TMPDIR: join(turn.home, 'tmp'),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    // What runs on in the background would outlive the turn's result, and be killed with it.
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
    // The loop retries turns with a wait that it writes down; ten retries inside one would hide it for minutes.
    CLAUDE_CODE_MAX_RETRIES: '3',
    CLAUDE_AGENT_SDK_CLIENT_APP: 'forge-loop',
    // It refuses to work unattended as root unless it is told that this is meant.
    ...(process.getuid?.() === 0 && { IS_SANDBOX: '1' }),
  });
}

/** In our own process, and always in the prompt: a tool that has to be searched for is not used. */
function toolServer(sdk: ClaudeSdk, tools: TurnTools): ToolServer {
  return sdk.createSdkMcpServer({
    name: TOOL_SERVER,
    alwaysLoad: true,
    tools: tools.list.map(({ name, description, shape }) =>
      sdk.tool(name, description, shape, async (input) => {
        const { text, isError } = await tools.call(name, input);
        return { content: [{ type: 'text', text }], isError };
      }),
    ),
  });
}

/** Always in the prompt, as ours is. */
const stdioServer = ({ name, command, args }: GrantedServer): [string, StdioServer] => [
  name,
  { type: 'stdio', command, args, alwaysLoad: true },
];

export function effortOf(said: string): Effort {
  const known = EFFORTS.find((one) => one === said);
  if (known) return known;
  throw new Error(`agent.effort is "${said}", which Claude does not know: say one of ${EFFORTS.join(', ')}`);
}

/** A schema that names its dialect ends the program before it begins. */
function plain({ $schema: _, ...schema }: Record<string, unknown>): Record<string, unknown> {
  return schema;
}

const READING = ['Read', 'Grep', 'Glob'];
/** Anthropic would search for it, which the gateway refuses. */
export const OF_PROVIDER = ['WebSearch'];
const NEEDS_A_PERSON = [
  'AskUserQuestion',
  'EnterPlanMode',
  'ExitPlanMode',
  'EnterWorktree',
  'ExitWorktree',
  'CronCreate',
  'CronDelete',
  'CronList',
  'ScheduleWakeup',
  'RemoteTrigger',
  'PushNotification',
  'SendUserFile',
];

/** A tool that waits for somebody, or leaves the turn. */
export const needsAPerson = (tool: string): boolean => NEEDS_A_PERSON.includes(tool);

const toolCall = z.object({
  tool_name: z.string(),
  tool_input: z.looseObject({
    file_path: z.string().optional(),
    notebook_path: z.string().optional(),
  }),
});

const WRITING = ['Write', 'Edit', 'MultiEdit', 'NotebookEdit'];

/** A call that can't be read is refused, like one that must not be. */
function guard(turn: TurnRequest, onRefused: (refusal: Extract<Progress, { kind: 'refused' }>) => void) {
  const roots = [...turn.access.writeRoots, tmpdir()];
  return async (input: unknown): Promise<ToolDecision> => {
    const { data } = toolCall.safeParse(input);
    const tool = data?.tool_name ?? 'unknown';
    const { file_path, notebook_path } = data?.tool_input ?? {};
    const path = file_path ?? notebook_path;
    const asksAPerson = needsAPerson(tool);
    const why = !data
      ? 'the call could not be read'
      : asksAPerson
        ? QUESTION_REFUSED.why
        : WRITING.includes(tool) && path !== undefined
          ? refusedPath(path, turn.cwd, roots)
          : null;
    if (why === null) return {};
    const code = data ? 'path' : 'permission';
    // A question is told as soon as it is seen, whoever refuses it.
    if (!asksAPerson) onRefused({ kind: 'refused', code, tool, detail: (path ?? '').slice(0, 500), why });
    return {
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
        permissionDecisionReason: why,
      },
    };
  };
}
