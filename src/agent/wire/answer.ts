/** An error's body, of whichever wire it is. */
import type { Failure } from '../agent.ts';
import { ANTHROPIC, saidByAnthropic } from './anthropic.ts';
import { GEMINI, saidByGemini } from './gemini.ts';
import { OPENAI, saidByOpenai } from './openai.ts';
import { codeOfStatus, failureSaid } from './said.ts';
import { wordsOf } from './words.ts';

/** Null when the text is no error that one of them sends. */
export function failureInBody(status: number | null, text: string): Failure | null {
  const given = parsed(text);
  const anthropic = saidByAnthropic(status, given);
  if (anthropic) return failureSaid(anthropic, ANTHROPIC);
  const gemini = saidByGemini(given);
  if (gemini) return failureSaid(gemini, GEMINI);
  const openai = saidByOpenai(status, given);
  return openai && failureSaid(openai, OPENAI);
}

/** The same, or by the status alone. Nobody is shown a body. */
export const failureAnswered = (status: number | null, text: string, message: string): Failure =>
  failureInBody(status, text) ?? {
    code: codeOfStatus(status),
    message: wordsOf(message).slice(0, 2000),
    retryAt: null,
  };

/** Google sends a list of one where it was asked for a stream. */
function parsed(text: string): unknown {
  try {
    const given: unknown = JSON.parse(text);
    return Array.isArray(given) ? given[0] : given;
  } catch {
    return null;
  }
}
