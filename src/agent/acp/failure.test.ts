import { expect, test } from 'vitest';
import { ANSWERED, MEANS, type ProviderError } from '../../../test/support/llm/provider-errors.ts';
import { failureOf, isUnexplained } from './failure.ts';

const refused = (code: number, message: string, data?: object) => ({ code, message, ...(data && { data }) });

test.each(Object.entries(ANSWERED.generateContent))(
  'Gemini hands on what its provider said: %s, whole or in words',
  (name, { status, body }) => {
    const { message } = body.error;
    const expected = { message, retryAt: null };
    const code = MEANS[name as ProviderError];
    const whole = JSON.stringify(body);
    expect(failureOf(refused(status, whole))).toEqual({ code, ...expected });
    expect(failureOf(refused(status, `got status: UNAVAILABLE. ${whole}`))).toEqual({ code, ...expected });
  },
);

test.each([
  // It calls a model that is not there an error of its own.
  [500, 'models/gemini-9 is not found for API version v1beta, or is not supported', 'model_unavailable'],
  [400, 'thinking_level is not supported by this model', 'setting_refused'],
  [400, 'The input token count (2) exceeds the maximum number of tokens allowed (1).', 'context_overflow'],
  [429, 'Your prepayment credits are depleted.', 'billing'],
  [429, 'Slow down.', 'rate_limit'],
])('Gemini, %i with the words alone: %s', (status, message, code) => {
  expect(failureOf(refused(status, message))).toEqual({ code, message, retryAt: null });
});

test.each([
  [
    'invalid_request',
    'Your ANTHROPIC_API_KEY belongs to a disabled organization · Update or unset the environment variable',
    'auth',
  ],
  [
    'invalid_request',
    'Prompt is too long · the request is ~213462 tokens (limit 200000)',
    'context_overflow',
  ],
  ['invalid_request', 'No such block', 'invalid_request'],
])('Claude’s adapter, %s in words of its program: %s', (errorKind, message, code) => {
  expect(failureOf(refused(-32603, `Internal error: ${message}`, { errorKind }))).toEqual({
    code,
    message,
    retryAt: null,
  });
});

test('that somebody should sign in is no reason, when a record may have one', () => {
  const failure = failureOf(refused(-32000, 'Authentication required'));
  expect(failure).toMatchObject({ code: 'auth' });
  expect(isUnexplained(failure)).toBe(true);
  expect(isUnexplained(failureOf(refused(429, 'Slow down.')))).toBe(false);
});
