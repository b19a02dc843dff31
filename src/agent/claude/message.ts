/**
 * What Claude's stream says, as far as we look at it. Everything is read leniently: a field that is missing or new
 * must not break a turn, only a message that is no object counts as nothing.
 */
import { z } from 'zod';

const count = z.number().nonnegative().catch(0);

const apiUsage = z.object({
  input_tokens: count.optional(),
  output_tokens: count.optional(),
  cache_read_input_tokens: count.nullish(),
  cache_creation_input_tokens: count.nullish(),
  output_tokens_details: z.object({ thinking_tokens: count.nullish() }).nullish(),
});
export type ApiUsage = z.output<typeof apiUsage>;

const block = z.looseObject({
  type: z.string(),
  id: z.string().optional(),
  name: z.string().optional(),
  text: z.string().optional(),
});

export const assistantMessage = z.object({
  type: z.literal('assistant'),
  message: z.object({
    id: z.string(),
    model: z.string(),
    stop_reason: z.string().nullish(),
    usage: apiUsage.optional(),
    content: z.array(block).catch([]),
  }),
  parent_tool_use_id: z.string().nullish(),
  /** On the message that stands for a request that failed. */
  error: z.string().optional().catch(undefined),
});

/** What its tools brought. */
const userMessage = z.object({
  type: z.literal('user'),
  message: z.object({
    content: z
      .array(
        z.looseObject({
          type: z.string(),
          tool_use_id: z.string().optional(),
          content: z.unknown().optional(),
        }),
      )
      .catch([]),
  }),
});

const streamEvent = z.object({
  type: z.literal('stream_event'),
  api_message_id: z.string().optional(),
  event: z.discriminatedUnion('type', [
    z.object({
      type: z.literal('message_start'),
      message: z.object({ id: z.string(), model: z.string(), usage: apiUsage.optional() }),
    }),
    z.object({ type: z.literal('message_delta'), usage: apiUsage.optional() }),
  ]),
});

export const modelUsage = z.object({
  inputTokens: count,
  outputTokens: count,
  thinkingTokens: count.optional(),
  cacheReadInputTokens: count,
  cacheCreationInputTokens: count,
  costUSD: z.number().nonnegative().catch(0),
  costBasis: z.string().optional(),
});
export type ModelUsage = z.output<typeof modelUsage>;

const resultMessage = z.object({
  type: z.literal('result'),
  uuid: z.string().catch(''),
  subtype: z.string(),
  is_error: z.boolean().catch(true),
  result: z.string().optional(),
  errors: z.array(z.string()).optional().catch([]),
  stop_reason: z.string().nullish(),
  terminal_reason: z.string().optional(),
  api_error_status: z.number().nullish(),
  api_error: z.string().optional().catch(undefined),
  /** As the provider's answer had them. */
  api_error_type: z.string().optional().catch(undefined),
  api_error_code: z.string().optional().catch(undefined),
  structured_output: z.unknown().optional(),
  /** Undocumented, and the only figures that are this process's own: totals go on from the transcript on resume. */
  model_usage_since_last_result: z.record(z.string(), modelUsage).optional().catch(undefined),
});
export type ResultMessage = z.output<typeof resultMessage>;

const rateLimitEvent = z.object({
  type: z.literal('rate_limit_event'),
  rate_limit_info: z.object({ status: z.string(), resetsAt: z.number().optional() }),
});

const systemMessage = z.object({
  type: z.literal('system'),
  subtype: z.string(),
  /** With `background_tasks_changed`: what still runs. */
  tasks: z.array(z.unknown()).optional(),
  /** With `compact_boundary`. */
  compact_metadata: z.object({ trigger: z.string(), pre_tokens: z.number() }).optional().catch(undefined),
  /** With `api_retry`. */
  error: z.string().optional().catch(undefined),
  error_status: z.number().nullish().catch(null),
});

const message = z.discriminatedUnion('type', [
  assistantMessage,
  userMessage,
  streamEvent,
  resultMessage,
  rateLimitEvent,
  systemMessage,
]);
export type ClaudeMessage = z.output<typeof message>;

/** Null for what we do not look at. */
export function readMessage(given: unknown): ClaudeMessage | null {
  const parsed = message.safeParse(given);
  return parsed.success ? parsed.data : null;
}

const doing = z.object({
  type: z.string(),
  subtype: z.string().optional().catch(undefined),
  event: z.object({ type: z.string() }).optional().catch(undefined),
});

/**
 * Whether the model or a tool did something: signs of life of the program itself, or of the connection, are none, and that a
 * tool is still running is known without its being told.
 */
export function isDoing(given: unknown): boolean {
  const { data } = doing.safeParse(given);
  if (data?.type === 'stream_event') return data.event?.type !== 'ping';
  if (data?.type === 'system') return /^(task_|compact_|thinking_)/.test(data.subtype ?? '');
  return data !== undefined && ['assistant', 'user', 'result'].includes(data.type);
}
