/**
 * The Gemini API. Its errors: https://ai.google.dev/gemini-api/docs/troubleshooting, in the shape of google.rpc.Status:
 * what kind it is stands in `status`, and more in `details`. A quota of the day is used up until the next one begins. Money,
 * a setting and a prompt that is too long are told by words only.
 */
import { z } from 'zod';
import type { Row, Said } from './said.ts';

export const GEMINI: readonly Row[] = [
  { code: 'API_KEY_INVALID', means: 'auth' },
  { code: 'SERVICE_DISABLED', means: 'auth' },
  { code: 'BILLING_DISABLED', means: 'billing' },
  { code: 'PerDay', means: 'billing' },
  { status: 429, says: /^Your prepayment credits are depleted/, means: 'billing' },
  { status: 429, says: /^Your project has exceeded its monthly spending cap/, means: 'billing' },
  { status: 400, says: /^thinking[ _](level|budget)\b.* not supported/i, means: 'setting_refused' },
  { status: 400, says: /^The input token count .*exceeds the maximum/, means: 'context_overflow' },
  { type: 'RESOURCE_EXHAUSTED', means: 'rate_limit' },
  { type: 'UNAUTHENTICATED', means: 'auth' },
  { type: 'PERMISSION_DENIED', means: 'auth' },
  { type: 'NOT_FOUND', means: 'model_unavailable' },
  { says: /^models\/\S+ is not found for API version/, means: 'model_unavailable' },
  { type: 'UNAVAILABLE', means: 'overload' },
];

const detail = z.looseObject({
  reason: z.string().optional().catch(undefined),
  violations: z
    .array(z.looseObject({ quotaId: z.string().catch('') }))
    .optional()
    .catch(undefined),
});
const body = z.object({
  error: z.object({
    code: z.number(),
    status: z.string().catch(''),
    message: z.string().catch(''),
    details: z.array(detail).catch([]),
  }),
});

/** Null when it is no error of this wire. */
export function saidByGemini(given: unknown): Said | null {
  const { data } = body.safeParse(given);
  if (!data) return null;
  const { code: status, status: type, message, details } = data.error;
  const isOfDay = details.some(({ violations = [] }) =>
    violations.some(({ quotaId }) => quotaId.includes('PerDay')),
  );
  const reason = details.map((one) => one.reason).find((one) => one !== undefined);
  return { status, type, code: isOfDay ? 'PerDay' : (reason ?? null), message };
}
