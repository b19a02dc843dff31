/** How a turn of Codex failed, from the fields of its error; never from words that it may have read in a file. */
import { z } from 'zod';
import type { Failure } from '../agent.ts';
import { failureInBody } from '../wire/answer.ts';
import { NAMED_BY_CODEX } from '../wire/openai.ts';
import { codeOfStatus } from '../wire/said.ts';
import { wordsOf } from '../wire/words.ts';

export const turnError = z.object({ message: z.string(), codexErrorInfo: z.unknown().optional() });
export type TurnError = z.output<typeof turnError>;

/** `limitResetsAt`: seconds, the latest end of a limit that is used up. */
export function failureOf(
  error: TurnError | null,
  retried: TurnError | null,
  limitResetsAt: number | null,
): Failure {
  // The last word may have no kind; then it is that of what was tried again and again.
  const own = failureTold(error);
  const { code } = own.code === 'crashed' && retried !== null ? failureTold(retried) : own;
  if (code !== 'usage_limit') return { ...own, code };
  // An account that is paid by use has no time at which its quota comes back.
  return limitResetsAt === null
    ? { ...own, code: 'billing' }
    : { ...own, code, retryAt: limitResetsAt * 1000 };
}

/**
 * The connection broke, so no status refused the request: what the provider answered was paid for, and its usage comes
 * with the end that nobody heard.
 */
export function brokeOff({ codexErrorInfo }: TurnError): boolean {
  const connection = byStatus.safeParse(codexErrorInfo).data;
  return Object.values(connection ?? {}).some(({ httpStatusCode }) => (httpStatusCode ?? 0) < 400);
}

const byStatus = z.record(z.string(), z.object({ httpStatusCode: z.number().nullable() }));

function failureTold(error: TurnError | null): Failure {
  const whole = error?.message ?? 'the turn failed without saying why';
  const message = wordsIn(whole).slice(0, 2000);
  const info = error?.codexErrorInfo;
  const named = typeof info === 'string' ? NAMED_BY_CODEX[info] : undefined;
  // A refused request is told by its whole body, which says more than that it was refused.
  const refused = named === undefined || named === 'invalid_request' ? failureInBody(400, whole) : null;
  if (named) return refused ?? { code: named, message, retryAt: null };
  const connection = byStatus.safeParse(info).data;
  const [status] = Object.values(connection ?? {});
  if (status) return { code: codeOfStatus(status.httpStatusCode), message, retryAt: null };
  if (message.startsWith(BROKEN_OFF)) return { code: 'network', message, retryAt: null };
  return refused ?? { code: 'crashed', message, retryAt: null };
}

/** Its own words, where it has no kind for it. */
const BROKEN_OFF = 'stream disconnected before completion: ';

/** It puts the status before its provider's words, and the address behind them. */
export const wordsIn = (message: string): string =>
  wordsOf(message.replace(/^unexpected status \d{3} [^:]*: /, '').replace(/, url: \S+$/, ''));
