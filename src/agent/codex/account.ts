/**
 * What a turn of Codex used.
 *
 * Codex tells running totals of a thread, which go on over turns and processes: told are the steps between them, under
 * keys that name the total reached, so a step that was told before counts once. A turn that died is taken up from
 * the thread's own record, which has every total. Subagents are threads of their own, and are told like it.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { costOf, type Prices } from '../../core/money/prices.ts';
import type { Usage, UsageReport } from '../agent.ts';
import { replaceFile } from '../replace-file.ts';
import { jsonBelow } from '../stranger-files.ts';

const count = z.number().nonnegative().catch(0);

export const tokenTotal = z.object({
  inputTokens: count,
  cachedInputTokens: count,
  cacheWriteInputTokens: count.default(0),
  outputTokens: count,
  reasoningOutputTokens: count,
});
export type TokenTotal = z.output<typeof tokenTotal>;

const totals = z.record(z.string(), tokenTotal);
const ledgerFile = z.object({ turn: z.int(), before: totals, after: totals });

export interface CodexAccount {
  see(thread: string, total: TokenTotal): void;
  /** After the process has ended. */
  settle(): Promise<void>;
}

const NOTHING: TokenTotal = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  reasoningOutputTokens: 0,
};

export async function codexAccount(
  session: { sessionDir: string; number: number },
  prices: Prices,
  model: () => string,
  report: (delta: UsageReport) => void,
): Promise<CodexAccount> {
  const data = await readLedger(session.sessionDir);
  // What a person did after a turn, which has no number: the next turn begins where they ended.
  const isBetween = session.number === 0;
  // A turn that died is run again under its own number, and begins where it began.
  const isAgain = data?.turn === session.number && !isBetween;
  const before = (isAgain ? data?.before : data?.after) ?? {};
  const now: Record<string, TokenTotal> = { ...before };
  await write();

  return {
    see(thread, total) {
      const told = now[thread] ?? NOTHING;
      const step = usageOf(total, told);
      if (Object.values(step).every((tokens) => tokens <= 0)) return;
      now[thread] = total;
      const key = `${thread}:${total.inputTokens}+${total.outputTokens}`;
      report({ key, model: model(), ...step, costUsd: costOf(prices, model(), step) });
    },
    settle: write,
  };

  /** Whoever took the session over meanwhile has gone on from here, and keeps what it wrote. */
  async function write(): Promise<void> {
    const kept = await readLedger(session.sessionDir);
    if (isBetween) {
      const reached = { turn: kept?.turn ?? 0, before: now, after: now };
      replaceFile(join(session.sessionDir, LEDGER), JSON.stringify(reached));
      return;
    }
    if (kept && kept.turn > session.number) return;
    const after = kept?.turn === session.number ? furthest(kept.after, now) : now;
    replaceFile(join(session.sessionDir, LEDGER), JSON.stringify({ turn: session.number, before, after }));
  }
}

const LEDGER = 'codex-usage.json';

async function readLedger(sessionDir: string): Promise<z.output<typeof ledgerFile> | null> {
  return ledgerFile.safeParse(await jsonBelow(sessionDir, LEDGER)).data ?? null;
}

type Totals = z.output<typeof totals>;

function furthest(kept: Totals, ours: Totals): Totals {
  const reached = ({ inputTokens, outputTokens }: TokenTotal): number => inputTokens + outputTokens;
  const behind = Object.entries(kept).filter(
    ([thread, total]) => reached(total) > reached(ours[thread] ?? NOTHING),
  );
  return { ...ours, ...Object.fromEntries(behind) };
}

/** Codex counts what was read from the cache as input, and reasoning as output. */
function usageOf(total: TokenTotal, told: TokenTotal): Usage {
  const step = (kind: keyof TokenTotal): number => Math.max(0, total[kind] - told[kind]);
  const cacheRead = step('cachedInputTokens');
  const cacheWrite = step('cacheWriteInputTokens');
  const reasoning = step('reasoningOutputTokens');
  return {
    input: Math.max(0, step('inputTokens') - cacheRead - cacheWrite),
    output: Math.max(0, step('outputTokens') - reasoning),
    cacheRead,
    cacheWrite,
    reasoning,
  };
}
