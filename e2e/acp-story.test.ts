import { acpOperator } from './acp.ts';
import { CODEX_MODEL } from './codex.ts';
import { realStory } from './story.ts';

realStory({
  kind: 'acp',
  preset: 'codex-acp',
  model: CODEX_MODEL,
  env: (llm) => acpOperator(llm, 'codex-acp'),
  // The protocol has no word for when a limit ends.
  tellsLimits: false,
});
