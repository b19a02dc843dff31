/**
 * What programs say to providers of models and what they answer, as far as money goes: which model is asked, and what the
 * answer used. A stream is read as it passes, and nothing of it is kept.
 */
import { z } from 'zod';
import type { Usage } from '../core/money/prices.ts';

/** What an answer told so far. */
export interface Told {
  id: string | null;
  model: string | null;
  usage: Usage | null;
  /** The provider said that this is all. */
  isWhole: boolean;
}

export type WireName = 'messages' | 'responses' | 'chat' | 'generate';

export interface Wire {
  name: WireName;
  /** The first object of an answer, or the next of its stream. */
  hear(told: Told, given: unknown): Told;
  /** An error in the provider's own form. */
  refusal(status: number, type: string, message: string): unknown;
  /** At which its programs end cleanly instead of asking again. */
  spentStatus: number;
}

export const NOTHING_TOLD: Told = { id: null, model: null, usage: null, isWhole: false };

const count = z.number().nonnegative().nullish().catch(null);

// --- Anthropic's Messages

const messagesUsage = z.object({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  output_tokens_details: z.object({ thinking_tokens: count }).nullish().catch(null),
});
const message = z.object({ id: z.string(), model: z.string(), usage: messagesUsage });
const messagesEvent = z.union([
  z.object({ type: z.literal('message_start'), message }),
  z.object({ type: z.literal('message_delta'), usage: messagesUsage }),
  z.object({ type: z.literal('message_stop') }),
  message.extend({ type: z.literal('message') }),
]);

/** The end of a stream may tell only its output. */
function messagesUsed(given: z.output<typeof messagesUsage>, before: Usage | null): Usage {
  const reasoning = given.output_tokens_details?.thinking_tokens ?? 0;
  return {
    input: given.input_tokens ?? before?.input ?? 0,
    output: Math.max(0, (given.output_tokens ?? before?.output ?? 0) - reasoning),
    cacheRead: given.cache_read_input_tokens ?? before?.cacheRead ?? 0,
    cacheWrite: given.cache_creation_input_tokens ?? before?.cacheWrite ?? 0,
    reasoning,
  };
}

const messages: Wire = {
  name: 'messages',
  spentStatus: 402,
  hear(told, given) {
    const { data } = messagesEvent.safeParse(given);
    switch (data?.type) {
      case undefined:
        return told;
      case 'message_start': {
        const { id, model, usage } = data.message;
        return { id, model, usage: messagesUsed(usage, null), isWhole: false };
      }
      case 'message_delta':
        return { ...told, usage: messagesUsed(data.usage, told.usage), isWhole: true };
      case 'message_stop':
        return told;
      case 'message':
        return { id: data.id, model: data.model, usage: messagesUsed(data.usage, null), isWhole: true };
    }
  },
  refusal: (_status, type, text) => ({ type: 'error', error: { type, message: text } }),
};

// --- OpenAI's Responses and Chat Completions, which many others speak

const responsesUsage = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  input_tokens_details: z.object({ cached_tokens: count, cache_write_tokens: count }).nullish().catch(null),
  output_tokens_details: z.object({ reasoning_tokens: count }).nullish().catch(null),
});
const response = z.object({
  id: z.string().nullish().catch(null),
  model: z.string().nullish().catch(null),
  usage: responsesUsage.nullish().catch(null),
});
const responsesEvent = z.object({ type: z.string(), response });

const responses: Wire = {
  name: 'responses',
  spentStatus: 400,
  hear(told, given) {
    const event = responsesEvent.safeParse(given).data;
    const isOver = event ? /^response\.(completed|incomplete|failed)$/.test(event.type) : true;
    const { data } = event ? { data: event.response } : response.safeParse(given);
    if (!data) return told;
    const usage = data.usage ? responsesUsed(data.usage) : told.usage;
    return {
      id: data.id ?? told.id,
      model: data.model ?? told.model,
      usage,
      isWhole: told.isWhole || (isOver && usage !== null),
    };
  },
  refusal: (_status, type, text) => ({ error: { type, code: type, message: text, param: null } }),
};

function responsesUsed(given: z.output<typeof responsesUsage>): Usage {
  const cacheRead = given.input_tokens_details?.cached_tokens ?? 0;
  const cacheWrite = given.input_tokens_details?.cache_write_tokens ?? 0;
  const reasoning = given.output_tokens_details?.reasoning_tokens ?? 0;
  return {
    input: Math.max(0, given.input_tokens - cacheRead - cacheWrite),
    output: Math.max(0, given.output_tokens - reasoning),
    cacheRead,
    cacheWrite,
    reasoning,
  };
}

const chatUsage = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  prompt_tokens_details: z.object({ cached_tokens: count }).nullish().catch(null),
  completion_tokens_details: z.object({ reasoning_tokens: count }).nullish().catch(null),
});
const completion = z.object({
  id: z.string().nullish().catch(null),
  model: z.string().nullish().catch(null),
  usage: chatUsage.nullish().catch(null),
});

