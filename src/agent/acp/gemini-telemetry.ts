/**
 * What Gemini CLI tells of itself in a file: each answer of the model with what it used and why it ended, and why it gave up.
 * Over ACP it ends a turn that its provider refused as if it were done, and does not tell what the refused answers used.
 *
 * The file is JSON objects one after the other, each over many lines. It is written when the program is asked to end, so of
 * one that was killed it may lack the last seconds.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { costOf, type Prices } from '../../core/money/prices.ts';
import type { Failure, UsageReport } from '../agent.ts';
import { parsedLine } from '../json-lines.ts';
import { linesBelow } from '../stranger-files.ts';

interface Told {
  /** What every answer used, those that no record has included. */
  used: UsageReport[];
  /** Why the last answer was none; null when it was one. */
  failure: Failure | null;
  /** Every request was answered, or refused with a status, which costs nothing. */
  isComplete: boolean;
}

const TELEMETRY = join('.gemini', 'telemetry.log');
export const telemetryIn = (home: string): string => join(home, TELEMETRY);

export async function readTelemetry(home: string, prices: Prices): Promise<Told> {
  const used: UsageReport[] = [];
  let failure: Failure | null = null;
  let open = 0;
  for await (const { attributes } of eventsIn(home)) {
    if (attributes['event.name'] === 'gemini_cli.api_request') open += 1;
    else if (attributes['event.name'] === 'gemini_cli.api_error')
      open -= attributes.status_code >= 400 ? 1 : 0;
    else if (attributes['event.name'] === 'gemini_cli.api_response') {
      open -= 1;
      used.push(usageOf(attributes, prices));
      if (attributes.role === 'main')
        failure = attributes.finish_reasons.includes('content_filter') ? refused('its filter') : null;
    } else failure = failureOf(attributes.final_error_type);
  }
  return { used, failure, isComplete: open === 0 };
}

const count = z.number().nonnegative().catch(0);
const answer = z.object({
  'event.name': z.literal('gemini_cli.api_response'),
  model: z.string().catch('unknown'),
  role: z.string().catch('main'),
  finish_reasons: z.array(z.string()).catch([]),
  input_token_count: count,
  output_token_count: count,
  cached_content_token_count: count,
  thoughts_token_count: count,
  tool_token_count: count,
});
const asked = z.object({ 'event.name': z.literal('gemini_cli.api_request') });
/** Without a status it broke off on the way. */
const unanswered = z.object({ 'event.name': z.literal('gemini_cli.api_error'), status_code: count });
const givenUp = z.object({
  'event.name': z.literal('gemini_cli.chat.content_retry_failure'),
  final_error_type: z.string(),
});
const telemetryEvent = z.object({
  attributes: z.discriminatedUnion('event.name', [asked, answer, unanswered, givenUp]),
});

/** An object begins and ends with a brace alone on its line, which no text in it can look like. */
async function* eventsIn(home: string): AsyncIterable<z.output<typeof telemetryEvent>> {
  let lines: string[] = [];
  for await (const { line } of linesBelow(home, [TELEMETRY])) {
    if (line === '{') lines = [];
    lines.push(line);
    if (line !== '}') continue;
    const { data } = telemetryEvent.safeParse(parsedLine(lines.join('\n')));
    if (data) yield data;
    lines = [];
  }
}

function usageOf(told: z.output<typeof answer>, prices: Prices): UsageReport {
  const usage = {
    input: Math.max(0, told.input_token_count - told.cached_content_token_count) + told.tool_token_count,
    output: told.output_token_count,
    cacheRead: told.cached_content_token_count,
    cacheWrite: 0,
    reasoning: told.thoughts_token_count,
  };
  return { key: '', model: told.model, ...usage, costUsd: costOf(prices, told.model, usage) };
}

const refused = (by: string): Failure => ({
  code: 'refusal',
  message: `Gemini's provider refused to answer: ${by}`,
  retryAt: null,
});

function failureOf(type: string): Failure {
  if (/^(SAFETY|RECITATION|OTHER)_BLOCKED$/.test(type)) return refused(type);
  if (type === 'NO_FINISH_REASON')
    return { code: 'network', message: 'the answer of Gemini’s provider broke off', retryAt: null };
  const message = `Gemini's model gave no answer that it could use: ${type}`;
  return { code: 'invalid_result', message, retryAt: null };
}
