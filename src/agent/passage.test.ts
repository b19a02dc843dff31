/** A turn's way to its model, and the two accounts of what it used. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agentStage } from '../../test/support/agent-stage.ts';
import { type Llm, startLlm } from '../../test/support/llm/server.ts';
import type { AgentPolicy } from '../core/policy.ts';
import { mostOf, pricesFor } from '../core/prices.ts';
import type { Access, Way } from '../core/role.ts';
import { openGateway } from '../gateway/server.ts';
import type { FailureCode, TurnHooks, TurnRequest, TurnResult, UsageReport } from './agent.ts';
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
  access: Partial<Access> = {},
) {
  const { hooks, reports } = stage.watched(more);
  const base = await stage.turnOf([]);
  const turn = {
    ...base,
    access: { ...base.access, ...access },
    policy: { ...base.policy, model: 'm-1', ...policy },
  };
  return { result: await through(openGateway({}), turn, hooks, credential, ask), reports };
}

const call = async ({ route }: Passage): Promise<number> => {
  const url = route!({ upstream: llm.url, headers: { 'x-api-key': 'real' }, speaks: ['messages'] });
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
  const none = { usd: null, tokens: null };
  const room = async () => ({ task: none, loop: none, spent: '$1.00 of $1.00 spent' });
  const broke = async (passage: Passage): Promise<TurnResult> => {
    expect(await call(passage)).toBe(402);
    return { status: 'failed', code: 'billing', message: 'no money', retryAt: null, usageKnown: true };
  };
  const { result } = await pass('key', {}, broke, { room });
  expect(result).toMatchObject({ status: 'failed', code: 'out_of_budget', message: '$1.00 of $1.00 spent' });
});

describe('a model without a price, within a budget in dollars', () => {
  const dearest = mostOf(pricesFor({ prices: {} } as AgentPolicy), 'm-1', {
    ...USAGE,
    cacheRead: 0,
    cacheWrite: 0,
    reasoning: 0,
  });
  const room = async () => ({
    task: { usd: 1.5 * dearest, tokens: null },
    loop: { usd: null, tokens: null },
    spent: null,
  });

  test('counts as much as the dearest that is known', async () => {
    await pass(
      'key',
      {},
      async (passage) => {
        expect(await call(passage)).toBe(200);
        expect(await call(passage)).toBe(200);
        expect(await call(passage)).toBe(402);
        return DONE;
      },
      { room },
    );
  });

  test('counts what the agent says instead, once it does', async () => {
    await pass(
      'key',
      {},
      async (passage) => {
        for (const key of ['a', 'b', 'c']) {
          expect(await call(passage)).toBe(200);
          passage.hooks.onUsage({ ...said(0.01), key });
        }
        return DONE;
      },
      { room },
    );
  });
});

test('a provider that is sent somewhere is refused as the host would be', async () => {
  const seen: unknown[] = [];
  const onNetwork = (request: unknown) => void seen.push(request);
  const tools = [{ type: 'web_fetch_20250910', name: 'web_fetch' }];
  const mcp_servers = [{ type: 'url', url: 'https://evil.example/?data', name: 'x' }];
  const inside = { network: [] };
  await pass(
    'key',
    inside,
    async ({ route, turn }) => {
      expect(turn.access.sandbox).not.toBe('none');
      const url = route!({ upstream: llm.url, headers: {}, speaks: ['messages'] });
      for (const more of [{ tools }, { mcp_servers }]) {
        const body = JSON.stringify({ model: 'm-1', messages: [], ...more });
        expect((await throughSocket(turn, `${url}/v1/messages`, body)).statusCode).toBe(400);
      }
      return DONE;
    },
    { onNetwork },
    { sandbox: 'bwrap' },
  );
  expect(seen).toMatchObject([
    { host: expect.stringContaining('web_fetch'), port: 0, verdict: 'refused' },
    { host: 'evil.example', port: 443, verdict: 'refused' },
  ]);
});

/** As what is confined asks. */
async function throughSocket({ access }: TurnRequest, url: string, body: string): Promise<IncomingMessage> {
  const { socket: socketPath } = access.network as Way;
  const { pathname: path } = new URL(url);
  const asking = request({ socketPath, path, method: 'POST' }).end(body);
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return answer.resume();
}

describe('what the provider said on the wire', () => {
  const fails = (reply: object) => llm.play({ rules: [{ replies: [{ fail: reply } as never] }] });
  const saying = (code: FailureCode) => async (passage: Passage) => {
    await call(passage);
    return { status: 'failed', code, message: 'exit 1', retryAt: null, usageKnown: true } as const;
  };

  test('is what the turn failed for, with the time that its headers tell', async () => {
    fails({ status: 429, type: 'rate_limit_error', message: 'Later.', resetsInSeconds: 3600 });
    const before = Date.now();
    const { result } = await pass('key', {}, saying('exit_nonzero'));
    expect(result).toMatchObject({ status: 'failed', code: 'usage_limit', message: 'Later.' });
    const { retryAt } = result as { retryAt: number };
    expect(Math.abs(retryAt - before - 3_600_000)).toBeLessThan(60_000);
  });

  test('a wait of seconds is one, too', async () => {
    fails({ status: 529, type: 'overloaded_error', message: 'Busy.', headers: { 'retry-after': '30' } });
    const { result } = await pass('key', {}, saying('crashed'));
    expect(result).toMatchObject({ code: 'overload', message: 'Busy.', retryAt: expect.any(Number) });
  });

  test.each([
    ['that it could not be confined', 'sandbox_failed'],
    ['that its session is lost', 'session_lost'],
  ] as const)('is not believed over an agent that says %s', async (_, code) => {
    fails({ status: 401, type: 'authentication_error', message: 'Who?' });
    expect((await pass('key', {}, saying(code))).result).toMatchObject({ code, message: 'exit 1' });
  });

  test('is over when an answer came after it', async () => {
    fails({ status: 529, type: 'overloaded_error', message: 'Busy.' });
    const { result } = await pass('key', {}, async (passage) => {
      await call(passage);
      llm.play({ rules: [{ replies: [{ say: 'ok', usage: USAGE }] }] });
      return saying('exit_nonzero')(passage);
    });
    expect(result).toMatchObject({ code: 'exit_nonzero', message: 'exit 1' });
  });
});
