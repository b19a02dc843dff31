/**
 * What every real agent owes its operator: the account equals what the provider served, in tokens and in dollars, or the
 * turn says that it is not known in full. Nothing is ever taken back, and nothing is counted twice.
 */
import { describe, expect, test } from 'vitest';
import type { TurnResult, Usage, UsageReport } from '../src/agent/agent.ts';
import { type AgentUnderTest, sumOf } from '../src/agent/contract.ts';
import { costOf, pricesFor } from '../src/core/money/prices.ts';
import { disagreement, type TwoAccounts } from '../src/core/money/two-accounts.ts';
import type { AgentPolicy } from '../src/core/policy.ts';
import { type SandboxKind, sandboxName } from '../src/core/role.ts';
import type { Entry, Llm } from '../test/support/llm/server.ts';
import { realStage, replies } from './real-stage.ts';

export interface Paid {
  real: AgentUnderTest;
  policy: Partial<AgentPolicy> & { model: string };
  /** It can't load a session that was stopped in the middle of an answer. */
  losesStopped?: boolean;
}

/** A model that no list has a price of, with one. */
export const priced = (model: string): Paid['policy'] => ({
  model,
  prices: { [model]: { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 } },
});

const USED = { input: 1100, output: 70, cacheRead: 500 };
/** Long enough for whoever titles conversations. */
const BEGIN = 'Begin with what the issue says about the colour of the shed.';
const GO_ON = 'Go on with what the gate said about the colour of the shed.';

