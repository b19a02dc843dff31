/** A turn of the coder's as a person's program is started for it, in scratch folders. */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TurnRequest } from '../../src/agent/agent.ts';
import type { AgentPolicy } from '../../src/core/policy.ts';
import { testPolicy } from './policy.ts';

export function attachableTurn(policy: Partial<AgentPolicy>): TurnRequest {
  const folder = mkdtempSync(join(tmpdir(), 'attach-'));
  const at = (name: string): string => join(folder, name);
  for (const name of ['work', 'session', 'home']) mkdirSync(at(name));
  return {
    task: 't1',
    role: 'coder',
    number: 0,
    cwd: at('work'),
    prompt: '',
    sessionId: '4f1c2ab9-0000-4000-8000-000000000000',
    sessionDir: at('session'),
    resume: true,
    policy: { ...testPolicy().agents.coder, ...policy },
    access: { readRoots: [], writeRoots: [at('work')], network: 'host', tools: 'work', sandbox: 'none' },
    identity: { name: 'Ann', email: 'ann@example.com' },
    home: at('home'),
    logPath: at('log'),
    mark: 't1',
  };
}
