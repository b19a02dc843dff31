/** How a turn of Claude ended, from its result's fields; never from words that it may have read in a file. */
import type { FailureCode } from '../agent.ts';
import { codeOfStatus } from '../http-status.ts';
import type { ResultMessage } from './message.ts';

export interface Failure {
  code: FailureCode;
  message: string;
  retryAt: number | null;
}

/** Null when the result is a success. `limitResetsAt`: seconds, when the account's limit was told to be reached. */
export function failureOf(result: ResultMessage, limitResetsAt: number | null): Failure | null {
  // An answer cut off by the model's own limit, or stopped in a tool, still says is_error: false.
  if (!result.is_error && result.subtype === 'success') return null;
  const message = (result.result ?? result.errors?.join('\n') ?? result.subtype).slice(0, 2000);
  const failed = (code: FailureCode, retryAt: number | null = null): Failure => ({ code, message, retryAt });
  if (result.stop_reason === 'refusal') return failed('refusal');
  if (OVERFLOW.includes(result.terminal_reason ?? '')) return failed('context_overflow');
  const status = result.api_error_status ?? null;
  if (result.api_error === 'usage_limit_reached' || (status === 429 && limitResetsAt !== null))
    return failed('usage_limit', limitResetsAt === null ? null : limitResetsAt * 1000);
  if (status !== null) return failed(codeOfStatus(status));
  if (result.terminal_reason === 'api_error') return failed('network');
  return failed('crashed');
}

const OVERFLOW = ['prompt_too_long', 'blocking_limit', 'rapid_refill_breaker'];
