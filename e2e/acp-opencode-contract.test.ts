import { afterAll } from 'vitest';
import { agentContract } from '../src/agent/contract.ts';
import { startLlm } from '../test/support/llm/server.ts';
import { realAcp } from './acp.ts';
import { withBubblewrap } from './with-bubblewrap.ts';

const llm = await startLlm({ rules: [] });
afterAll(() => llm.close());

agentContract('acp, opencode', realAcp(llm, 'opencode'));

withBubblewrap(() => {
  agentContract('acp, opencode', realAcp(llm, 'opencode'), 'bwrap');
});
