/** A turn's way to its model, and the two accounts of what it used. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agentStage } from '../../test/support/agent-stage.ts';
import { type Llm, startLlm } from '../../test/support/llm/server.ts';
import type { AgentPolicy } from '../core/policy.ts';
import { openGateway } from '../gateway/server.ts';
import type { TurnHooks, TurnResult, UsageReport } from './agent.ts';
import { type Passage, through } from './passage.ts';

const USAGE = { input: 1000, output: 100 };
const PRICE = { input: 1, output: 10, cacheRead: 0, cacheWrite: 0 };
const DONE: TurnResult = { status: 'finished', text: '', structured: null, usageKnown: false };

let llm: Llm;
beforeEach(async () => {
  llm = await startLlm({ rules: [{ replies: [{ say: 'ok', usage: USAGE, times: 'always' }] }] });
});
afterEach(() => llm.close());

const stage = agentStage({ agent: { kind: 'x' } as never, performing: async () => ({}) });

async function pass(
  credential: Parameters<typeof through>[3],
  policy: Partial<AgentPolicy>,
  ask: (passage: Passage) => Promise<TurnResult>,
  more: Partial<TurnHooks> = {},
) {
  const { hooks, reports } = stage.watched(more);
  const base = await stage.turnOf([]);
  const turn = { ...base, policy: { ...base.policy, model: 'm-1', ...policy } };
  return { result: await through(openGateway({}), turn, hooks, credential, ask), reports };
}

const call = async ({ route }: Passage): Promise<number> => {
  const url = route!({ upstream: llm.url, headers: { 'x-api-key': 'real' } });
  const body = JSON.stringify({ model: 'm-1', messages: [{ role: 'user', content: 'hi' }] });
  const answer = await fetch(`${url}/v1/messages`, { method: 'POST', body });
  await answer.text();
  return answer.status;
};

const said = (costUsd: number | null): UsageReport => ({
  key: 'own',
  model: 'm-1',
  ...USAGE,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  costUsd,
});

const spent = (reports: readonly UsageReport[]) => ({
  input: reports.reduce((sum, one) => sum + one.input, 0),
  usd: reports.reduce<number | null>(
    (sum, { costUsd }) => (sum === null || costUsd === null ? null : sum + costUsd),
    0,
  ),
});

test.each([
  ['key', 'all', true],
  ['key', 'keys', true],
  ['key', 'none', false],
  ['login', 'all', true],
  ['login', 'keys', false],
  ['none', 'all', false],
  ['other', 'all', false],
] as const)(
  'a credential that is a %s, with `gateway.credentials: %s`: held is %s',
  async (kind, gateway, held) => {
    await pass(kind, { gateway }, async ({ route }) => {
      expect(route !== null).toBe(held);
      return DONE;
    });
  },
);

test('what the wire says goes into the ledger, once, and is known', async () => {
  const prices = { 'm-1': PRICE };
  const { result, reports } = await pass('key', { prices }, async (passage) => {
    expect(await call(passage)).toBe(200);
    passage.hooks.onUsage(said(0.002));
    return DONE;
  });
  expect(spent(reports)).toEqual({ input: 1000, usd: 0.002 });
  expect(result).toMatchObject({ status: 'finished', usageKnown: true });
});

test.each([
  ['costs what the agent says', 0.5, 0.5],
  ['has no known cost where nobody tells one', null, null],
])('a model without a price %s', async (_, costUsd, usd) => {
  const { reports } = await pass('key', {}, async (passage) => {
    await call(passage);
    passage.hooks.onUsage(said(costUsd));
    return DONE;
  });
  expect(spent(reports)).toEqual({ input: 1000, usd });
});

test('an agent that went to its model by itself is believed', async () => {
  const { result, reports } = await pass('key', {}, async (passage) => {
    passage.hooks.onUsage(said(0.5));
    return { ...DONE, usageKnown: true };
  });
  expect(spent(reports)).toEqual({ input: 1000, usd: 0.5 });
  expect(result.usageKnown).toBe(true);
});

test('a turn that ends because its budget is spent says so, whatever the agent calls it', async () => {
  const room = async () => ({ usd: 0, tokens: null, spent: '$1.00 of $1.00 spent' });
  const broke = async (passage: Passage): Promise<TurnResult> => {
    expect(await call(passage)).toBe(402);
    return { status: 'failed', code: 'billing', message: 'no money', retryAt: null, usageKnown: true };
  };
  const { result } = await pass('key', {}, broke, { room });
  expect(result).toMatchObject({ status: 'failed', code: 'out_of_budget', message: '$1.00 of $1.00 spent' });
});
