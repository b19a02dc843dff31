/** The real OpenCode, pointed at a scripted model. */
import { fileURLToPath } from 'node:url';
import type { AgentUnderTest } from '../src/agent/contract.ts';
import { opencodeAgent } from '../src/agent/opencode/opencode.ts';
import { recordOf } from '../src/agent/opencode/record.ts';
import type { Sandbox } from '../src/sandbox/sandbox.ts';
import { repliesFor } from '../test/support/llm/acts.ts';
import type { Llm } from '../test/support/llm/server.ts';
import { hostParts } from '../test/support/programs.ts';

/** The protocol its provider speaks: each tells usage in its own way. */
export type Speech = 'chat' | 'messages';

const NPM = { chat: '@ai-sdk/openai-compatible', messages: '@ai-sdk/anthropic' } as const;

export const opencodeModel = (speech: Speech): string => `loop-${speech}/m-1`;

const packagePath = fileURLToPath(new URL('./node_modules/opencode-ai/bin/opencode.exe', import.meta.url));

/** It lives for seconds here: optimizing its code for hours of work was a seventh of its time. */
const QUICK_START = ['env', 'BUN_JSC_useFTLJIT=0', packagePath];

/** As an operator sets up a provider of their own: in opencode's configuration, its key in the environment. */
export const opencodeOperator = (llm: Llm): Record<string, string> => ({
  LOOP_KEY: 'sk-test',
  OPENCODE_CONFIG_CONTENT: JSON.stringify({
    provider: Object.fromEntries(
      (['chat', 'messages'] as const).map((speech) => [
        `loop-${speech}`,
        {
          npm: NPM[speech],
          name: speech,
          options: { baseURL: `${llm.url}/v1`, apiKey: '{env:LOOP_KEY}' },
          models: { 'm-1': { name: 'm-1', limit: { context: 200_000, output: 8_000 } } },
        },
      ]),
    ),
  }),
});

export function realOpencode(llm: Llm, speech: Speech, more: Record<string, string> = {}): AgentUnderTest {
  const operator = { ...opencodeOperator(llm), ...more };
  const make = (sandbox?: Sandbox) =>
    opencodeAgent({ ...hostParts(sandbox, operator), operator, now: Date.now, program: QUICK_START });
  return {
    agent: make(),
    confinedBy: make,
    async performing(acts) {
      llm.play({ rules: [{ replies: repliesFor(acts) }] });
      return { model: opencodeModel(speech) };
    },
    remembered: promptsIn,
    runner: { packagePath, operator },
  };
}

async function promptsIn(sessionDir: string): Promise<string> {
  const record = await recordOf(sessionDir);
  return record.flatMap(({ parts }) => parts.map(({ text }) => text ?? '')).join('\n');
}
