/**
 * What a turn over ACP used: what the agent tells, and nothing else.
 *
 * The protocol has the tokens of a prompt when it is over, and the session's cost while it runs. So a turn that was cut off
 * has no tokens, and says that they are not known. Adapters add the tokens by model, asides and subagents included, in a
 * field of their own; it is believed before the protocol's, which has the main conversation only.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { costOf, type Prices } from '../../core/money/prices.ts';
import type { Usage, UsageReport } from '../agent.ts';

export interface AcpAccount {
  /** `usage_update`: a running total of the session's cost. */
  seeCost(update: unknown): void;
  /** The end of a prompt. False when it did not tell what it used. */
  seeEnd(response: unknown): boolean;
  /** The session's cost so far. */
  costUsd(): number;
}

export function acpAccount(
  { prices, model, before }: { prices: Prices; model: string; before: number },
  report: (delta: UsageReport) => void,
): AcpAccount {
  const launch = randomBytes(6).toString('hex');
  let reports = 0;
  let total = before;
  let costTold = false;
  const tell = (usage: Usage, of: string, costUsd: number | null): void => {
    reports += 1;
    report({ key: `${launch}:${reports}`, model: of, ...usage, costUsd });
  };
  return {
    seeCost(update) {
      const { data } = cost.safeParse(update);
      if (!data || data.cost.amount <= total) return;
      costTold = true;
      tell(NOTHING, model, data.cost.amount - total);
      total = data.cost.amount;
    },
    seeEnd(response) {
      const used = usedIn(response);
      for (const { name, usage } of used) {
        const of = used.length === 1 && model !== 'unknown' ? model : (name ?? model);
        // Where the agent tells cost it was told already; ours would count it twice.
        tell(usage, of, costTold ? 0 : costOf(prices, of, usage));
      }
      return used.length > 0;
    },
    costUsd: () => total,
  };
}

const NOTHING: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
const count = z
  .number()
  .nonnegative()
  .nullish()
  .transform((value) => value ?? 0);

const cost = z.object({ cost: z.object({ amount: z.number().nonnegative(), currency: z.literal('USD') }) });

const prompted = z.object({
  usage: z.object({
    totalTokens: count,
    inputTokens: z.number().nonnegative(),
    outputTokens: z.number().nonnegative(),
    thoughtTokens: count,
    cachedReadTokens: count,
    cachedWriteTokens: count,
  }),
});

const tokenCount = z.object({
  inputTokens: z.number().nonnegative(),
  outputTokens: z.number().nonnegative(),
  cachedInputTokens: count,
  cachedWriteTokens: count,
  cacheWriteInputTokens: count,
  reasoningOutputTokens: count,
});
/** Gemini's words, which lack what was read from the cache; that is in its own record. */
const geminiCount = z
  .object({ input_tokens: z.number().nonnegative(), output_tokens: z.number().nonnegative() })
  .transform((given) =>
    tokenCount.parse({ inputTokens: given.input_tokens, outputTokens: given.output_tokens }),
  );

const byModel = z.object({
  _meta: z.object({
    quota: z.object({
      model_usage: z
        .array(
          z.object({
            model: z.string(),
            token_count: z.union([tokenCount, geminiCount]),
          }),
        )
        .min(1),
    }),
  }),
});

function usedIn(response: unknown): { name: string | null; usage: Usage }[] {
  const models = byModel.safeParse(response).data?._meta.quota.model_usage;
  if (models)
    return models.map(({ model, token_count: of }) => ({
      name: model,
      usage: {
        input: of.inputTokens,
        output: Math.max(0, of.outputTokens - of.reasoningOutputTokens),
        reasoning: of.reasoningOutputTokens,
        cacheRead: of.cachedInputTokens,
        cacheWrite: of.cachedWriteTokens + of.cacheWriteInputTokens,
      },
    }));
  const { data } = prompted.safeParse(response);
  if (!data) return [];
  const { totalTokens, inputTokens, outputTokens, thoughtTokens, cachedReadTokens, cachedWriteTokens } =
    data.usage;
  // Some count thoughts as output and some beside it; the total tells which.
  const beside =
    totalTokens >= inputTokens + outputTokens + thoughtTokens + cachedReadTokens + cachedWriteTokens;
  return [
    {
      name: null,
      usage: {
        input: inputTokens,
        output: beside ? outputTokens : Math.max(0, outputTokens - thoughtTokens),
        reasoning: thoughtTokens,
        cacheRead: cachedReadTokens,
        cacheWrite: cachedWriteTokens,
      },
    },
  ];
}
