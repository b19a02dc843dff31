/**
 * What we use of Claude's Agent SDK, in our own words: the package is large and proprietary, so it is the user's to
 * install, and nothing of it is needed to build or to run other agents. `npm run test:agents` holds this file against
 * the real declarations.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { installHint } from '../install-hint.ts';

const CLAUDE_PACKAGE = '@anthropic-ai/claude-agent-sdk';
/** The version these words were learned from and are tested with. */
const CLAUDE_VERSION = '0.3.325';

export interface ClaudeSdk {
  query(params: { prompt: AsyncIterable<UserMessage>; options: ClaudeOptions }): ClaudeQuery;
  createSdkMcpServer(options: { name: string; alwaysLoad: boolean; tools: ToolDefinition[] }): ToolServer;
  tool(
    name: string,
    description: string,
    shape: Record<string, z.ZodType>,
    handler: (input: Record<string, unknown>) => Promise<ToolOutcome>,
  ): ToolDefinition;
}

export type ToolOutcome = { content: { type: 'text'; text: string }[]; isError: boolean };

/** What `createSdkMcpServer` makes; ours to pass on, not to look into. */
export interface ToolServer {
  type: 'sdk';
  name: string;
  instance: unknown;
}

export interface StdioServer {
  type: 'stdio';
  command: string;
  args: string[];
  alwaysLoad: boolean;
}

interface ToolDefinition {
  name: string;
}

export const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

export interface ClaudeQuery extends AsyncIterable<unknown> {
  interrupt(): Promise<unknown>;
}

export interface UserMessage {
  type: 'user';
  message: { role: 'user'; content: string };
  parent_tool_use_id: null;
}

export interface ClaudeOptions {
  cwd: string;
  /** Replaces the whole environment. */
  env: Record<string, string>;
  model?: string;
  effort?: Effort;
  mcpServers: Record<string, ToolServer | StdioServer>;
  sessionId?: string;
  resume?: string;
  settingSources: ('user' | 'project' | 'local')[];
  strictMcpConfig: boolean;
  plugins?: { type: 'local'; path: string }[];
  systemPrompt: string | { type: 'preset'; preset: 'claude_code'; snapshot: boolean; append?: string };
  permissionMode: 'bypassPermissions';
  allowDangerouslySkipPermissions: boolean;
  tools?: string[];
  disallowedTools: string[];
  includePartialMessages: boolean;
  outputFormat?: { type: 'json_schema'; schema: Record<string, unknown> };
  hooks: { PreToolUse: { hooks: ToolHook[] }[] };
  abortController: AbortController;
  spawnClaudeCodeProcess(options: SpawnOptions): SpawnedProcess;
}

type ToolHook = (input: unknown) => Promise<ToolDecision>;

export interface ToolDecision {
  hookSpecificOutput?: {
    hookEventName: 'PreToolUse';
    permissionDecision: 'deny';
    permissionDecisionReason: string;
  };
}

interface SpawnOptions {
  command: string;
  args: string[];
  cwd?: string;
  env: Record<string, string | undefined>;
}

export interface SpawnedProcess {
  stdin: Writable;
  stdout: Readable;
  readonly killed: boolean;
  readonly exitCode: number | null;
  kill(signal: NodeJS.Signals): boolean;
  on(event: 'exit', listener: (code: number | null, signal: NodeJS.Signals | null) => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  once(event: 'exit', listener: (code: number | null, signal: NodeJS.Signals | null) => void): void;
  once(event: 'error', listener: (error: Error) => void): void;
  off(event: 'exit', listener: (code: number | null, signal: NodeJS.Signals | null) => void): void;
  off(event: 'error', listener: (error: Error) => void): void;
}

/** Null when it is not installed beside us. */
export async function installedVersion(): Promise<string | null> {
  try {
    const main = createRequire(import.meta.url).resolve(CLAUDE_PACKAGE);
    const manifest = z.object({ version: z.string() });
    return manifest.parse(JSON.parse(await readFile(join(dirname(main), 'package.json'), 'utf8'))).version;
  } catch {
    return null;
  }
}

/** The program that the SDK starts; throws when it can't be found. */
export function claudeProgram(): string {
  const sdk = createRequire(createRequire(import.meta.url).resolve(CLAUDE_PACKAGE));
  const platform = `${CLAUDE_PACKAGE}-${process.platform}-${process.arch}`;
  for (const name of [platform, `${platform}-musl`]) {
    try {
      return join(dirname(sdk.resolve(`${name}/package.json`)), 'claude');
    } catch {
      // The other one, then.
    }
  }
  throw new Error(`${platform} is not installed: it has the program that ${CLAUDE_PACKAGE} starts`);
}

/** Rejects, with what to install, when it is not there. */
export async function loadClaude(): Promise<ClaudeSdk> {
  try {
    return (await import(CLAUDE_PACKAGE)) as ClaudeSdk;
  } catch (error) {
    throw new Error(
      `the agent \`claude\` needs ${CLAUDE_PACKAGE}, which is not installed beside forge-loop: ${installHint([`${CLAUDE_PACKAGE}@${CLAUDE_VERSION}`])} (about 400 MB)`,
      { cause: error },
    );
  }
}
