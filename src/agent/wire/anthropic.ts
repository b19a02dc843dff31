/**
 * The Messages API of Anthropic. Its errors: https://platform.claude.com/docs/en/api/errors, and what its programs were
 * seen to hand on. A credit balance and a spend limit of one's own are told by words only: both are plain 400s.
 */
import { z } from 'zod';
import type { FailureCode } from '../agent.ts';
import type { Row, Said } from './said.ts';

export const ANTHROPIC: readonly Row[] = [
  { type: 'billing_error', means: 'billing' },
  { code: 'enforced_spend_limit_reached', means: 'billing' },
  { says: /^(Your )?credit balance is too low/i, means: 'billing' },
  {
    status: 400,
    says: /^You have reached your specified .*usage limits/,
    means: 'billing',
    over: regainedOn,
  },
  { status: 400, says: /^This organization has been disabled/, means: 'auth' },
  // As Claude's program puts it.
  { says: /belongs to a disabled organization/, means: 'auth' },
  { status: 400, says: /^(output_config\.effort|thinking)\b/, means: 'setting_refused' },
  {
    status: 400,
    says: /\bdoes not support (the effort parameter|adaptive thinking)/,
    means: 'setting_refused',
  },
  { says: /^prompt is too long/i, means: 'context_overflow' },
  { type: 'request_too_large', means: 'context_overflow' },
  { type: 'overloaded_error', means: 'overload' },
  { says: /^This request would exceed (your organization's|the) rate limit/, means: 'rate_limit' },
];

/** As Claude's program and its ACP adapter name an error themselves. */
export const NAMED_BY_CLAUDE: Readonly<Record<string, FailureCode>> = {
  authentication_failed: 'auth',
  oauth_org_not_allowed: 'auth',
  account_on_hold: 'auth',
  verification_required: 'auth',
  cloud_credential_error: 'auth',
  org_disabled_credential: 'auth',
  billing_error: 'billing',
  rate_limit: 'rate_limit',
  overloaded: 'overload',
  server_error: 'overload',
  model_not_found: 'model_unavailable',
  max_output_tokens: 'invalid_result',
};

/** "You will regain access on 2026-12-01 at 00:00 UTC." */
function regainedOn(message: string): number | null {
  const [, day, time] = /regain access on (\d{4}-\d{2}-\d{2}) at (\d{2}:\d{2}) UTC/.exec(message) ?? [];
  return day === undefined ? null : Date.parse(`${day}T${time}:00Z`);
}

const body = z.object({
  type: z.literal('error'),
  error: z.object({
    type: z.string(),
    message: z.string().catch(''),
    details: z.object({ error_code: z.string() }).optional().catch(undefined),
  }),
});

/** Null when it is no error of this wire. */
export function saidByAnthropic(status: number | null, given: unknown): Said | null {
  const { data } = body.safeParse(given);
  if (!data) return null;
  const { type, message, details } = data.error;
  return { status, type, code: details?.error_code ?? null, message };
}

/** Claude's program puts the status before the provider's own words, and its adapter its own before that. */
export function unwrapped(text: string): { status: number | null; message: string } {
  const [, status, message] =
    /^(?:Internal error: )?(?:Failed to authenticate\. )?API Error: (?:Request rejected \()?(\d{3})\)?(?: ·)? ([\s\S]*)$/.exec(
      text,
    ) ?? [];
  if (message === undefined) return { status: null, message: text.replace(/^Internal error: /, '') };
  return { status: Number(status), message };
}
