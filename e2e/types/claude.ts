/** Our words for the SDK, held against its own: what we pass must be what it takes. Only compiled, never run. */
import type * as real from '@anthropic-ai/claude-agent-sdk';
import type { ClaudeOptions, ClaudeQuery, ClaudeSdk, UserMessage } from '../../src/agent/claude/sdk.ts';

export const options = (given: ClaudeOptions): real.Options => given;
export const message = (given: UserMessage): real.SDKUserMessage => given;
export const query = (given: real.Query): ClaudeQuery => given;
export const sdk = (given: typeof real): ClaudeSdk => given;
