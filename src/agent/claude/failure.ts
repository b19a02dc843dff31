/** How a turn of Claude ended, from its result's fields; never from words that it may have read in a file. */
import type { Failure, FailureCode } from '../agent.ts';
import { ANTHROPIC, NAMED_BY_CLAUDE, unwrapped } from '../wire/anthropic.ts';
import { failureSaid } from '../wire/said.ts';
import { wordsOf } from '../wire/words.ts';
import type { ResultMessage } from './message.ts';

/**
 * Null when the result is a success. `named`: what the program called the error of its last request. `limitResetsAt`:
 * seconds, when the account's limit was told to be reached.
 */
export function failureOf(
  result: ResultMessage,
  { named, limitResetsAt }: { named: string | null; limitResetsAt: number | null },
): Failure | null {
  // An answer cut off by the model's own limit, or stopped in a tool, still says is_error: false.
  if (!result.is_error && result.subtype === 'success') return null;
  const message = wordsOf(unwrapped(result.result ?? result.errors?.join('\n') ?? result.subtype).message);
  const failed = (code: FailureCode, retryAt: number | null = null): Failure => ({
    code,
    message: message.slice(0, 2000),
    retryAt,
  });
  if (result.stop_reason === 'refusal') return failed('refusal');
  if (OVERFLOW.includes(result.terminal_reason ?? '')) return failed('context_overflow');
  const status = result.api_error_status ?? null;
  if (result.api_error === 'usage_limit_reached' || (status === 429 && limitResetsAt !== null))
    return failed('usage_limit', limitResetsAt === null ? null : limitResetsAt * 1000);
  const code = NAMED_BY_CLAUDE[result.api_error ?? ''] ?? NAMED_BY_CLAUDE[named ?? ''];
  // Of an answer its status and type tell more; without one nobody was reached.
  if (code && code !== 'rate_limit' && code !== 'overload') return failed(code);
  if (status !== null) {
    const { api_error_type: type = null, api_error_code: detail = null } = result;
    return failureSaid({ status, type, code: detail, message }, ANTHROPIC);
  }
  // Told in the middle of an answer, neither has a status; a connection that broke off is called an error of the server.
  if (code && named !== 'server_error' && result.api_error !== 'server_error') return failed(code);
  if (result.terminal_reason === 'api_error') return failed('network');
  return failed('crashed');
}

const OVERFLOW = ['prompt_too_long', 'blocking_limit', 'rapid_refill_breaker'];
