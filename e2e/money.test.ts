import { ACP_MODEL, realAcp } from './acp.ts';
import { CLAUDE_MODEL, realClaude } from './claude.ts';
import { CODEX_MODEL, realCodex } from './codex.ts';
import { moneyContract, priced } from './money.ts';

moneyContract('claude', (llm) => ({ real: realClaude(llm), policy: { model: CLAUDE_MODEL } }));
moneyContract('codex', (llm) => ({ real: realCodex(llm), policy: priced(CODEX_MODEL) }));
for (const preset of ['claude-agent-acp', 'codex-acp', 'gemini'] as const)
  moneyContract(`acp, ${preset}`, (llm) => ({
    real: realAcp(llm, preset),
    policy: {
      preset,
      ...(preset === 'claude-agent-acp' ? { model: ACP_MODEL[preset] } : priced(ACP_MODEL[preset])),
    },
    losesStopped: preset === 'gemini',
  }));
