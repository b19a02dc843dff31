/**
 * Claude's own record of a session, under its configuration directory: one file for the conversation, one for each
 * subagent, a JSON object per line. It tells whether there is anything to resume, and what each message used.
 */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { SessionProbe, Usage } from '../agent.ts';
import { parsedLine, recordsBelow } from '../json-lines.ts';
import { linesBelow, unlessStrange } from '../stranger-files.ts';
import { SYNTHETIC, usageOf } from './account.ts';
import { assistantMessage, type ModelUsage, modelUsage } from './message.ts';

export interface TranscriptUsage {
  id: string;
  model: string;
  usage: Usage;
  /** Its figures are the last: the message has come to its end. */
  final: boolean;
}

/** One for each session, so that everything below it is that session's. */
export const configDir = (sessionDir: string): string => join(sessionDir, 'claude');

export async function probeTranscript(session: {
  sessionId: string;
  sessionDir: string;
}): Promise<SessionProbe> {
  const found = await stat(session.sessionDir).catch(() => null);
  if (!found) return 'lost';
  return (await unlessStrange(probeOwn(session))) ?? 'lost';
}

async function probeOwn(session: { sessionId: string; sessionDir: string }): Promise<SessionProbe> {
  const own = await ownTranscript(session);
  if (own === null) return 'empty';
  // The prompt alone is enough: it is a message, and sending it again would say it twice.
  for await (const { line } of linesBelow(session.sessionDir, [own]))
    if (/"type":"(user|assistant)"/.test(line)) return 'resumable';
  return 'empty';
}

/** Of the conversation itself, not of a subagent's, as a path below the session; null when there is none. */
export async function ownTranscript(session: {
  sessionId: string;
  sessionDir: string;
}): Promise<string | null> {
  const files = await transcriptsOf(session.sessionDir);
  return files.find((path) => basename(path) === `${session.sessionId}.jsonl`) ?? null;
}

/** Every message of the model once, with its last and final figures. */
export async function transcriptUsage(sessionDir: string): Promise<TranscriptUsage[]> {
  const found = new Map<string, TranscriptUsage>();
  for await (const { line } of linesBelow(sessionDir, await transcriptsOf(sessionDir))) {
    if (!line.includes('"type":"assistant"')) continue;
    const { data } = assistantMessage.safeParse(parsedLine(line));
    if (!data || data.message.model === SYNTHETIC || data.message.usage === undefined) continue;
    const { id, model, usage, stop_reason } = data.message;
    found.set(id, { id, model, usage: usageOf(usage), final: stop_reason != null });
  }
  return [...found.values()];
}

interface TranscriptSums {
  /** What the session has used by model, as Claude last wrote it down. */
  models: Record<string, ModelUsage>;
  /** How often it did. */
  written: number;
  /** How many requests were lost on their way, with no status that refused them. */
  broken: number;
}

const sums = z.object({
  type: z.literal('cost-state'),
  modelUsage: z.record(z.string(), modelUsage),
  hasUnknownModelCost: z.boolean().catch(true),
});
const requestFailed = z.object({
  type: z.literal('system'),
  subtype: z.literal('api_error'),
  error: z.object({ status: z.number().nullish() }).catch({}),
});

export async function transcriptSums(sessionDir: string): Promise<TranscriptSums> {
  const found: TranscriptSums = { models: {}, written: 0, broken: 0 };
  for await (const { line } of linesBelow(sessionDir, await transcriptsOf(sessionDir))) {
    if (line.includes('"type":"cost-state"')) {
      const { data } = sums.safeParse(parsedLine(line));
      if (!data) continue;
      found.written += 1;
      found.models = data.hasUnknownModelCost ? withoutCost(data.modelUsage) : data.modelUsage;
    } else if (line.includes('"subtype":"api_error"')) {
      const { data } = requestFailed.safeParse(parsedLine(line));
      if (data && data.error.status == null) found.broken += 1;
    }
  }
  return found;
}

const withoutCost = (models: Record<string, ModelUsage>): Record<string, ModelUsage> =>
  Object.fromEntries(
    Object.entries(models).map(([model, usage]) => [model, { ...usage, costBasis: 'unknown' }]),
  );

const transcriptsOf = (sessionDir: string): Promise<string[]> =>
  recordsBelow(sessionDir, join('claude', 'projects'));
