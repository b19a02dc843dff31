/** What a call says of itself: whom it asks, what it may use, and how the answer is to come. */
import { z } from 'zod';
import { strangeJson } from '../core/text/strange-json.ts';
import type { WireName } from './wires.ts';

export interface Given {
  /** As it is passed on: exactly what was looked at, so that there is no second reading of it. */
  body: Buffer;
  call: Record<string, unknown>;
  model: string | null;
  /** Whom a router may ask in its place. */
  otherModels: string[];
  /** The most tokens that its answers may have. */
  output: number;
  /** Its answer is made when nobody listens any more, and what that used is told to nobody. */
  isBackground: boolean;
  /** It is asked on its behalf to tell what it used. */
  asksNoUsage: boolean;
}

/** Of a call that names no limit of its own. */
const USUAL_OUTPUT = 32_000;

const amount = z.number().positive().optional().catch(undefined);
const fields = z.looseObject({
  model: z.string().nullish().catch(null),
  models: z.unknown().optional(),
  max_tokens: amount,
  max_output_tokens: amount,
  max_completion_tokens: amount,
  n: amount,
  generationConfig: z
    .looseObject({ maxOutputTokens: amount, candidateCount: amount })
    .optional()
    .catch(undefined),
  stream: z.unknown().optional(),
  stream_options: z.looseObject({ include_usage: z.unknown().optional() }).nullish().catch(null),
  background: z.unknown().optional(),
});

/** Those that a provider heeds: one that it passes over would make a call look small. */
const LIMITS: Record<
  WireName,
  (given: z.output<typeof fields>) => { limits: (number | undefined)[]; answers?: number | undefined }
> = {
  messages: ({ max_tokens }) => ({ limits: [max_tokens] }),
  responses: ({ max_output_tokens }) => ({ limits: [max_output_tokens] }),
  chat: ({ max_tokens, max_completion_tokens, n }) => ({
    limits: [max_tokens, max_completion_tokens],
    answers: n,
  }),
  generate: ({ generationConfig }) => ({
    limits: [generationConfig?.maxOutputTokens],
    answers: generationConfig?.candidateCount,
  }),
};

/** Null when it is no JSON object, or one that is too large to be read. */
export function givenBy(wire: WireName, text: Buffer): Given | null {
  const call = parsed(text) as Record<string, unknown>;
  const { data } = fields.safeParse(call);
  if (!data) return null;
  const { limits, answers = 1 } = LIMITS[wire](data);
  const known = limits.filter((limit) => limit !== undefined);
  const asksNoUsage = wire === 'chat' && data.stream === true && data.stream_options?.include_usage !== true;
  if (asksNoUsage) call.stream_options = { ...data.stream_options, include_usage: true };
  return {
    body: Buffer.from(JSON.stringify(call)),
    call,
    model: data.model ?? null,
    otherModels: [data.models ?? []].flat().map(String),
    output: (known.length > 0 ? Math.max(...known) : USUAL_OUTPUT) * answers,
    isBackground: wire === 'responses' && Boolean(data.background),
    asksNoUsage,
  };
}

function parsed(text: Buffer): unknown {
  try {
    return strangeJson(text.toString('utf8'));
  } catch {
    return null;
  }
}
