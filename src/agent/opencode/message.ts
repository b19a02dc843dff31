/** Messages of an opencode session, as far as we look at them. */
import { z } from 'zod';

export const turnError = z.object({
  name: z.string(),
  data: z
    .object({
      message: z.string().catch(''),
      statusCode: z.number().optional().catch(undefined),
      responseHeaders: z.record(z.string(), z.string()).optional().catch(undefined),
      responseBody: z.string().optional().catch(undefined),
    })
    .catch({ message: '' }),
});
export type TurnError = z.output<typeof turnError>;

export const messageInfo = z.object({
  id: z.string(),
  sessionID: z.string(),
  role: z.enum(['user', 'assistant']),
  providerID: z.string().optional(),
  modelID: z.string().optional(),
  error: turnError.optional().catch(undefined),
  /** The conversation, shortened by itself. */
  summary: z.literal(true).optional().catch(undefined),
  finish: z.string().optional(),
  structured: z.unknown().optional(),
  time: z.object({ created: z.number(), completed: z.number().optional() }).optional().catch(undefined),
});
export type MessageInfo = z.output<typeof messageInfo>;

const count = z.number().nonnegative().catch(0);

export const messagePart = z.object({
  id: z.string(),
  sessionID: z.string(),
  messageID: z.string(),
  type: z.string(),
  text: z.string().optional().catch(undefined),
  /** `step-finish`: what one call of the model used. */
  tokens: z
    .object({
      input: count,
      output: count,
      reasoning: count,
      cache: z.object({ read: count, write: count }),
    })
    .optional()
    .catch(undefined),
  cost: z.number().optional().catch(undefined),
  tool: z.string().optional().catch(undefined),
  state: z
    .object({
      status: z.string(),
      input: z.record(z.string(), z.unknown()).catch({}),
      output: z.unknown().optional(),
      error: z.unknown().optional(),
    })
    .optional()
    .catch(undefined),
});
export type MessagePart = z.output<typeof messagePart>;

/** What the model said in it. */
export const textOf = (parts: readonly MessagePart[]): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('\n');

export const message = z.object({ info: messageInfo, parts: z.array(messagePart) });
export const messages = z.array(message);
export type Messages = z.output<typeof messages>;
