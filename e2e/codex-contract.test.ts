import { afterAll } from 'vitest';
import { agentContract } from '../src/agent/contract.ts';
import { startLlm } from '../test/support/llm/server.ts';
import { realCodex } from './codex.ts';
import { withBubblewrap } from './with-bubblewrap.ts';

const llm = await startLlm({ rules: [] });
afterAll(() => llm.close());

agentContract('codex', realCodex(llm));

withBubblewrap(() => {
  agentContract('codex', realCodex(llm), 'bwrap');
});
