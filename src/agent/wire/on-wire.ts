/** What the gateway saw instead of an answer, read by the tables of the wires; when it is over, by the provider's headers. */
import { z } from 'zod';
import type { Refused } from '../../gateway/gateway.ts';
import type { Failure, FailureCode, TurnResult } from '../agent.ts';
import { failureAnswered } from './answer.ts';

export function failureOnWire({ status, body, headers }: Refused, now: number): Failure {
  const failure = failureAnswered(status, body, `the provider answered with ${status}`);
  if (![429, 503, 529].includes(status)) return failure;
  const plan = planLimit.safeParse(parsed(body)).data?.error;
  const isPlan = plan !== undefined || headers['anthropic-ratelimit-unified-status'] === 'rejected';
  const limited = isPlan ? { ...failure, code: 'usage_limit' as const } : failure;
  return { ...limited, retryAt: failure.retryAt ?? resetOf(plan ?? {}, headers, now) };
}

/** Of ChatGPT, whose limits are told in the body. */
const seconds = z.number().nonnegative().optional().catch(undefined);
const planLimit = z.object({
  error: z.object({
    type: z.literal('usage_limit_reached'),
    resets_at: seconds,
    resets_in_seconds: seconds,
  }),
});

function resetOf(
  plan: { resets_at?: number | undefined; resets_in_seconds?: number | undefined },
  headers: Refused['headers'],
  now: number,
): number | null {
  if (plan.resets_at !== undefined) return plan.resets_at * 1000;
  if (plan.resets_in_seconds !== undefined) return now + plan.resets_in_seconds * 1000;
  const unified = Number(headers['anthropic-ratelimit-unified-reset']);
  if (unified > 0) return unified * 1000;
  const after = headers['retry-after'];
  if (after === undefined) return null;
  const at = /^\d+(\.\d+)?$/.test(after) ? now + Number(after) * 1000 : Date.parse(after);
  return Number.isFinite(at) ? at : null;
}

/** What an agent says when its provider refused; of anything else it knows better what happened. */
const OF_PROVIDER: readonly FailureCode[] = [
  ...(['exit_nonzero', 'crashed', 'network', 'overload', 'rate_limit', 'usage_limit'] as const),
  ...(['auth', 'billing', 'model_unavailable', 'setting_refused', 'invalid_request'] as const),
];

/** The wire has the provider's own word; where the agent means the same, its words, and what it knows of a limit, are kept. */
export function withFailureOnWire(result: TurnResult, seen: Failure | null): TurnResult {
  if (seen === null || result.status !== 'failed' || !OF_PROVIDER.includes(result.code)) return result;
  const isSame = result.code === seen.code || (result.code === 'usage_limit' && seen.code === 'rate_limit');
  return {
    ...result,
    ...(isSame ? {} : { code: seen.code, message: seen.message }),
    retryAt: seen.retryAt ?? result.retryAt,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
