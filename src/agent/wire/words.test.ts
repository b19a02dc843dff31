/** Nobody is shown a provider's answer as it came, whichever program carried it. */
import { describe, expect, test } from 'vitest';
import { failureOf as ofAcp } from '../acp/failure.ts';
import { failureOf as ofClaude } from '../claude/failure.ts';
import { type ResultMessage, readMessage } from '../claude/message.ts';
import { failureOf as ofCodex } from '../codex/failure.ts';
import { failureOfRetry, failureOf as ofOpencode } from '../opencode/failure.ts';
import { wordsOf } from './words.ts';

const SAID = 'The service is busy.';
const inner = { type: 'error', error: { type: 'overloaded_error', message: SAID }, request_id: 'req_1' };

const BODIES: Record<string, string> = {
  Anthropic: JSON.stringify(inner),
  OpenAI: JSON.stringify({ error: { message: SAID, type: 'server_error', param: null, code: null } }),
  'OpenAI, without a type': JSON.stringify({ error: { message: SAID } }),
  Gemini: JSON.stringify({ error: { code: 503, message: SAID, status: 'UNAVAILABLE', details: [] } }),
  'Gemini, as a list': JSON.stringify([{ error: { code: 503, message: SAID, status: 'UNAVAILABLE' } }]),
  'one in another': JSON.stringify({ error: { code: 503, message: JSON.stringify(inner), status: 'x' } }),
  ChatGPT: JSON.stringify({ detail: SAID }),
  Bedrock: JSON.stringify({ message: SAID }),
  'over several lines': JSON.stringify(inner, null, 2),
};

/** Each way an answer was seen, or may be, to come through a program. */
const CARRIERS: Record<string, (body: string) => (string | undefined)[]> = {
  claude: (body) => {
    const result = (text: string) =>
      readMessage({
        type: 'result',
        subtype: 'success',
        is_error: true,
        result: text,
        terminal_reason: 'api_error',
        api_error_status: 503,
      }) as ResultMessage;
    const untold = { named: null, limitResetsAt: null };
    return [`API Error: 503 ${body}`, body].map((text) => ofClaude(result(text), untold)?.message);
  },
  codex: (body) =>
    [
      { message: body },
      { message: body, codexErrorInfo: 'badRequest' },
      { message: body, codexErrorInfo: 'other' },
      {
        message: `unexpected status 503 Service Unavailable: ${body}, url: http://127.0.0.1/v1/responses`,
        codexErrorInfo: { httpConnectionFailed: { httpStatusCode: 503 } },
      },
    ].map((error) => ofCodex(error, null, null).message),
  opencode: (body) => [
    ofOpencode({ name: 'APIError', data: { message: body, statusCode: 503, responseBody: body } }, 0).message,
    ofOpencode({ name: 'APIError', data: { message: body, statusCode: 503 } }, 0).message,
    ofOpencode({ name: 'UnknownError', data: { message: body } }, 0).message,
    failureOfRetry({ attempt: 3, message: body, next: 9_000 }, 0)?.message.replace(/^.* in a row: /, ''),
    failureOfRetry({ attempt: 1, message: body, next: 99_000 }, 0)?.message,
  ],
  acp: (body) =>
    [
      { code: -32603, message: 'Internal error', data: { message: body } },
      { code: -32603, message: body },
      { code: 503, message: body },
      { code: -32000, message: body },
      { code: -32603, message: `Internal error: API Error: 503 ${body}`, data: { errorKind: 'overloaded' } },
      { code: -32603, message: `Internal error: API Error: 503 ${body}`, data: { errorKind: 'unknown' } },
      { code: -32603, message: 'x', data: { codexErrorInfo: 'badRequest', message: body } },
    ].map((error) => ofAcp(error).message),
};

describe.each(Object.entries(CARRIERS))('%s', (_, carried) => {
  test.each(Object.entries(BODIES))('%s', (__, body) => {
    for (const message of carried(body)) expect(message).toBe(SAID);
  });
});

test.each([
  ['Too many requests', 'Too many requests'],
  ['Unexpected token { in line 3 of [x]', 'Unexpected token { in line 3 of [x]'],
  // What stands inside a sentence is part of it.
  ['type must be one of ["a", "b"], got "c"', 'type must be one of ["a", "b"], got "c"'],
  ['the schema {"type": "x"} is not one', 'the schema {"type": "x"} is not one'],
  ['it failed: {"error":{"message":"half of it', 'it failed: half of it'],
  ['it failed: {"error":{"type":"x"}}', 'it failed'],
  ['{"error":{"type":"x"}}', 'an error without words'],
  ['{"error":', 'an error without words'],
  [
    'unexpected status 502: <html><body>Bad gateway</body>',
    'unexpected status 502: a page instead of an answer',
  ],
])('%s', (text, words) => {
  expect(wordsOf(text)).toBe(words);
});
