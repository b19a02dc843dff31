/**
 * The thread that is our session. Codex chooses its id, which we write down before the first token is spent; its own
 * record of it is a file under CODEX_HOME, a JSON object per line.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { SessionProbe } from '../agent.ts';
import { parsedLine, recordsBelow } from '../json-lines.ts';
import { replaceFile } from '../replace-file.ts';
import { jsonBelow, linesBelow, unlessStrange } from '../stranger-files.ts';
import { type TokenTotal, tokenTotal } from './account.ts';

export const codexHome = (sessionDir: string): string => join(sessionDir, 'codex');

const threadFile = z.object({ thread: z.string().min(1) });
const THREAD = 'codex-thread.json';

export async function readThread(sessionDir: string): Promise<string | null> {
  return threadFile.safeParse(await jsonBelow(sessionDir, THREAD)).data?.thread ?? null;
}

export const writeThread = async (sessionDir: string, thread: string): Promise<void> =>
  replaceFile(join(sessionDir, THREAD), JSON.stringify({ thread }));

export async function probeThread({ sessionDir }: { sessionDir: string }): Promise<SessionProbe> {
  if (!(await stat(sessionDir).catch(() => null))) return 'lost';
  return (await unlessStrange(probeOwn(sessionDir))) ?? 'lost';
}

async function probeOwn(sessionDir: string): Promise<SessionProbe> {
  const record = await ownRecord(sessionDir);
  if (record === null) return 'empty';
  for await (const { line } of linesBelow(sessionDir, [record]))
    if (line.includes('"type":"user_message"') || isPrompt(line)) return 'resumable';
  return 'empty';
}

/** Of the session's thread, not of a subagent's, as a path below the session; null when there is none. */
export async function ownRecord(sessionDir: string): Promise<string | null> {
  const thread = await readThread(sessionDir);
  if (thread === null) return null;
  return (await recordsOf(sessionDir)).find((path) => path.includes(thread)) ?? null;
}

const isPrompt = (line: string): boolean => line.includes('"role":"user"') && line.includes('"user.text"');

const tokenCount = z.object({
  payload: z.object({
    type: z.literal('token_count'),
    info: z.object({
      total_token_usage: z.object({
        input_tokens: z.number(),
        cached_input_tokens: z.number(),
        cache_write_input_tokens: z.number().default(0),
        output_tokens: z.number(),
        reasoning_output_tokens: z.number(),
      }),
    }),
  }),
});

/** Every total the session's threads have reached, in order. */
export async function recordedTotals(sessionDir: string): Promise<{ thread: string; total: TokenTotal }[]> {
  const found: { thread: string; total: TokenTotal }[] = [];
  for await (const { name, line } of linesBelow(sessionDir, await recordsOf(sessionDir))) {
    if (!line.includes('"token_count"')) continue;
    const thread = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/.exec(name)?.[1];
    const { data } = tokenCount.safeParse(parsedLine(line));
    const used = data?.payload.info.total_token_usage;
    if (!thread || !used) continue;
    const total = tokenTotal.parse({
      inputTokens: used.input_tokens,
      cachedInputTokens: used.cached_input_tokens,
      cacheWriteInputTokens: used.cache_write_input_tokens,
      outputTokens: used.output_tokens,
      reasoningOutputTokens: used.reasoning_output_tokens,
    });
    found.push({ thread, total });
  }
  return found;
}

/** Of its threads, subagents' included, as paths below the session. */
export const recordsOf = (sessionDir: string): Promise<string[]> =>
  recordsBelow(sessionDir, join('codex', 'sessions'));
