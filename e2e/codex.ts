/** The real Codex, pointed at a scripted model. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codexAgent } from '../src/agent/codex/codex.ts';
import { codexHome } from '../src/agent/codex/thread.ts';
import type { AgentUnderTest } from '../src/agent/contract.ts';
import { openDialogue } from '../src/process/dialogue.ts';
import { repliesFor } from '../test/support/llm/acts.ts';
import type { Llm } from '../test/support/llm/server.ts';

export const CODEX_MODEL = 'gpt-5.2-codex';

const packagePath = fileURLToPath(new URL('./node_modules/@openai/codex/bin/codex.js', import.meta.url));

export function realCodex(llm: Llm, more: Record<string, string> = {}): AgentUnderTest {
  const operator = { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: `${llm.url}/v1`, ...more };
  return {
    agent: codexAgent({ open: openDialogue, operator, program: [process.execPath, packagePath] }),
    async performing(acts) {
      llm.play({ rules: [{ replies: repliesFor(acts) }] });
      return { model: CODEX_MODEL };
    },
    remembered: recordOf,
    runner: { packagePath, operator },
  };
}

async function recordOf(sessionDir: string): Promise<string> {
  const folder = join(codexHome(sessionDir), 'sessions');
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.jsonl'));
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}
