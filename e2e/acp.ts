/** Real programs that speak ACP, pointed at a scripted model. */
import { fileURLToPath } from 'node:url';
import { acpAgent } from '../src/agent/acp/acp.ts';
import type { AgentUnderTest } from '../src/agent/contract.ts';
import type { Sandbox } from '../src/sandbox/sandbox.ts';
import { repliesFor } from '../test/support/llm/acts.ts';
import type { Llm } from '../test/support/llm/server.ts';
import { hostParts } from '../test/support/programs.ts';
import { CODEX_MODEL } from './codex.ts';
import { opencodeModel, opencodeOperator } from './opencode.ts';

export type Preset = 'claude-agent-acp' | 'codex-acp' | 'opencode' | 'gemini';

export const ACP_MODEL: Record<Preset, string> = {
  'claude-agent-acp': 'claude-sonnet-5',
  'codex-acp': CODEX_MODEL,
  opencode: opencodeModel('messages'),
  gemini: 'gemini-2.5-pro',
};

const installed = (path: string): string => fileURLToPath(new URL(`./node_modules/${path}`, import.meta.url));
const packagePath = installed('@agentclientprotocol/sdk/dist/v1/stable/acp.js');
const BIN = installed('.bin');

export const acpOperator = (llm: Llm, preset: Preset): Record<string, string> => ({
  PATH: `${BIN}:${process.env.PATH}`,
  ...(preset === 'claude-agent-acp' && { ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: llm.url }),
  ...(preset === 'codex-acp' && { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: `${llm.url}/v1` }),
  ...(preset === 'opencode' && opencodeOperator(llm)),
  ...(preset === 'gemini' && { GEMINI_API_KEY: 'test-key', GOOGLE_GEMINI_BASE_URL: llm.url }),
});

export function realAcp(llm: Llm, preset: Preset, more: Record<string, string> = {}): AgentUnderTest {
  const operator = { ...acpOperator(llm, preset), ...more };
  const make = (sandbox?: Sandbox) =>
    acpAgent({ ...hostParts(sandbox, operator), operator, now: Date.now, load: () => import(packagePath) });
  return {
    agent: make(),
    confinedBy: make,
    async performing(acts) {
      llm.play({ rules: [{ replies: repliesFor(acts) }] });
      return { preset, model: ACP_MODEL[preset] };
    },
    // What the model was sent is all that the agent remembers.
    remembered: async () =>
      llm.journal.findLast(({ request }) => !request.aside)?.request.texts.join('\n') ?? '',
    writesFree: preset === 'gemini',
    runner: { packagePath, operator },
  };
}
