/** How a turn of opencode failed, from the fields of its error; never from words that it may have read in a file. */
import { z } from 'zod';
import type { FailureCode } from '../agent.ts';
import { codeOfStatus } from '../http-status.ts';
import type { TurnError } from './message.ts';

export interface Failure {
  code: FailureCode;
  message: string;
  retryAt: number | null;
}

const NAMED: Record<string, FailureCode> = {
  ProviderAuthError: 'auth',
  ContextOverflowError: 'context_overflow',
  ContentFilterError: 'refusal',
  StructuredOutputError: 'invalid_result',
  MessageOutputLengthError: 'invalid_result',
};

/** A provider that asks for a longer wait than this has a limit that is used up, not a rush. */
const LONG_WAIT_MS = 60_000;

export function failureOf({ name, data }: TurnError, now: number): Failure {
  const message = (data.message || name).slice(0, 2000);
  const code = name === 'APIError' ? codeOfAnswer(data) : (NAMED[name] ?? 'crashed');
  const waitMs = waitIn(data.responseHeaders ?? {});
  return code === 'rate_limit' && waitMs !== null
    ? toldToWait(message, now + waitMs, now)
    : { code, message, retryAt: null };
}

const MOST_RETRIES = 2;
const OWN_WAIT_MS = 2_000;

/**
 * opencode asks again up to five times, and tells why in words only. It gets two; then the loop waits, which writes it
 * down. A wait that is longer than its own is the provider's, and ends the turn at once.
 */
export function failureOfRetry(
  retry: { attempt: number; message: string; next: number },
  now: number,
): Failure | null {
  const ownWaitMs = OWN_WAIT_MS * 2 ** (retry.attempt - 1);
  if (retry.next - now > 2 * ownWaitMs) return toldToWait(retry.message, retry.next, now);
  if (retry.attempt <= MOST_RETRIES) return null;
  const message = `the provider failed ${retry.attempt} times in a row: ${retry.message}`.slice(0, 2000);
  return { code: 'overload', message, retryAt: null };
}

const toldToWait = (message: string, retryAt: number, now: number): Failure => ({
  code: retryAt - now > LONG_WAIT_MS ? 'usage_limit' : 'rate_limit',
  message: message.slice(0, 2000),
  retryAt,
});

const body = z.object({ error: z.object({ code: z.string().nullish() }) });

function codeOfAnswer({ statusCode, responseBody = '' }: TurnError['data']): FailureCode {
  if (statusCode === undefined) return 'network';
  const { data } = body.safeParse(parsed(responseBody));
  return data?.error.code === 'context_length_exceeded' ? 'context_overflow' : codeOfStatus(statusCode);
}

function waitIn(headers: Readonly<Record<string, string>>): number | null {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
