/**
 * What Claude's adapter used, from Claude's transcript: each message, which it has before its tools have returned, and
 * when the program has ended what Claude counted beyond them, such as the title it asks for.
 *
 * What the adapter tells itself is of no use: its cost is the session's, so it goes on when the session is loaded again,
 * and of such a turn it leaves out what was asked on the side. Claude writes its sums down when it ends, and goes on from
 * them when it is started again, so the difference between two of them is what one process used.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { pricesFor } from '../../core/money/prices.ts';
import type { TurnRequest, UsageReport } from '../agent.ts';
import { claudeAccount } from '../claude/account.ts';
import type { ModelUsage } from '../claude/message.ts';
import { type TranscriptUsage, transcriptSums, transcriptUsage } from '../claude/transcript.ts';
import { toldLedger } from '../told-ledger.ts';
import type { Recorder } from './presets.ts';

/** `records` is the folder that has Claude's configuration directory. */
export async function claudeRecorder(
  turn: TurnRequest,
  records: string,
  report: (delta: UsageReport) => void,
): Promise<Recorder> {
  const ledger = await toldLedger(turn.sessionDir, turn.number);
  const account = claudeAccount(pricesFor(turn.policy), report);
  const before = await transcriptSums(records);
  const titled = once();
  let isSound = false;

  const untold = async (): Promise<TranscriptUsage[]> =>
    (await transcriptUsage(records)).filter(({ id }) => !ledger.isSettled(id));
  // What a turn that died did not get to tell is no part of what this one's program counts.
  account.catchUp(await untold());
  return {
    read: async () => account.seeWhole(await untold()),
    hear(update) {
      if (title.safeParse(update).success) titled.happen();
    },
    // A title that is still being made when the program ends is in no sum.
    lastWords: () => titled.within(TITLE_MS),
    async close() {
      const after = await transcriptSums(records);
      const used = after.written > before.written ? difference(after.models, before.models) : null;
      if (used) account.count(randomUUID(), used);
      account.close(await untold());
      isSound = titled.happened() && used !== null && after.broken === before.broken;
      await ledger.settle(account.told());
    },
    isComplete: () => isSound && account.isComplete(),
  };
}

/** For as long as a turn that is over waits for its title. */
const TITLE_MS = 5_000;
/** It tells the title once it has one, or none could be made. */
const title = z.object({ sessionUpdate: z.literal('session_info_update'), title: z.string() });

function once() {
  let happened = false;
  let happen = () => {};
  const happening = new Promise<void>((resolve) => {
    happen = () => {
      happened = true;
      resolve();
    };
  });
  return {
    happen,
    happened: () => happened,
    async within(ms: number): Promise<void> {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms);
      });
      await Promise.race([happening, late]);
      clearTimeout(timer);
    },
  };
}

type Sums = Readonly<Record<string, ModelUsage>>;

/** Null when the sums have begun anew, so that nobody can tell what is in them. */
function difference(after: Sums, before: Sums): Record<string, ModelUsage> | null {
  const used: Record<string, ModelUsage> = {};
  for (const [model, now] of Object.entries(after)) {
    const then = before[model];
    // Sums of dollars have the dust of binary fractions.
    const less = (kind: Counted): number => Math.round((now[kind] - (then?.[kind] ?? 0)) * 1e9) / 1e9;
    const one = {
      inputTokens: less('inputTokens'),
      outputTokens: less('outputTokens'),
      thinkingTokens: (now.thinkingTokens ?? 0) - (then?.thinkingTokens ?? 0),
      cacheReadInputTokens: less('cacheReadInputTokens'),
      cacheCreationInputTokens: less('cacheCreationInputTokens'),
      costUSD: less('costUSD'),
    };
    if (Object.values(one).some((count) => count < 0)) return null;
    used[model] = { ...one, costBasis: now.costBasis };
  }
  return used;
}

type Counted =
  | 'inputTokens'
  | 'outputTokens'
  | 'cacheReadInputTokens'
  | 'cacheCreationInputTokens'
  | 'costUSD';
