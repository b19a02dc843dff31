/**
 * Claude's own record of a session, under its configuration directory: one file for the conversation, one for each
 * subagent, a JSON object per line. It tells whether there is anything to resume, and what each message used.
 */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { SessionProbe, Usage } from '../agent.ts';
import { linesOf, parsedLine, recordsBelow } from '../json-lines.ts';
import { SYNTHETIC, usageOf } from './account.ts';
import { assistantMessage } from './message.ts';

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
  const files = await transcriptsOf(session.sessionDir);
  const own = files.find((path) => basename(path) === `${session.sessionId}.jsonl`);
  if (!own) return 'empty';
  // The prompt alone is enough: it is a message, and sending it again would say it twice.
  for await (const line of linesOf(own)) if (/"type":"(user|assistant)"/.test(line)) return 'resumable';
  return 'empty';
}

/** Every message of the model once, with its last and final figures. */
export async function transcriptUsage(sessionDir: string): Promise<TranscriptUsage[]> {
  const found = new Map<string, TranscriptUsage>();
  for (const path of await transcriptsOf(sessionDir)) {
    for await (const line of linesOf(path)) {
      if (!line.includes('"type":"assistant"')) continue;
      const { data } = assistantMessage.safeParse(parsedLine(line));
      if (!data || data.message.model === SYNTHETIC || data.message.usage === undefined) continue;
      const { id, model, usage, stop_reason } = data.message;
      found.set(id, { id, model, usage: usageOf(usage), final: stop_reason != null });
    }
  }
  return [...found.values()];
}

const transcriptsOf = (sessionDir: string): Promise<string[]> =>
  recordsBelow(join(configDir(sessionDir), 'projects'));
