/** Our words for the SDK, held against its own: what we pass must be what it takes. Only compiled, never run. */
import type * as real from '@anthropic-ai/claude-agent-sdk';
import type {
  ClaudeOptions,
  ClaudeQuery,
  ClaudeSdk,
  ToolOutcome,
  ToolServer,
  UserMessage,
} from '../../src/agent/claude/sdk.ts';

/** A tool server is the SDK's own and only handed back to it. */
export const options = ({ mcpServers: _, ...given }: ClaudeOptions): real.Options => given;
export const server = (given: ReturnType<typeof real.createSdkMcpServer>): ToolServer => given;
type ToolResult = Awaited<ReturnType<Parameters<typeof real.tool>[3]>>;
export const outcome = (given: ToolOutcome): ToolResult => given;
export const message = (given: UserMessage): real.SDKUserMessage => given;
export const query = (given: real.Query): ClaudeQuery => given;
export const tool = (given: Pick<typeof real, 'tool'>): Pick<ClaudeSdk, 'tool'> => given;
