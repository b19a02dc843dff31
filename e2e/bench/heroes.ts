/** The agents that are measured, and what a token of theirs costs here. */
import type { Llm } from '../../test/support/llm/server.ts';
import { CLAUDE_MODEL } from '../claude.ts';
import { CODEX_MODEL } from '../codex.ts';

export interface Hero {
  kind: 'claude' | 'codex';
  model: string;
  /** Of WORKFLOW.md; Claude tells its own cost. */
  prices: Record<string, object>;
  /**
   * How the provider's cache is played. A new thread of Codex has a key of its own, by which the provider picks a server: it
   * finds nothing there (`apart`), or by luck the same server (`shared`). Anthropic has no such keys.
   */
  caches: readonly ('apart' | 'shared')[];
  env(llm: Llm): Record<string, string>;
}

export const HEROES: readonly Hero[] = [
  {
    kind: 'claude',
    model: CLAUDE_MODEL,
    prices: {},
    caches: ['shared'],
    env: (llm) => ({ ANTHROPIC_BASE_URL: llm.url, ANTHROPIC_API_KEY: 'sk-test' }),
  },
  {
    kind: 'codex',
    model: CODEX_MODEL,
    prices: { [CODEX_MODEL]: { input: 1.75, output: 14, cache_read: 0.175, cache_write: 1.75 } },
    caches: ['apart', 'shared'],
    env: (llm) => ({ OPENAI_BASE_URL: `${llm.url}/v1`, OPENAI_API_KEY: 'sk-test' }),
  },
];
