/** How a turn of opencode failed, from the fields of its error; never from words that it may have read in a file. */
import { z } from 'zod';
import type { Failure, FailureCode } from '../agent.ts';
import { failureAnswered } from '../wire/answer.ts';
import { ANTHROPIC } from '../wire/anthropic.ts';
import { OPENAI } from '../wire/openai.ts';
import { knownFailure, type Row, type Said } from '../wire/said.ts';
import { wordsOf } from '../wire/words.ts';
import type { Messages, TurnError } from './message.ts';

export const OVERFLOW = 'ContextOverflowError';

const NAMED: Record<string, FailureCode> = {
  ProviderAuthError: 'auth',
  [OVERFLOW]: 'context_overflow',
  ContentFilterError: 'refusal',
  StructuredOutputError: 'invalid_result',
  MessageOutputLengthError: 'invalid_result',
};

/** A provider that asks for a longer wait than this has a limit that is used up, not a rush. */
const LONG_WAIT_MS = 60_000;

export function failureOf({ name, data }: TurnError, now: number): Failure {
  const message = wordsOf(data.message || name).slice(0, 2000);
  if (name !== 'APIError') return { code: NAMED[name] ?? 'crashed', message, retryAt: null };
  const failure = failureAnswered(data.statusCode ?? null, data.responseBody ?? '', message);
  const waitMs = waitIn(data.responseHeaders ?? {});
  return failure.code === 'rate_limit' && waitMs !== null
    ? toldToWait(failure.message, now + waitMs, now)
    : failure;
}

/** Why the last answer in a session is none, as its record has it; null when it is one. */
export function recordedFailure(record: Messages, now: number): Failure | null {
  const last = record.findLastIndex(
    ({ info: { role, summary, error, time } }) =>
      role === 'assistant' && !summary && (error !== undefined || time?.completed !== undefined),
  );
  const { error, time } = record[last]?.info ?? {};
  if (error !== undefined) return failureOf(error, time?.completed ?? now);
  // What did not fit has no error of its own: it is shortened, and asked again.
  if (!record[last + 1]?.parts.some(({ type }) => type === 'compaction')) return null;
  return {
    code: 'context_overflow',
    message: 'the conversation does not fit, even shortened',
    retryAt: null,
  };
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
  const said = saidIn(retry.message);
  if (retry.next - now > 2 * ownWaitMs) return toldToWait(said.message, retry.next, now);
  const known = knownFailure(said, [...OPENAI, ...ANTHROPIC, ...OWN]);
  if (known?.code === 'billing') return known;
  if (retry.attempt <= MOST_RETRIES) return null;
  if (known) return known;
  const message = `the provider failed ${retry.attempt} times in a row: ${said.message}`.slice(0, 2000);
  return { code: 'overload', message, retryAt: null };
}

/** What it says in place of a provider's words. */
const OWN: readonly Row[] = [{ says: /^(Too Many Requests|Rate Limited)/i, means: 'rate_limit' }];

const streamed = z.object({
  type: z.string().nullish().catch(null),
  code: z.string().nullish().catch(null),
  message: z.string(),
});

/** Words are all it hands on, and they are its provider's own; an error in the middle of a stream comes as it was sent. */
function saidIn(text: string): Said {
  const { data } = streamed.safeParse(parsed(text));
  const { type = null, code = null, message } = data ?? { message: wordsOf(text) };
  return { status: null, type, code, message };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A turn ends with an error that has a name or a status, or because an answer broke off. */
export const endsBroken = ({ name, data }: TurnError): boolean =>
  NAMED[name] === undefined && (data.statusCode ?? 0) < 400;

const toldToWait = (message: string, retryAt: number, now: number): Failure => ({
  code: retryAt - now > LONG_WAIT_MS ? 'usage_limit' : 'rate_limit',
  message: message.slice(0, 2000),
  retryAt,
});

function waitIn(headers: Readonly<Record<string, string>>): number | null {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null;
}
