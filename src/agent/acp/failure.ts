/** How a turn over ACP failed, from the fields of the agent's error; never from words that it may have read in a file. */
import { z } from 'zod';
import type { FailureCode } from '../agent.ts';
import { codeOfStatus } from '../http-status.ts';

export interface Failure {
  code: FailureCode;
  message: string;
  retryAt: number | null;
}

const AUTH_REQUIRED = -32000;

const requestError = z.object({
  code: z.number(),
  message: z.string().catch(''),
  // A field that Claude's adapter adds.
  data: z.looseObject({ errorKind: z.string() }).optional().catch(undefined),
});

/** Why a request was answered with an error. */
export function failureOf(error: unknown): Failure {
  const message = String((error as Error)?.message ?? error).slice(0, 2000);
  const { data } = requestError.safeParse(error);
  const named = NAMED[data?.data?.errorKind ?? ''];
  return { code: named ?? codeOf(data?.code), message, retryAt: null };
}

/** Errors of the protocol are below 0; Gemini hands on its provider's HTTP status. */
function codeOf(code: number | undefined): FailureCode {
  if (code === AUTH_REQUIRED) return 'auth';
  return code !== undefined && code >= 400 && code < 600 ? codeOfStatus(code) : 'crashed';
}

const told = z.object({
  codex: z.object({ threadStatus: z.object({ type: z.literal('systemError') }) }),
});

/**
 * Codex's adapter ends a turn that failed as if it were done, and tells beside an update that it was not. Why, it tells
 * only clients of one vendor, for whom it asks the model more than it was asked to.
 */
export const failureTold = (meta: unknown): Failure | null =>
  told.safeParse(meta).success
    ? { code: 'overload', message: 'Codex met an error of its provider', retryAt: null }
    : null;

/** As Claude's adapter names them. */
const NAMED: Readonly<Record<string, FailureCode>> = {
  authentication_failed: 'auth',
  billing_error: 'auth',
  rate_limit: 'rate_limit',
  overloaded: 'overload',
  server_error: 'overload',
  invalid_request: 'invalid_request',
  model_not_found: 'model_unavailable',
  max_output_tokens: 'invalid_result',
};