/** `by`: what its turns are confined by. */
export function moneyContract(name: string, make: (llm: Llm) => Paid, by: SandboxKind = 'none'): void {
  describe(`money: ${name}${by === 'none' ? '' : `, confined by ${sandboxName(by)}`}`, async () => {
    let paid: Paid;
    const { llm, run, scripted, watched, turnOf } = await realStage(
      (model) => {
        paid = make(model);
        return paid;
      },
      [],
      'counted',
      by,
    );

    /** What was served since it was asked last. */
    function meter() {
      let seen = 0;
      return () => {
        const entries = llm.now.journal.slice(seen);
        seen += entries.length;
        return entries;
      };
    }

    const dollarsFor = async (usage: Usage): Promise<number> => {
      const { policy } = await turnOf([]);
      const usd = costOf(pricesFor(policy), paid.policy.model, usage);
      expect(usd, `${paid.policy.model} has a price`).not.toBeNull();
      return usd ?? 0;
    };

    /** What its agent said of each turn is what was counted on the wire. */
    const agreeing = () => {
      const told: TwoAccounts[] = [];
      return {
        watch: () => watched({ onAccounts: (both) => void told.push(both) }),
        expectAll: (turns: number) => {
          expect(told).toHaveLength(turns);
          const before = { ids: new Set<string>(), isOpen: false };
          expect(told.map((both) => disagreement(both, before))).toEqual(told.map(() => null));
        },
      };
    };

    async function expectExact(reports: readonly UsageReport[], result: TurnResult, entries: Entry[]) {
      expect(result).toMatchObject({ usageKnown: true });
      expect(tokensOf(reports)).toEqual(servedIn(entries));
      expect(sumOf(reports, 'costUsd')).toBeCloseTo(await dollarsFor(told(entries)), 9);
    }

    /** Every call that was answered is in it, and nothing that was not told. */
    async function expectLowerBound(reports: readonly UsageReport[], result: TurnResult, entries: Entry[]) {
      expect(result).toMatchObject({ usageKnown: false });
      expectWithin(reports, entries);
      expect(sumOf(reports, 'costUsd')).toBeLessThanOrEqual((await dollarsFor(told(entries))) + 1e-9);
    }

    test('resume: a turn tells what it used itself, calls on the side included', async () => {
      await scripted(
        replies(
          { run: 'echo one', usage: USED },
          { say: 'first', usage: USED },
          { run: 'echo two', usage: USED },
          { say: 'second', usage: USED },
          { say: 'third', usage: USED },
        ),
      );
      const served = meter();
      const { watch, expectAll } = agreeing();
      const first = await run(BEGIN, {}, watch());
      await expectExact(first.reports, first.result, served());
      const second = await run(GO_ON, { ...first.turn, resume: true, number: 2 }, watch());
      expect(second.result).toMatchObject({ status: 'finished', text: 'second' });
      await expectExact(second.reports, second.result, served());
      const third = await run(GO_ON, { ...first.turn, resume: true, number: 3 }, watch());
      await expectExact(third.reports, third.result, served());
      expectAll(3);
    });

    test('cut stream: nobody knows what a broken answer cost, and the turn says so', async () => {
      await scripted(
        replies(
          { run: 'echo one', usage: USED },
          { say: 'x'.repeat(30_000), drop: 'middle', usage: USED },
          { say: 'whole', usage: USED, times: 'always' },
        ),
      );
      const served = meter();
      const first = await run(BEGIN);
      const entries = served();
      expect(entries.filter(({ outcome }) => outcome === 'dropped')).toHaveLength(1);
      await expectLowerBound(first.reports, first.result, entries);
      const second = await run(GO_ON, { ...first.turn, resume: true, number: 2 });
      expect(second.result).toMatchObject({ status: 'finished', text: 'whole' });
      await expectExact(second.reports, second.result, served());
    });

    test('budget: a spent one refuses one call, and the turn ends at once with its conversation kept', async () => {
      await scripted(
        replies({ run: 'echo one', usage: USED }, { say: 'and on', usage: USED, times: 'always' }),
      );
      const served = meter();
      const isSpent = () =>
        llm.now.journal.some(({ outcome, request }) => outcome === 'answered' && !request.aside);
      const none = { usd: null, tokens: null };
      const room = async () => ({ task: none, loop: none, spent: isSpent() ? '$1.00 of $1.00 spent' : null });
      const first = await run(BEGIN, {}, watched({ room }));
      expect(first.result).toMatchObject({
        status: 'failed',
        code: 'out_of_budget',
        message: '$1.00 of $1.00 spent',
      });
      expect(first.told.filter(({ kind }) => kind === 'refused')).toEqual([
        expect.objectContaining({ tool: 'model', detail: '$1.00 of $1.00 spent' }),
      ]);
      await expectExact(first.reports, first.result, served());
      const second = await run(GO_ON, { ...first.turn, resume: true, number: 2 });
      expect(second.result).toMatchObject({ status: 'finished', text: 'and on' });
      await expectExact(second.reports, second.result, served());
    });

    test('abort: what was told until then is counted once, and the rest is said to be unknown', async () => {
      await scripted(
        replies(
          { run: 'echo one', usage: USED },
          { say: 'x'.repeat(30_000), hang: 'middle', usage: USED },
          { say: 'and on', usage: USED, times: 'always' },
        ),
      );
      const served = meter();
      const stop = new AbortController();
      const watching = watched({ signal: stop.signal });
      const running = run(BEGIN, {}, watching);
      const hung = () => llm.now.journal.some(({ outcome }) => outcome === 'hung');
      await expect.poll(hung, { timeout: 200_000 }).toBe(true);
      stop.abort();
      const first = await running;
      expect(first.result).toMatchObject({ status: 'cancelled' });
      const before = served();
      await expectLowerBound(first.reports, first.result, before);
      const second = await run(GO_ON, { ...first.turn, resume: true, number: 2 });
      expect(second.result).toMatchObject(
        paid.losesStopped
          ? { status: 'failed', code: 'session_lost' }
          : { status: 'finished', text: 'and on', usageKnown: true },
      );
      expectWithin([...first.reports, ...second.reports], [...before, ...served()]);
    });
  });
}

const KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const;

const told = (entries: readonly Entry[]): Usage =>
  Object.fromEntries(
    KINDS.map((kind) => [kind, entries.reduce((total, one) => total + one.told[kind], 0)]),
  ) as unknown as Usage;

/** Claude's adapter does not tell thoughts from other output. */
const merged = ({ reasoning, output, ...rest }: Usage) => ({ ...rest, output: output + reasoning });
const servedIn = (entries: readonly Entry[]) => merged(told(entries));
const tokensOf = (reports: readonly UsageReport[]) =>
  merged(Object.fromEntries(KINDS.map((kind) => [kind, sumOf(reports, kind)])) as unknown as Usage);

function expectWithin(reports: readonly UsageReport[], entries: readonly Entry[]): void {
  for (const report of reports)
    for (const kind of [...KINDS, 'costUsd'] as const)
      expect(report[kind] ?? 0, `${kind} of ${report.key}`).toBeGreaterThanOrEqual(0);
  const tokens = tokensOf(reports);
  const least = servedIn(entries.filter(({ outcome, request }) => outcome === 'answered' && !request.aside));
  const most = servedIn(entries);
  for (const kind of Object.keys(tokens) as (keyof typeof tokens)[]) {
    expect(tokens[kind], kind).toBeGreaterThanOrEqual(least[kind]);
    expect(tokens[kind], kind).toBeLessThanOrEqual(most[kind]);
  }
}
