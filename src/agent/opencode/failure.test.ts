import { expect, test } from 'vitest';
import { failureOf, failureOfRetry } from './failure.ts';

const NOW = 1_000_000;

test.each([
  ['APIError', { statusCode: 401 }, 'auth'],
  ['APIError', { statusCode: 400 }, 'invalid_request'],
  ['APIError', { statusCode: 404 }, 'model_unavailable'],
  ['APIError', { statusCode: 429 }, 'rate_limit'],
  ['APIError', { statusCode: 529 }, 'overload'],
  ['APIError', {}, 'network'],
  [
    'APIError',
    { statusCode: 400, responseBody: '{"error":{"code":"context_length_exceeded"}}' },
    'context_overflow',
  ],
  ['ContextOverflowError', {}, 'context_overflow'],
  ['ProviderAuthError', {}, 'auth'],
  ['ContentFilterError', {}, 'refusal'],
  ['StructuredOutputError', {}, 'invalid_result'],
  ['UnknownError', {}, 'crashed'],
  // Words are no status.
  ['UnknownError', { message: '429 rate limit, invalid api key' }, 'crashed'],
] as const)('%s %j is %s', (name, data, code) => {
  expect(failureOf({ name, data: { message: 'said', ...data } }, NOW)).toMatchObject({ code, retryAt: null });
});

test.each([
  [{ 'retry-after': '30' }, 'rate_limit', NOW + 30_000],
  [{ 'retry-after': '3600' }, 'usage_limit', NOW + 3_600_000],
])('a provider that says when to come again is believed: %j', (responseHeaders, code, retryAt) => {
  const error = { name: 'APIError', data: { message: 'slow', statusCode: 429, responseHeaders } };
  expect(failureOf(error, NOW)).toMatchObject({ code, retryAt });
});

test.each([
  ['its own first wait', { attempt: 1, next: NOW + 2_400 }, null],
  ['its own second wait', { attempt: 2, next: NOW + 4_900 }, null],
  ['a third', { attempt: 3, next: NOW + 9_000 }, { code: 'overload', retryAt: null }],
  [
    'a wait the provider asked for',
    { attempt: 1, next: NOW + 5_000 },
    { code: 'rate_limit', retryAt: NOW + 5_000 },
  ],
  ['a long one', { attempt: 2, next: NOW + 100_000 }, { code: 'usage_limit', retryAt: NOW + 100_000 }],
])('while it asks again: %s', (_, retry, failure) => {
  const found = failureOfRetry({ ...retry, message: 'busy' }, NOW);
  if (failure === null) expect(found).toBeNull();
  else expect(found).toMatchObject(failure);
});
