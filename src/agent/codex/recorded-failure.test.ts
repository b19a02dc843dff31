import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lastEnd } from './recorded-failure.ts';
import { codexHome } from './thread.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'forge-record-'));
  mkdirSync(join(codexHome(dir), 'sessions'), { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true }));

const recorded = (...payloads: object[]) =>
  writeFileSync(
    join(codexHome(dir), 'sessions', 'rollout-1.jsonl'),
    `${payloads.map((payload) => JSON.stringify({ type: 'event_msg', payload })).join('\n')}\n{"half`,
  );
const ended = (turn_id: string, error: object | null, root_turn_id = turn_id) => ({
  type: 'task_complete',
  turn_id,
  root_turn_id,
  last_agent_message: null,
  error,
});
const RESETS_AT = 1_794_903_731;
const used = { used_percent: 100, window_minutes: 300, resets_at: RESETS_AT };

test('nothing of a session in which no turn has ended', async () => {
  expect(await lastEnd(dir)).toBeNull();
});

test('the last turn counts, not one of a subagent', async () => {
  const failed = { message: 'x', codex_error_info: 'other' };
  recorded(ended('t1', failed), ended('t2', null), ended('t3', failed, 't2'));
  expect(await lastEnd(dir)).toEqual({ turn: 't2', failure: null });
});

test.each([
  [{ response_too_many_failed_attempts: { http_status_code: 429 } }, 'rate_limit'],
  [{ http_connection_failed: { http_status_code: 529 } }, 'overload'],
  [{ response_stream_disconnected: { http_status_code: null } }, 'network'],
  ['server_overloaded', 'overload'],
  ['unauthorized', 'auth'],
  ['context_window_exceeded', 'context_overflow'],
])('%j is %s', async (codex_error_info, code) => {
  recorded(ended('t1', { message: 'said', codex_error_info }));
  expect((await lastEnd(dir))?.failure).toEqual({ code, message: 'said', retryAt: null });
});

test.each([
  [
    JSON.stringify({
      error: {
        message: 'Billing hard limit has been reached',
        type: 'invalid_request_error',
        code: 'billing_hard_limit_reached',
      },
    }),
    'other',
    'billing',
    'Billing hard limit has been reached',
  ],
  [
    'unexpected status 401 Unauthorized: Please try signing in again., url: http://127.0.0.1:1/v1/responses',
    { http_connection_failed: { http_status_code: 401 } },
    'auth',
    'Please try signing in again.',
  ],
])('%s is told in its provider’s words', async (message, codex_error_info, code, words) => {
  recorded(ended('t1', { message, codex_error_info }));
  expect((await lastEnd(dir))?.failure).toEqual({ code, message: words, retryAt: null });
});

test('a plan that is used up is so until it says', async () => {
  recorded(
    { type: 'token_count', info: null, rate_limits: { primary: used, secondary: null } },
    ended('t1', { message: 'used up', codex_error_info: 'usage_limit_exceeded' }),
  );
  expect((await lastEnd(dir))?.failure).toMatchObject({ code: 'usage_limit', retryAt: RESETS_AT * 1000 });
});
