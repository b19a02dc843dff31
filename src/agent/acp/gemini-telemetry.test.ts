import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readTelemetry, telemetryIn } from './gemini-telemetry.ts';

const answered = (reason: string, more: object = {}) => ({
  'event.name': 'gemini_cli.api_response',
  model: 'm',
  role: 'main',
  finish_reasons: [reason],
  input_token_count: 10,
  cached_content_token_count: 4,
  output_token_count: 3,
  thoughts_token_count: 2,
  tool_token_count: 1,
  ...more,
});
const gaveUp = (type: string) => ({
  'event.name': 'gemini_cli.chat.content_retry_failure',
  final_error_type: type,
});

async function told(...events: object[]) {
  const home = await mkdtemp(join(tmpdir(), 'forge-gemini-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  await mkdir(dirname(telemetryIn(home)), { recursive: true });
  const text = events.map((attributes) => `${JSON.stringify({ attributes, _body: '{' }, null, 2)}\n`);
  await writeFile(telemetryIn(home), `${text.join('')}{\n  "cut off": [`);
  return readTelemetry(home, {});
}

test.each([
  ['an answer', [answered('stop')], null],
  ['a refusal', [answered('content_filter')], 'refusal'],
  ['a refusal that was got over', [answered('content_filter'), answered('stop')], null],
  [
    'a refusal of what was asked on the side',
    [answered('stop'), answered('content_filter', { role: 'utility' })],
    null,
  ],
  ['refusals until it gave up', [answered('content_filter'), gaveUp('SAFETY_BLOCKED')], 'refusal'],
  ['an answer that broke off', [answered('stop'), gaveUp('NO_FINISH_REASON')], 'network'],
  ['a call nobody can read', [answered('stop'), gaveUp('MALFORMED_FUNCTION_CALL')], 'invalid_result'],
  ['nothing', [], null],
])('%s', async (_, events, code) => {
  const { failure } = await told(...events);
  expect(failure?.code ?? null).toBe(code);
});

test('what every answer used, thoughts and the cache apart', async () => {
  const { used } = await told({ 'event.name': 'gemini_cli.tool_call' }, answered('stop'), answered('stop'));
  const one = { input: 7, cacheRead: 4, cacheWrite: 0, output: 3, reasoning: 2, costUsd: null, model: 'm' };
  expect(used).toMatchObject([one, one]);
});

test('a program that wrote none has told nothing', async () => {
  expect(await readTelemetry(join(tmpdir(), 'forge-no-such-home'), {})).toEqual({
    used: [],
    failure: null,
    isComplete: true,
  });
});

const asked = { 'event.name': 'gemini_cli.api_request' };
const failedWith = (status_code?: number) => ({ 'event.name': 'gemini_cli.api_error', status_code });

test.each<[string, object[], boolean]>([
  ['answered', [asked, answered('stop')], true],
  ['refused, and asked again', [asked, failedWith(429), asked, answered('stop')], true],
  ['broken off, and asked again', [asked, failedWith(), asked, answered('stop')], false],
  ['still under way', [asked, answered('stop'), asked], false],
])('what was used is known of every request: %s', async (_, events, isComplete) => {
  expect(await told(...events)).toMatchObject({ isComplete });
});
