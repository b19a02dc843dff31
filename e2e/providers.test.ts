/** What each provider says on a bad night, and what we make of it, with the real programs between: docs/providers.md. */
import { describe, expect, test } from 'vitest';
import { MEANS } from '../test/support/llm/provider-errors.ts';
import { CARRIERS, type Carrier, SEEN } from '../test/support/llm/seen.ts';
import type { Llm } from '../test/support/llm/server.ts';
import { ACP_MODEL, type Preset, realAcp } from './acp.ts';
import { CLAUDE_MODEL, realClaude } from './claude.ts';
import { CODEX_MODEL, realCodex } from './codex.ts';
import { opencodeModel, realOpencode, type Speech } from './opencode.ts';
import { realStage, replies } from './real-stage.ts';

const opencode = (speech: Speech) => (llm: Llm) => ({
  real: realOpencode(llm, speech),
  policy: { model: opencodeModel(speech) },
});
const acp = (preset: Preset) => (llm: Llm) => ({
  real: realAcp(llm, preset),
  policy: { preset, model: ACP_MODEL[preset] },
});
const MAKE: Record<Carrier, Parameters<typeof realStage<[]>>[0]> = {
  claude: (llm) => ({ real: realClaude(llm), policy: { model: CLAUDE_MODEL } }),
  codex: (llm) => ({ real: realCodex(llm), policy: { model: CODEX_MODEL } }),
  'opencode, OpenAI chat': opencode('chat'),
  'opencode, Anthropic': opencode('messages'),
  'acp claude-agent-acp': acp('claude-agent-acp'),
  'acp codex-acp': acp('codex-acp'),
  'acp opencode, Anthropic': acp('opencode'),
  'acp gemini': acp('gemini'),
};

const stage = await realStage((llm, carrier: Carrier) => MAKE[carrier](llm), ['claude'], 'free');

describe.each(CARRIERS)('%s', (carrier) => {
  test.each(SEEN[carrier])('$error', async ({ error, said, code = MEANS[error] }) => {
    await stage.scripted(replies({ say: 'Let me see.', error, times: 'always' }), carrier);
    const { result } = await stage.run('Go.');
    expect(result).toMatchObject({ status: 'failed', code });
    const { message } = result as { message: string };
    expect(message.slice(0, said.length)).toBe(said);
    expect(message, 'nobody is shown a body').not.toMatch(/[{[]"/);
  });
});