const chat: Wire = {
  ...responses,
  name: 'chat',
  spentStatus: 402,
  hear(told, given) {
    const { data } = completion.safeParse(given);
    if (!data) return told;
    const usage = data.usage ? chatUsed(data.usage) : told.usage;
    return {
      id: data.id ?? told.id,
      model: data.model ?? told.model,
      usage,
      isWhole: usage !== null,
    };
  },
};

function chatUsed(given: z.output<typeof chatUsage>): Usage {
  const cacheRead = given.prompt_tokens_details?.cached_tokens ?? 0;
  const reasoning = given.completion_tokens_details?.reasoning_tokens ?? 0;
  return {
    input: Math.max(0, given.prompt_tokens - cacheRead),
    output: Math.max(0, given.completion_tokens - reasoning),
    cacheRead,
    cacheWrite: 0,
    reasoning,
  };
}

// --- Gemini

const generated = z.object({
  responseId: z.string().nullish().catch(null),
  modelVersion: z.string().nullish().catch(null),
  candidates: z
    .array(z.object({ finishReason: z.string().nullish().catch(null) }))
    .nullish()
    .catch(null),
  usageMetadata: z
    .object({
      promptTokenCount: count,
      candidatesTokenCount: count,
      cachedContentTokenCount: count,
      thoughtsTokenCount: count,
      toolUsePromptTokenCount: count,
    })
    .nullish()
    .catch(null),
});

const generate: Wire = {
  name: 'generate',
  spentStatus: 402,
  hear(told, given) {
    const { data } = generated.safeParse(given);
    if (!data) return told;
    const { usageMetadata: used } = data;
    const cacheRead = used?.cachedContentTokenCount ?? 0;
    return {
      id: data.responseId ?? told.id,
      model: data.modelVersion ?? told.model,
      usage: used
        ? {
            input:
              Math.max(0, (used.promptTokenCount ?? 0) - cacheRead) + (used.toolUsePromptTokenCount ?? 0),
            output: used.candidatesTokenCount ?? 0,
            cacheRead,
            cacheWrite: 0,
            reasoning: used.thoughtsTokenCount ?? 0,
          }
        : told.usage,
      isWhole: told.isWhole || (data.candidates ?? []).some(({ finishReason }) => finishReason != null),
    };
  },
  refusal: (code, status, text) => ({ error: { code, status, message: text } }),
};

// --- what is asked

export interface Asked {
  /** Null for what costs nothing: a list of models, a count of tokens. */
  wire: Wire | null;
  /** Whose form an error has. */
  speaks: Wire;
  model: string | null;
}

/** Each from its beginning, below the provider's address: what ends alike may be something else (`/threads/…/messages`). */
const PATHS: readonly { method: string; path: RegExp; speaks: Wire; isFree?: true }[] = [
  { method: 'POST', path: /^(?:\/v1)?\/messages$/, speaks: messages },
  { method: 'POST', path: /^(?:\/v1)?\/messages\/count_tokens$/, speaks: messages, isFree: true },
  // ChatGPT has it below a name of its own.
  { method: 'POST', path: /^(?:\/v1|\/codex)?\/responses(?:\/compact)?$/, speaks: responses },
  { method: 'POST', path: /^(?:\/v1)?\/chat\/completions$/, speaks: chat },
  {
    method: 'POST',
    path: /^(?:\/v1(?:alpha|beta)?)?\/models\/([\w.-]+):(?:streamG|g)enerateContent$/,
    speaks: generate,
  },
  {
    method: 'POST',
    path: /^(?:\/v1(?:alpha|beta)?)?\/models\/([\w.-]+):countTokens$/,
    speaks: generate,
    isFree: true,
  },
  ...[messages, responses, chat].map((speaks) => ({
    method: 'GET',
    path: /^(?:\/v1|\/codex)?\/models(?:\/[\w.-]+)?$/,
    speaks,
    isFree: true as const,
  })),
  { method: 'GET', path: /^(?:\/v1(?:alpha|beta)?)?\/models(?:\/[\w.-]+)?$/, speaks: generate, isFree: true },
];

/** Null for a path that asks no model. */
export function askedBy(
  known: readonly WireName[],
  method: string,
  path: string,
): (Asked & { modelInBody: boolean }) | null {
  for (const { method: wanted, path: pattern, speaks, isFree } of PATHS) {
    const found = method === wanted && known.includes(speaks.name) ? pattern.exec(path) : null;
    if (!found) continue;
    return {
      wire: isFree ? null : speaks,
      speaks,
      model: found[1] ?? null,
      modelInBody: found[1] === undefined && method === 'POST',
    };
  }
  return null;
}
