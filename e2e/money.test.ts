import type { Llm } from '../test/support/llm/server.ts';
import { ACP_MODEL, realAcp } from './acp.ts';
import { CLAUDE_MODEL, realClaude } from './claude.ts';
import { CODEX_MODEL, realCodex } from './codex.ts';
import { moneyContract, type Paid, priced } from './money.ts';
import { withBubblewrap } from './with-bubblewrap.ts';

const overAcp =
  (preset: 'claude-agent-acp' | 'codex-acp' | 'gemini') =>
  (llm: Llm): Paid => ({
    real: realAcp(llm, preset),
    policy: {
      preset,
      ...(preset === 'claude-agent-acp' ? { model: ACP_MODEL[preset] } : priced(ACP_MODEL[preset])),
    },
    losesStopped: preset === 'gemini',
  });

const AGENTS: Record<string, (llm: Llm) => Paid> = {
  claude: (llm) => ({ real: realClaude(llm), policy: { model: CLAUDE_MODEL } }),
  codex: (llm) => ({ real: realCodex(llm), policy: priced(CODEX_MODEL) }),
  'acp, claude-agent-acp': overAcp('claude-agent-acp'),
  'acp, codex-acp': overAcp('codex-acp'),
  'acp, gemini': overAcp('gemini'),
};

for (const [name, make] of Object.entries(AGENTS)) moneyContract(name, make);

withBubblewrap(() => {
  for (const [name, make] of Object.entries(AGENTS)) moneyContract(name, make, 'bwrap');
});
