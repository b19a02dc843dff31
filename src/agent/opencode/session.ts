/** The session of opencode that is ours. opencode chooses its id, which we write down before the first token is spent. */
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { SessionProbe, UnheardTurn } from '../agent.ts';
import { ownFolder, replaceFile } from '../replace-file.ts';
import { jsonBelow, unlessStrange } from '../stranger-files.ts';
import { type Messages, textOf } from './message.ts';
import { DATABASE, recordOf } from './record.ts';

export const databaseOf = (sessionDir: string): string => join(sessionDir, DATABASE);

export const prepareSession = (sessionDir: string): void => ownFolder(dirname(databaseOf(sessionDir)));

const sessionFile = z.object({ session: z.string().min(1) });
const SESSION = 'opencode-session.json';

export async function readSession(sessionDir: string): Promise<string | null> {
  return sessionFile.safeParse(await jsonBelow(sessionDir, SESSION)).data?.session ?? null;
}

export const writeSession = async (sessionDir: string, session: string): Promise<void> =>
  replaceFile(join(sessionDir, SESSION), JSON.stringify({ session }));

export async function probeSession({ sessionDir }: { sessionDir: string }): Promise<SessionProbe> {
  if (!(await stat(sessionDir).catch(() => null))) return 'lost';
  const session = await readSession(sessionDir);
  if (session === null) return 'empty';
  const record = await unlessStrange(recordOf(sessionDir));
  if (record === null) return 'lost';
  return record.some(({ info }) => info.sessionID === session) ? 'resumable' : 'empty';
}

/** The message that ended a turn; null unless the last prompt is this turn's and the model has ended its answer to it. */
export async function recordedEnd(turn: UnheardTurn): Promise<Messages[number] | null> {
  const session = await readSession(turn.sessionDir);
  const record = (await recordOf(turn.sessionDir)).filter(({ info }) => info.sessionID === session);
  const prompt = record.findLast(({ info }) => info.role === 'user');
  const last = record.at(-1);
  if (!prompt || last?.info.role !== 'assistant' || last.info.error || !last.info.time?.completed)
    return null;
  // A session begins with the project's conventions before its first prompt.
  const isOurs =
    (prompt.info.time?.created ?? 0) >= turn.startedAt && textOf(prompt.parts).endsWith(turn.prompt);
  const isOver = turn.outputSchema ? last.info.structured != null : last.info.finish === 'stop';
  return isOurs && isOver ? last : null;
}
