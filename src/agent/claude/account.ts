/**
 * What a turn of Claude used, told per message of the model, once each.
 *
 * The traps this file is about: a message arrives once per content block, with figures that are not final; its final
 * figures come with the stream's `message_delta`; subagents have no stream, so their figures are read from the
 * transcript; calls the program makes on the side are in no transcript, only in the sums of the result; and those sums
 * go on from earlier turns when a session is resumed. So: the stream while it runs, then the transcript, then what
 * the provider counted beyond both. Keys are the provider's message ids, so what a killed runner had told already is not counted again.
 * What a message that broke off cost nobody tells: an account that has one is not complete.
 */

import { restKey } from '../../core/money/cost.ts';
import { costOf, type Prices } from '../../core/money/prices.ts';
import type { Usage, UsageReport } from '../agent.ts';
import type { ApiUsage, ClaudeMessage, ModelUsage } from './message.ts';
import type { TranscriptUsage } from './transcript.ts';

interface Account {
  /** Looks at a message of the stream. */
  see(message: ClaudeMessage): void;
  /** Looks at a transcript while the program writes it: the messages that have come to their end. */
  seeWhole(transcript: readonly TranscriptUsage[]): void;
  /** What the provider counted since it was last asked, by model; `id` is told once. */
  count(id: string, sums: Readonly<Record<string, ModelUsage>>): void;
  /** Figures of a turn that died before it could tell them. */
  catchUp(transcript: readonly TranscriptUsage[]): void;
  /** After the process has ended: everything that is not told yet. */
  close(transcript: readonly TranscriptUsage[]): void;
  /** The messages told so far. */
  told(): string[];
  /** After it was closed: nothing was charged that nobody told. */
  isComplete(): boolean;
}

interface Open {
  model: string;
  usage: Usage;
}

export function claudeAccount(prices: Prices, report: (delta: UsageReport) => void): Account {
  const told = new Map<string, Usage>();
  /** Begun in the stream and not finished there. */
  const open = new Map<string, Open>();
  let streaming: string | null = null;
  const ours = new Map<string, Sum>();
  const cutOff = new Map<string, Sum>();
  const counted = new Map<string, Sum>();
  let lastResult = '';
  /** A request was lost on its way, or told no sums. */
  let isBlind = false;

  return {
    see(message) {
      if (message.type === 'stream_event') seeStream(message);
      else if (message.type === 'assistant') seeAssistant(message);
      else if (message.type === 'result') {
        if (message.model_usage_since_last_result === undefined) isBlind = true;
        else count(message.uuid, message.model_usage_since_last_result);
      } else if (message.type === 'system' && message.subtype === 'api_retry')
        // Without a status the provider may have taken it, and answered nobody.
        isBlind ||= message.error_status == null;
    },
    count,
    seeWhole(transcript) {
      for (const { id, model, usage, final } of transcript) if (final) tellOurs(id, model, usage);
    },
    catchUp(transcript) {
      for (const { id, model, usage } of transcript) if (!told.has(id)) tell(id, model, usage);
    },
    close(transcript) {
      for (const { id, model, usage, final } of transcript) {
        if (final) tellOurs(id, model, usage);
        else open.set(id, { model, usage });
      }
      // Cut off: what the provider said when it began is all that anybody knows.
      for (const [id, { model, usage }] of open) {
        if (told.has(id)) continue;
        add(cutOff, model, usage, costOf(prices, model, usage));
        tell(id, model, usage);
      }
      for (const model of counted.keys()) tellRest(model);
    },
    told: () => [...told.keys()],
    isComplete: () => !isBlind && cutOff.size === 0,
  };

  function count(id: string, sums: Readonly<Record<string, ModelUsage>>): void {
    lastResult = id;
    for (const [model, usage] of Object.entries(sums))
      add(counted, model, usageOfModel(usage), usage.costBasis === 'unknown' ? null : usage.costUSD);
  }

  function seeStream({ event, api_message_id }: Extract<ClaudeMessage, { type: 'stream_event' }>): void {
    if (event.type === 'message_start') {
      streaming = event.message.id;
      open.set(streaming, { model: event.message.model, usage: usageOf(event.message.usage ?? {}) });
      return;
    }
    const id = api_message_id ?? streaming;
    const begun = id === null ? undefined : open.get(id);
    if (id === null || !begun) return;
    open.delete(id);
    tellOurs(id, begun.model, merged(begun.usage, event.usage ?? {}));
  }

  /** Final only with a reason to stop, and only where no stream tells it. */
  function seeAssistant({ message }: Extract<ClaudeMessage, { type: 'assistant' }>): void {
    if (message.stop_reason == null || message.usage === undefined || message.model === SYNTHETIC) return;
    if (open.has(message.id)) return;
    tellOurs(message.id, message.model, usageOf(message.usage));
  }

  function tellOurs(id: string, model: string, usage: Usage): void {
    if (told.has(id)) return;
    add(ours, model, usage, costOf(prices, model, usage));
    tell(id, model, usage);
  }

  function tell(id: string, model: string, usage: Usage): void {
    told.set(id, usage);
    report({ key: id, model, ...usage, costUsd: costOf(prices, model, usage) });
  }

  /**
   * Calls on the side, and the provider's own price where it is higher than our table's: what was told is never taken
   * back. The provider's sums hold a message that was cut off when it was asked for again, and not when it was interrupted.
   */
  function tellRest(model: string): void {
    const all = counted.get(model) ?? NOTHING;
    const own = ours.get(model) ?? NOTHING;
    const cut = cutOff.get(model) ?? NOTHING;
    const beyond = less(all, own);
    const holdsCut = KINDS.every((kind) => beyond.usage[kind] >= cut.usage[kind]);
    const { usage, costUsd } = holdsCut ? less(beyond, cut) : beyond;
    const rest = mapped((kind) => Math.max(0, usage[kind]));
    const restUsd = costUsd === null ? null : Math.max(0, costUsd);
    if (KINDS.every((kind) => rest[kind] === 0) && !restUsd) return;
    report({ key: restKey(`${lastResult}:${model}`), model, ...rest, costUsd: restUsd });
  }
}

