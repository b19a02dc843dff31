import { expect, test } from 'vitest';
import { testPolicy } from '../../../test/support/policy.ts';
import type { AgentPolicy } from '../policy.ts';
import { costOf, isPriced, mostOf, pricesFor, unpricedRoles } from './prices.ts';

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
  ['codex with a listed model', { kind: 'codex', model: 'gpt-5.2-codex' }, true],
  ['codex with a dated model', { kind: 'codex', model: 'gpt-5-mini-2025-08-07' }, true],
  ['a name that only begins like a listed one', { kind: 'codex', model: 'gpt-5-brand-new' }, false],
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

test("the operator's own price goes before the list", () => {
  const million = { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  const own = agent({ kind: 'codex', prices: { 'gpt-5': price } });
  expect(costOf(pricesFor(agent({ kind: 'codex' })), 'gpt-5', million)).toBe(1.25);
  expect(costOf(pricesFor(own), 'gpt-5', million)).toBe(1);
});

test.each([
  ['claude-none-9', 'claude-opus-x'],
  ['anthropic/claude-none-9', 'claude-opus-x'],
  ['gpt-none', 'gpt-x-pro'],
  ['nobody', 'gpt-x-pro'],
])('%s, whose price nobody knows, costs at most what %s does', (model, dearest) => {
  const at = (input: number) => ({ input, output: input, cacheRead: 0, cacheWrite: 0 });
  const prices = { 'claude-opus-x': at(15), 'claude-small': at(1), 'gpt-x-pro': at(100) };
  const usage = { input: 1000, output: 100, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  expect(mostOf(prices, model, usage)).toBe(costOf(prices, dearest, usage));
});
