/**
 * The session of opencode that is ours. opencode chooses its id, which we write down before the first token is spent. Its
 * record is opencode's own database in the session's directory, which is read only while no server is at it; the API
 * can't be asked for it, since it fails on every session that was asked for a structured answer.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'libsql';
import { z } from 'zod';
import type { SessionProbe, UnheardTurn } from '../agent.ts';
import { ownFolder, replaceFile } from '../replace-file.ts';
import { type Messages, messages, textOf } from './message.ts';

const opencodeDir = (sessionDir: string): string => join(sessionDir, 'opencode');
export const databaseOf = (sessionDir: string): string => join(opencodeDir(sessionDir), 'opencode.db');

export const prepareSession = (sessionDir: string): void => ownFolder(opencodeDir(sessionDir));

const sessionFile = z.object({ session: z.string().min(1) });
const pathOf = (sessionDir: string): string => join(sessionDir, 'opencode-session.json');

export async function readSession(sessionDir: string): Promise<string | null> {
  const { data } = sessionFile.safeParse(
    await readFile(pathOf(sessionDir), 'utf8')
      .then(JSON.parse)
      .catch(() => null),
  );
  return data?.session ?? null;
}

export const writeSession = async (sessionDir: string, session: string): Promise<void> =>
  replaceFile(pathOf(sessionDir), JSON.stringify({ session }));

export async function probeSession({ sessionDir }: { sessionDir: string }): Promise<SessionProbe> {
  if (!(await stat(sessionDir).catch(() => null))) return 'lost';
  const session = await readSession(sessionDir);
  if (session === null) return 'empty';
  const record = await recordOf(sessionDir).catch(() => null);
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

const row = z.object({ id: z.string(), message: z.string(), session: z.string(), data: z.string() });

/** Every message of the session and of its subagents, oldest first, with what tells of them. */
export async function recordOf(sessionDir: string): Promise<Messages> {
  if (!(await stat(databaseOf(sessionDir)).catch(() => null))) return [];
  const database = new Database(databaseOf(sessionDir));
  try {
    const rows = (sql: string) => z.array(row).parse(database.prepare(sql).all());
    const infos = rows(
      'select id, id message, session_id session, data from message order by time_created, id',
    );
    const parts = rows('select id, message_id message, session_id session, data from part order by id');
    return messages.parse(
      infos.map(({ id, session, data }) => ({
        info: { ...JSON.parse(data), id, sessionID: session },
        parts: parts
          .filter(({ message }) => message === id)
          .map((part) => ({ ...JSON.parse(part.data), id: part.id, messageID: id, sessionID: session })),
      })),
    );
  } finally {
    database.close();
  }
}
