/** How a turn over ACP failed, from the fields of the agent's error; never from words that it may have read in a file. */
import { z } from 'zod';
import type { Failure, FailureCode } from '../agent.ts';
import { failureOfSilence } from '../unanswered.ts';
import { failureInBody } from '../wire/answer.ts';
import { ANTHROPIC, NAMED_BY_CLAUDE, unwrapped } from '../wire/anthropic.ts';
import { GEMINI } from '../wire/gemini.ts';
import { NAMED_BY_CODEX } from '../wire/openai.ts';
import { failureSaid, knownFailure, type Said } from '../wire/said.ts';
import { wordsOf } from '../wire/words.ts';

const AUTH_REQUIRED = -32000;

const requestError = z.object({
  code: z.number(),
  message: z.string().catch(''),
  // Fields that Claude's adapter adds, and Codex's.
  data: z
    .looseObject({
      errorKind: z.string().optional().catch(undefined),
      codexErrorInfo: z.unknown().optional(),
      message: z.string().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});

/** Why a request was answered with an error. */
export function failureOf(error: unknown): Failure {
  const silence = failureOfSilence(error);
  if (silence) return silence;
  const text = String((error as Error)?.message ?? error);
  const { code, data } = requestError.safeParse(error).data ?? {};
  const failed = (as: FailureCode, message: string): Failure => ({
    code: as,
    message: wordsOf(message).slice(0, 2000),
    retryAt: null,
  });
  if (data?.errorKind !== undefined) return ofClaude(data.errorKind, text);
  const byCodex = typeof data?.codexErrorInfo === 'string' ? NAMED_BY_CODEX[data.codexErrorInfo] : undefined;
  if (byCodex) return failed(byCodex === 'usage_limit' ? 'billing' : byCodex, data?.message ?? text);
  if (code === AUTH_REQUIRED) return failed('auth', text);
  // Errors of the protocol are below 0; Gemini hands on its provider's HTTP status.
  return code !== undefined && code >= 400 && code < 600
    ? ofGemini(code, text)
    : failed('crashed', data?.message ?? text);
}

function ofClaude(kind: string, text: string): Failure {
  const { status, message: whole } = unwrapped(text);
  const message = wordsOf(whole);
  const named = NAMED_BY_CLAUDE[kind];
  if (named) return { code: named, message: message.slice(0, 2000), retryAt: null };
  if (status !== null) return failureSaid(words(status, message), ANTHROPIC);
  const code = kind === 'invalid_request' ? kind : 'crashed';
  return knownFailure(words(status, message), ANTHROPIC) ?? { code, message, retryAt: null };
}

/** The provider's whole answer or its words; of a stream that broke off, the answer behind words of Gemini's own. */
function ofGemini(status: number, text: string): Failure {
  const answer = text.replace(/^got status: \w+\. /, '');
  return failureInBody(status, answer) ?? failureSaid(words(status, wordsOf(answer)), GEMINI);
}

const words = (status: number | null, message: string): Said => ({ status, type: null, code: null, message });

const told = z.object({
  codex: z.object({ threadStatus: z.object({ type: z.literal('systemError') }) }),
});

/**
 * Codex's adapter ends a turn that failed as if it were done, and tells beside an update that it was not. Why, it tells
 * only clients of one vendor, for whom it asks the model more than it was asked to; but its Codex writes it down.
 */
export const failureTold = (meta: unknown): Failure | null =>
  told.safeParse(meta).success
    ? { code: 'overload', message: 'Codex met an error of its provider', retryAt: null }
    : null;

/** Why is not told, or in no words of the provider's: a record of the program's own may have them. */
export const isUnexplained = (said: Failure | null): boolean =>
  said === null || said.code === 'crashed' || said.message === 'Authentication required';
