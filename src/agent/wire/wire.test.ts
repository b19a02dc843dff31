/** What providers send, word for word, and what it means whoever carries it. */
import { describe, expect, test } from 'vitest';
import { ANSWERED, MEANS, type ProviderError } from '../../../test/support/llm/provider-errors.ts';
import { failureAnswered, failureInBody } from './answer.ts';
import { unwrapped } from './anthropic.ts';

const anthropic = (type: string, message: string, details?: object) => ({
  type: 'error',
  error: { type, message, ...(details && { details }) },
  request_id: 'req_011CbrFTcXhtiMzr3s6EocF7',
});
const openai = (error: { message: string; type: string; code: string | null; param?: string }) => ({
  error: { param: null, ...error },
});
const gemini = (code: number, status: string, message: string, details: object[] = []) => ({
  error: { code, message, status, details },
});
const quota = (quotaId: string) => ({
  '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
  violations: [{ quotaId, quotaValue: '250' }],
});

const INVALID = 'invalid_request_error';

describe.each(Object.entries(ANSWERED))('%s', (wire, answers) => {
  test.each(Object.entries(answers))('%s', (name, { status, body }) => {
    const error = name as ProviderError;
    const isDated = wire === 'messages' && error === 'spend limit';
    expect(failureInBody(status, JSON.stringify(body))).toEqual({
      code: MEANS[error],
      message: body.error.message,
      retryAt: isDated ? Date.UTC(2026, 11, 1) : null,
    });
  });
});

describe('other words for the same', () => {
  test.each([
    [402, anthropic('billing_error', 'There is an issue with your billing.'), 'billing'],
    [
      429,
      anthropic('rate_limit_error', 'Spend limit reached.', { error_code: 'enforced_spend_limit_reached' }),
      'billing',
    ],
    [
      400,
      anthropic(INVALID, "output_config.effort: Input should be 'low', 'medium' or 'high'"),
      'setting_refused',
    ],
    [413, anthropic('request_too_large', 'Request exceeds the maximum size'), 'context_overflow'],
    [400, anthropic(INVALID, 'messages.3: a tool call has no result'), 'invalid_request'],
    [
      429,
      openai({ message: 'No credits.', type: 'insufficient_quota', code: 'credit_balance_exhausted' }),
      'billing',
    ],
    [
      429,
      openai({ message: 'Not active.', type: 'billing_not_active', code: 'billing_not_active' }),
      'billing',
    ],
    [400, openai({ message: 'No tool call found', type: INVALID, code: null }), 'invalid_request'],
    [
      429,
      gemini(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', [
        quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier'),
      ]),
      'billing',
    ],
    [400, gemini(400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.'), 'invalid_request'],
  ] as const)('%i %j: %s', (status, body, code) => {
    const { message } = body.error;
    expect(failureInBody(status, JSON.stringify(body))).toEqual({ code, message, retryAt: null });
  });
});

test('an answer that is no error of theirs goes by its status, and nobody is shown its body', () => {
  expect(failureAnswered(502, '<html>Bad gateway</html>', 'Bad gateway')).toEqual({
    code: 'overload',
    message: 'Bad gateway',
    retryAt: null,
  });
  expect(failureAnswered(null, '', 'socket hang up')).toMatchObject({ code: 'network' });
});

test.each([
  ['API Error: 402 No money.', 402, 'No money.'],
  ['Internal error: API Error: 400 thinking: no', 400, 'thinking: no'],
  ['API Error: Request rejected (429) · Spend limit.', 429, 'Spend limit.'],
  ['Failed to authenticate. API Error: 401 Expired.', 401, 'Expired.'],
  ['Internal error: Credit balance is too low', null, 'Credit balance is too low'],
  ['Something else', null, 'Something else'],
])('%s', (text, status, message) => {
  expect(unwrapped(text)).toEqual({ status, message });
});
