import { afterAll } from 'vitest';
import { agentContract } from '../src/agent/contract.ts';
import { startLlm } from '../test/support/llm/server.ts';
import { realAcp } from './acp.ts';
import { withBubblewrap } from './with-bubblewrap.ts';

const llm = await startLlm({ rules: [] }, { asides: 'free' });
afterAll(() => llm.close());

agentContract('acp, claude-agent-acp', realAcp(llm, 'claude-agent-acp'));
agentContract('acp, codex-acp', realAcp(llm, 'codex-acp'));

withBubblewrap(() => {
  agentContract('acp, claude-agent-acp', realAcp(llm, 'claude-agent-acp'), 'bwrap');
  agentContract('acp, codex-acp', realAcp(llm, 'codex-acp'), 'bwrap');
});
