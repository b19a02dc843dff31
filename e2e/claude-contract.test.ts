import { afterAll } from 'vitest';
import { agentContract } from '../src/agent/contract.ts';
import { startLlm } from '../test/support/llm/server.ts';
import { realClaude } from './claude.ts';
import { withBubblewrap } from './with-bubblewrap.ts';

const llm = await startLlm({ rules: [] });
afterAll(() => llm.close());

agentContract('claude', realClaude(llm));

withBubblewrap(() => {
  agentContract('claude', realClaude(llm), 'bwrap');
});
