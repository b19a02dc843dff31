import { afterAll } from 'vitest';
import { agentContract, dialogueContract } from '../src/agent/contract.ts';
import { startLlm } from '../test/support/llm/server.ts';
import { realAcp } from './acp.ts';

const llm = await startLlm({ rules: [] });
afterAll(() => llm.close());

agentContract('acp, gemini', realAcp(llm, 'gemini'));
dialogueContract('acp, gemini', realAcp(llm, 'gemini'));
