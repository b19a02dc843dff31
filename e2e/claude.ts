/** The real Claude, pointed at a scripted model. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { claudeAgent } from '../src/agent/claude/claude.ts';
import type { ClaudeSdk } from '../src/agent/claude/sdk.ts';
import { configDir } from '../src/agent/claude/transcript.ts';
import type { AgentUnderTest } from '../src/agent/contract.ts';
import type { Sandbox } from '../src/sandbox/sandbox.ts';
import { repliesFor } from '../test/support/llm/acts.ts';
import type { Llm } from '../test/support/llm/server.ts';
import { hostParts } from '../test/support/programs.ts';

export const CLAUDE_MODEL = 'claude-sonnet-4-5';

const packagePath = fileURLToPath(
  new URL('./node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs', import.meta.url),
);

export function realClaude(llm: Llm, more: Record<string, string> = {}): AgentUnderTest {
  const operator = { ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: llm.url, ...more };
  const make = (sandbox?: Sandbox) =>
    claudeAgent({
      ...hostParts(sandbox, operator),
      operator,
      now: Date.now,
      load: () => import(packagePath) as Promise<ClaudeSdk>,
    });
  return {
    agent: make(),
    confinedBy: make,
    async performing(acts) {
      llm.play({ rules: [{ replies: repliesFor(acts) }] });
      return { model: CLAUDE_MODEL };
    },
    remembered: transcriptOf,
    runner: { packagePath, operator },
  };
}

async function transcriptOf(sessionDir: string): Promise<string> {
  const folder = join(configDir(sessionDir), 'projects');
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.jsonl'));
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}
