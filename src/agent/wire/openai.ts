/**
 * The Responses and Chat Completions APIs of OpenAI, which many others speak. Their errors:
 * https://platform.openai.com/docs/guides/error-codes. An empty account is a 429 like a rush; its type and code tell.
 */
import { z } from 'zod';
import type { FailureCode } from '../agent.ts';
import type { Row, Said } from './said.ts';

export const OPENAI: readonly Row[] = [
  { type: 'insufficient_quota', means: 'billing' },
  { says: /^You exceeded your current quota, please check your plan and billing/, means: 'billing' },
  { says: /^Rate limit reached for /, means: 'rate_limit' },
  { code: 'insufficient_quota', means: 'billing' },
  { code: 'credit_balance_exhausted', means: 'billing' },
  { code: 'organization_spend_limit_exceeded', means: 'billing' },
  { code: 'project_spend_limit_exceeded', means: 'billing' },
  { code: 'billing_hard_limit_reached', means: 'billing' },
  { code: 'billing_not_active', means: 'billing' },
  { code: 'context_length_exceeded', means: 'context_overflow' },
  { code: 'model_not_found', means: 'model_unavailable' },
  { code: 'invalid_api_key', means: 'auth' },
  { code: 'unsupported_parameter', means: 'setting_refused' },
  { code: 'unsupported_value', means: 'setting_refused' },
];

/** As Codex names an error itself. */
export const NAMED_BY_CODEX: Readonly<Record<string, FailureCode>> = {
  contextWindowExceeded: 'context_overflow',
  usageLimitExceeded: 'usage_limit',
  rateLimitExceeded: 'rate_limit',
  serverOverloaded: 'overload',
  flexUnavailable: 'overload',
  internalServerError: 'overload',
  unauthorized: 'auth',
  modelNotFound: 'model_unavailable',
  badRequest: 'invalid_request',
  cyberPolicy: 'refusal',
  misalignmentPolicyViolation: 'refusal',
};

const word = z.string().nullish().catch(null);
const body = z.object({
  error: z.object({ message: z.string().catch(''), type: word, code: word }),
});

/** Null when it is no error of this wire. */
export function saidByOpenai(status: number | null, given: unknown): Said | null {
  const { data } = body.safeParse(given);
  if (!data) return null;
  const { message, type = null, code = null } = data.error;
  return type === null && code === null ? null : { status, type, code, message };
}
