/**
 * What a turn of opencode used, told per call of the model, once each.
 *
 * A prompt's result covers its last message only, so every step that finished is told by itself, from the stream while
 * the turn runs and from the session's record afterwards; the steps of subagents are in sessions of their own. Keys are
 * opencode's ids of the steps, so what a killed runner had told already is not counted again.
 */

import { costOf, type Prices } from '../../core/money/prices.ts';
import type { UsageReport } from '../agent.ts';
import type { ToldLedger } from '../told-ledger.ts';
import type { MessageInfo, MessagePart, Messages } from './message.ts';

export interface OpencodeAccount {
  seeMessage(info: MessageInfo): void;
  seePart(part: MessagePart): void;
  /** A session's whole record. */
  seeAll(record: Messages): void;
  /** The steps told so far. */
  told(): string[];
  /** How many calls of the model were told. */
  calls(): number;
}

export function opencodeAccount(
  prices: Prices,
  ledger: ToldLedger,
  report: (delta: UsageReport) => void,
): OpencodeAccount {
  const models = new Map<string, string>();
  const told = new Set<string>();

  function seeMessage({ id, providerID, modelID }: MessageInfo): void {
    if (modelID !== undefined) models.set(id, `${providerID}/${modelID}`);
  }

  function seePart({ id, type, messageID, tokens, cost }: MessagePart): void {
    if (type !== 'step-finish' || !tokens || told.has(id) || ledger.isSettled(id)) return;
    told.add(id);
    const { input, output, reasoning, cache } = tokens;
    const usage = { input, output, reasoning, cacheRead: cache.read, cacheWrite: cache.write };
    const model = models.get(messageID) ?? 'unknown';
    // opencode says 0 for a model whose price it does not know.
    report({ key: id, model, ...usage, costUsd: cost || costOf(prices, model, usage) });
  }

  return {
    seeMessage,
    seePart,
    seeAll(record) {
      for (const { info, parts } of record) {
        seeMessage(info);
        for (const part of parts) seePart(part);
      }
    },
    told: () => [...told],
    calls: () => told.size,
  };
}
