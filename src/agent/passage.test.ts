/** A turn's way to its model, and the two accounts of what it used. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agentStage } from '../../test/support/agent-stage.ts';
import { type Llm, startLlm } from '../../test/support/llm/server.ts';
import { mostOf, pricesFor } from '../core/money/prices.ts';
import type { TwoAccounts } from '../core/money/two-accounts.ts';
import type { AgentPolicy } from '../core/policy.ts';
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

const stage = agentStage({ agent: { kind: 'claude' } as never, performing: async () => ({}) });

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

test('the agent’s account is held against what was counted, by the names of the answers', async () => {
  const told: TwoAccounts[] = [];
  const onAccounts = (both: TwoAccounts) => void told.push(both);
  const talk = async (passage: Passage, says: readonly UsageReport[]) => {
    await call(passage);
    for (const report of says) passage.hooks.onUsage(report);
    return { ...DONE, usageKnown: true };
  };
  await pass('key', {}, (passage) => talk(passage, [{ ...said(null), input: 7 }]), { onAccounts });
  await pass('key', {}, (passage) => talk(passage, []), { onAccounts });
  await pass(
    'none',
    {},
    async ({ hooks }) => {
      hooks.onUsage(said(null));
      return DONE;
    },
    { onAccounts },
  );
  expect(told).toMatchObject([
    {
      counted: { told: [{ ...USAGE, id: 'answer_000001' }], isWhole: true },
      agent: { told: [{ input: 7, id: 'own' }], isWhole: true },
    },
  ]);
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

test('nor has one whose agent was cut off before it could tell', async () => {
  const { reports } = await pass('key', {}, async (passage) => {
    await call(passage);
    return { status: 'cancelled', usageKnown: false };
  });
  expect(spent(reports)).toEqual({ input: 1000, usd: null });
});

test('an agent that went to its model by itself is believed', async () => {
  const { result, reports } = await pass('key', {}, async (passage) => {
    passage.hooks.onUsage(said(0.5));
    return { ...DONE, usageKnown: true };
  });
  expect(spent(reports)).toEqual({ input: 1000, usd: 0.5 });
  expect(result.usageKnown).toBe(true);
});

test('an agent whose calls were all refused used nothing: it tells of an earlier turn that was cut off', async () => {
  llm.refuse('overload', 'hi');
  const { result, reports } = await pass('key', {}, async (passage) => {
    expect(await call(passage)).toBeGreaterThanOrEqual(400);
    passage.hooks.onUsage(said(0.5));
    return DONE;
  });
  expect(reports).toEqual([]);
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
  const roomOf = async () => ({
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
      { room: roomOf },
    );
  });

  describe('asked by a program of the operator’s own', () => {
    /** As the loop has it: what is left follows from what was booked. */
    const budget = () => {
      const booked: UsageReport[] = [];
      const left = () => 1.5 * dearest - booked.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
      const onUsage = (report: UsageReport) => void booked.push(report);
      const room = async () => ({ ...(await roomOf()), task: { usd: left(), tokens: null } });
      return { booked, hooks: { onUsage, room } };
    };

    test.each([0, 0.1])('counts no less because it says that it costs %d of that', async (part) => {
      const { booked, hooks } = budget();
      await pass(
        'key',
        { kind: 'command' },
        async (passage) => {
          for (const key of ['a', 'b']) {
            expect(await call(passage)).toBe(200);
            passage.hooks.onUsage({ ...said(part * dearest), key });
          }
          expect(await call(passage)).toBe(402);
          return DONE;
        },
        hooks,
      );
      expect(booked.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0)).toBeCloseTo(2 * part * dearest, 9);
      expect(spent(booked), 'and nobody knows the whole of it').toEqual({ input: 2000, usd: null });
    });

    test('counts more where it says so', async () => {
      const { booked, hooks } = budget();
      await pass(
        'key',
        { kind: 'command' },
        async (passage) => {
          expect(await call(passage)).toBe(200);
          passage.hooks.onUsage(said(2 * dearest));
          expect(await call(passage)).toBe(402);
          return DONE;
        },
        hooks,
      );
      expect(spent(booked)).toEqual({ input: 1000, usd: 2 * dearest });
    });
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
      { room: roomOf },
    );
  });
});

test('a turn that ends since nobody knows whether its budget is spent says so', async () => {
  const room = async () => ({
    task: { usd: 1e-6, tokens: null },
    loop: { usd: null, tokens: null },
    spent: null,
  });
  const { result } = await pass(
    'key',
    {},
    async (passage) => {
      expect(await call(passage)).toBe(200);
      expect(await call(passage)).toBe(402);
      return { status: 'failed', code: 'billing', message: 'no money', retryAt: null, usageKnown: true };
    },
    { room },
  );
  expect(result).toMatchObject({ code: 'spend_unknown', message: expect.stringContaining('no known price') });
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

describe('where everything has to be confined', () => {
  const sealed = { sandbox: 'bwrap', sealed: true } as const;
  const ask = async (): Promise<TurnResult> => DONE;

  test.each<['other' | 'login' | 'key' | 'none', Partial<AgentPolicy>]>([
    ['other', {}],
    ['login', { gateway: 'keys' }],
    ['key', { gateway: 'none' }],
    ['none', { network: 'host' }],
  ])(
    'a program that would be on the network of this machine (%s, %j) does not start',
    async (credential, policy) => {
      const { result } = await pass(credential, policy, ask, {}, sealed);
      expect(result).toMatchObject({ status: 'failed', code: 'sandbox_failed', usageKnown: true });
      expect(result).toMatchObject({ message: expect.stringContaining('roles.coder.access.network: host') });
    },
  );

  test('one whose credential the gateway holds does', async () => {
    expect((await pass('key', {}, ask, {}, sealed)).result.status).toBe('finished');
    expect((await pass('none', {}, ask, {}, sealed)).result.status).toBe('finished');
  });
});
