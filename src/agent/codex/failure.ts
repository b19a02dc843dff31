/** How a turn of Codex failed, from the fields of its error; never from words that it may have read in a file. */
import { z } from 'zod';
import type { FailureCode } from '../agent.ts';
import { codeOfStatus } from '../http-status.ts';

export const turnError = z.object({ message: z.string(), codexErrorInfo: z.unknown().optional() });
export type TurnError = z.output<typeof turnError>;

export interface Failure {
  code: FailureCode;
  message: string;
  retryAt: number | null;
}

/** `limitResetsAt`: seconds, the latest end of a limit that is used up. */
export function failureOf(
  error: TurnError | null,
  retried: TurnError | null,
  limitResetsAt: number | null,
): Failure {
  const message = (error?.message ?? 'the turn failed without saying why').slice(0, 2000);
  // The last word may have no kind; then it is that of what was tried again and again.
  const own = codeOf(error);
  const code = own === 'crashed' && retried !== null ? codeOf(retried) : own;
  const retryAt = code === 'usage_limit' && limitResetsAt !== null ? limitResetsAt * 1000 : null;
  return { code, message, retryAt };
}

const NAMED: Record<string, FailureCode> = {
  contextWindowExceeded: 'context_overflow',
  usageLimitExceeded: 'usage_limit',
  rateLimitExceeded: 'rate_limit',
  serverOverloaded: 'overload',
  flexUnavailable: 'overload',
  internalServerError: 'overload',
  unauthorized: 'auth',
  badRequest: 'invalid_request',
  cyberPolicy: 'refusal',
  misalignmentPolicyViolation: 'refusal',
};

const byStatus = z.record(z.string(), z.object({ httpStatusCode: z.number().nullable() }));
const body = z.object({ error: z.object({ type: z.string().nullish(), code: z.string().nullish() }) });

function codeOf(error: TurnError | null): FailureCode {
  const info = error?.codexErrorInfo;
  if (typeof info === 'string' && NAMED[info]) return NAMED[info];
  const connection = byStatus.safeParse(info).data;
  const [status] = Object.values(connection ?? {});
  if (status) return status.httpStatusCode === null ? 'network' : codeOfStatus(status.httpStatusCode);
  // A refused request is told by its whole body and nothing else.
  const refused = body.safeParse(parsed(error?.message ?? '')).data?.error;
  if (refused?.code === 'context_length_exceeded') return 'context_overflow';
  return refused ? 'invalid_request' : 'crashed';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
