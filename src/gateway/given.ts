/** What a call says of itself: whom it asks, what it may use, and how the answer is to come. */
import { z } from 'zod';
import type { WireName } from './wires.ts';

export interface Given {
  /** As it is passed on: exactly what was looked at, so that there is no second reading of it. */
  body: Buffer;
  call: Record<string, unknown>;
  model: string | null;
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

/** Null when it is no JSON object. */
export function givenBy(wire: WireName, text: Buffer): Given | null {
  const { data } = fields.safeParse(parsed(text));
  if (!data) return null;
  const { generationConfig: { maxOutputTokens, candidateCount } = {}, ...given } = data;
  const limits = [given.max_tokens, given.max_output_tokens, given.max_completion_tokens, maxOutputTokens];
  const known = limits.filter((limit) => limit !== undefined);
  const asksNoUsage =
    wire === 'chat' && given.stream === true && given.stream_options?.include_usage !== true;
  const call = parsed(text) as Record<string, unknown>;
  if (asksNoUsage) call.stream_options = { ...given.stream_options, include_usage: true };
  return {
    body: Buffer.from(JSON.stringify(call)),
    call,
    model: given.model ?? null,
    output: (known.length > 0 ? Math.max(...known) : USUAL_OUTPUT) * (given.n ?? candidateCount ?? 1),
    isBackground: wire === 'responses' && Boolean(given.background),
    asksNoUsage,
  };
}

function parsed(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString('utf8'));
  } catch {
    return null;
  }
}
