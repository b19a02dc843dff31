import { afterAll } from 'vitest';
import { agentContract, dialogueContract } from '../src/agent/contract.ts';
import { startLlm } from '../test/support/llm/server.ts';
import { realClaude } from './claude.ts';

const llm = await startLlm({ rules: [] });
afterAll(() => llm.close());

agentContract('claude', realClaude(llm));
dialogueContract('claude', realClaude(llm));