export const SYNTHETIC = '<synthetic>';

/** Thinking is part of Claude's output and told apart by us. */
export function usageOf(given: ApiUsage): Usage {
  const reasoning = given.output_tokens_details?.thinking_tokens ?? 0;
  return {
    input: given.input_tokens ?? 0,
    output: Math.max(0, (given.output_tokens ?? 0) - reasoning),
    cacheRead: given.cache_read_input_tokens ?? 0,
    cacheWrite: given.cache_creation_input_tokens ?? 0,
    reasoning,
  };
}

/** The end of a stream may tell only its output. */
function merged(begun: Usage, end: ApiUsage): Usage {
  const final = usageOf(end);
  return {
    ...final,
    input: end.input_tokens === undefined ? begun.input : final.input,
    cacheRead: end.cache_read_input_tokens == null ? begun.cacheRead : final.cacheRead,
    cacheWrite: end.cache_creation_input_tokens == null ? begun.cacheWrite : final.cacheWrite,
  };
}

interface Sum {
  usage: Usage;
  costUsd: number | null;
}

const KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const;
const mapped = (value: (kind: (typeof KINDS)[number]) => number): Usage =>
  Object.fromEntries(KINDS.map((kind) => [kind, value(kind)])) as unknown as Usage;
const NOTHING: Sum = { usage: mapped(() => 0), costUsd: 0 };
/** Differences of sums of dollars, without the dust of binary fractions. */
const round = (usd: number): number => Math.round(usd * 1e9) / 1e9;

/** Sums name the window that was asked for (`…[1m]`), messages do not. */
function add(sums: Map<string, Sum>, named: string, usage: Usage, costUsd: number | null): void {
  const model = named.replace(/\[[^\]]*\]$/, '');
  const before = sums.get(model) ?? NOTHING;
  const cost = costUsd === null || before.costUsd === null ? null : before.costUsd + costUsd;
  sums.set(model, { usage: mapped((kind) => before.usage[kind] + usage[kind]), costUsd: cost });
}

function less(one: Sum, other: Sum): Sum {
  const costUsd = one.costUsd === null ? null : round(one.costUsd - (other.costUsd ?? 0));
  return { usage: mapped((kind) => one.usage[kind] - other.usage[kind]), costUsd };
}

const usageOfModel = (given: ModelUsage): Usage => ({
  input: given.inputTokens,
  output: Math.max(0, given.outputTokens - (given.thinkingTokens ?? 0)),
  cacheRead: given.cacheReadInputTokens,
  cacheWrite: given.cacheCreationInputTokens,
  reasoning: given.thinkingTokens ?? 0,
});
