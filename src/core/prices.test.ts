import { expect, test } from 'vitest';
import { testPolicy } from '../../test/support/policy.ts';
import type { AgentPolicy } from './policy.ts';
import { isPriced, unpricedRoles } from './prices.ts';

const agent = (change: Partial<AgentPolicy>): AgentPolicy => ({
  ...testPolicy().agents.coder,
  model: null,
  ...change,
});
const price = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };

test.each([
  ['claude tells it', { kind: 'claude' }, true],
  ['opencode tells it', { kind: 'opencode', model: 'x/y' }, true],
  ['codex with no model named', { kind: 'codex' }, false],
  ['codex with a model that has no price', { kind: 'codex', model: 'gpt-x' }, false],
  ['codex with a price of your own', { kind: 'codex', model: 'gpt-x', prices: { 'gpt-x': price } }, true],
  [
    'a fallback model without one',
    { kind: 'codex', model: 'gpt-x', fallbackModels: ['gpt-y'], prices: { 'gpt-x': price } },
    false,
  ],
  ['a command', { kind: 'command', command: 'work' }, false],
  [
    'a command whose model has a price',
    { kind: 'command', command: 'work', model: 'claude-haiku-4-5-20251001' },
    true,
  ],
  ['an adapter of Claude', { kind: 'acp', preset: 'claude-agent-acp' }, true],
  ['an adapter of Codex', { kind: 'acp', preset: 'codex-acp' }, false],
] as const)('%s: %j', (_who, change, known) => {
  expect(isPriced(agent(change as Partial<AgentPolicy>))).toBe(known);
});

test('only roles that are asked count', () => {
  const { agents } = testPolicy();
  const blind = {
    ...agents,
    critic: agent({ kind: 'codex' }),
    specifier: agent({ kind: 'codex' }),
    coder: agent({ kind: 'claude' }),
  };
  const policy = testPolicy({ agents: blind });
  expect(
    unpricedRoles({ ...policy, critic: { ...policy.critic, enabled: true }, spec: { expand: 'auto' } }),
  ).toEqual(['specifier', 'critic']);
  expect(
    unpricedRoles({ ...policy, critic: { ...policy.critic, enabled: false }, spec: { expand: 'off' } }),
  ).toEqual([]);
});
