import { expect, test } from 'vitest';
import { failureOf, failureOfRetry, recordedFailure } from './failure.ts';
import { messages } from './message.ts';

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
  [
    'a third of too many',
    { attempt: 3, next: NOW + 9_000, message: 'Too Many Requests' },
    { code: 'rate_limit' },
  ],
  ['a third', { attempt: 3, next: NOW + 9_000 }, { code: 'overload', retryAt: null }],
  [
    'a wait the provider asked for',
    { attempt: 1, next: NOW + 5_000 },
    { code: 'rate_limit', retryAt: NOW + 5_000 },
  ],
  ['a long one', { attempt: 2, next: NOW + 100_000 }, { code: 'usage_limit', retryAt: NOW + 100_000 }],
])('while it asks again: %s', (_, retry, failure) => {
  const found = failureOfRetry({ message: 'busy', ...retry }, NOW);
  if (failure === null) expect(found).toBeNull();
  else expect(found).toMatchObject(failure);
});

test('an error that came in the middle of a stream is told in its words', () => {
  const message = JSON.stringify({ type: 'overloaded_error', message: 'Overloaded' });
  expect(failureOfRetry({ attempt: 3, message, next: NOW + 9_000 }, NOW)).toEqual({
    code: 'overload',
    message: 'Overloaded',
    retryAt: null,
  });
});

test('its record tells why the last answer is none, whatever it was about to do next', () => {
  const message = (role: string, more: object = {}, ...types: string[]) => ({
    info: { id: 'm', sessionID: 's', role, ...more },
    parts: types.map((type) => ({ id: 'p', sessionID: 's', messageID: 'm', type })),
  });
  const time = { created: 1, completed: 2 };
  const error = { name: 'ContextOverflowError', data: { message: 'too long' } };
  const told = (...more: object[]) =>
    recordedFailure(messages.parse([message('user'), message('assistant', { error, time }), ...more]), NOW);
  const failure = { code: 'context_overflow', message: 'too long', retryAt: null };
  expect(told()).toEqual(failure);
  expect(told(message('user'), message('assistant', { summary: true, time }), message('user'))).toEqual(
    failure,
  );
  expect(told(message('user'), message('assistant', { time: { created: 3 } }))).toEqual(failure);
  expect(told(message('user'), message('assistant', { time }))).toBeNull();
  const shortened = [message('assistant', { time }), message('user', {}, 'compaction')];
  expect(told(...shortened)).toMatchObject({ code: 'context_overflow' });
  expect(told(...shortened, message('assistant', { time }))).toBeNull();
  expect(recordedFailure([], NOW)).toBeNull();
});
