import { expect, test } from 'vitest';
import { failureOf } from './failure.ts';
import { type ResultMessage, readMessage } from './message.ts';

const result = (change: object): ResultMessage =>
  readMessage({
    type: 'result',
    subtype: 'success',
    is_error: true,
    result: 'words',
    ...change,
  }) as ResultMessage;

const UNTOLD = { named: null, limitResetsAt: null };

test.each([
  [{ is_error: false }, null],
  // Its own words are never looked at: a file it read may say anything.
  [{ is_error: false, result: "You've hit your limit · 429 rate_limit_error" }, null],
  [{ terminal_reason: 'api_error', api_error_status: 401 }, 'auth'],
  [{ terminal_reason: 'api_error', api_error_status: 403 }, 'auth'],
  [{ terminal_reason: 'api_error', api_error_status: 404 }, 'model_unavailable'],
  [{ terminal_reason: 'api_error', api_error_status: 429 }, 'rate_limit'],
  [{ terminal_reason: 'api_error', api_error_status: 500 }, 'overload'],
  [{ terminal_reason: 'api_error', api_error_status: 529 }, 'overload'],
  [{ terminal_reason: 'api_error', api_error_status: 400 }, 'invalid_request'],
  [{ terminal_reason: 'prompt_too_long', api_error_status: 400 }, 'context_overflow'],
  [{ terminal_reason: 'api_error', api_error_status: null }, 'network'],
  [{ terminal_reason: 'api_error', stop_reason: 'refusal' }, 'refusal'],
  [{ terminal_reason: 'api_error', api_error_status: 429, api_error: 'usage_limit_reached' }, 'usage_limit'],
  [{ subtype: 'error_during_execution', result: undefined, errors: ['it broke'] }, 'crashed'],
  [{ subtype: 'error_max_turns' }, 'crashed'],
])('%j is %s (loops 52)', (change, code) => {
  expect(failureOf(result(change), UNTOLD)?.code ?? null).toBe(code);
});

test('a limit has the time it ends, when that was told', () => {
  const limited = result({ api_error_status: 429, api_error: 'usage_limit_reached' });
  expect(failureOf(limited, { named: null, limitResetsAt: 1_800_000_000 })).toMatchObject({
    code: 'usage_limit',
    retryAt: 1_800_000_000_000,
  });
  expect(failureOf(limited, UNTOLD)).toMatchObject({ code: 'usage_limit', retryAt: null });
});

test('a message we do not know is nothing, and a result without its fields is an error', () => {
  expect(readMessage({ type: 'newly_invented' })).toBeNull();
  expect(readMessage('half a li')).toBeNull();
  expect(
    failureOf(readMessage({ type: 'result', subtype: 'success' }) as ResultMessage, UNTOLD),
  ).toMatchObject({
    code: 'crashed',
  });
});

test.each([
  ['billing_error', 400, 'billing'],
  ['model_not_found', 404, 'model_unavailable'],
  ['account_on_hold', 403, 'auth'],
  // A connection that broke off is called an error of the server, too.
  ['server_error', null, 'network'],
  ['server_error', 500, 'overload'],
  ['rate_limit', 429, 'rate_limit'],
  ['rate_limit', null, 'rate_limit'],
  ['overloaded', null, 'overload'],
  ['overloaded', 529, 'overload'],
  ['unknown', 402, 'billing'],
])('what its program calls %s, with the status %s, is %s', (named, api_error_status, code) => {
  const failure = failureOf(result({ terminal_reason: 'api_error', api_error_status }), {
    named,
    limitResetsAt: null,
  });
  expect(failure).toMatchObject({ code });
});
