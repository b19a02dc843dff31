import { afterAll } from 'vitest';
import { agentContract } from '../src/agent/contract.ts';
import { startLlm } from '../test/support/llm/server.ts';
import { realOpencode } from './opencode.ts';
import { withBubblewrap } from './with-bubblewrap.ts';

const llm = await startLlm({ rules: [] });
afterAll(() => llm.close());

agentContract('opencode', realOpencode(llm, 'messages'));

withBubblewrap(() => {
  agentContract('opencode', realOpencode(llm, 'messages'), 'bwrap');
});
