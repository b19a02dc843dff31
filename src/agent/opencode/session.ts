/**
 * The session of opencode that is ours. opencode chooses its id, which we write down before the first token is spent. Its
 * record is opencode's own database in the session's directory, which is read only while no server is at it; the API
 * can't be asked for it, since it fails on every session that was asked for a structured answer.
 */
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'libsql';
import { z } from 'zod';
import type { SessionProbe } from '../agent.ts';
import { type Messages, messages } from './message.ts';

const opencodeDir = (sessionDir: string): string => join(sessionDir, 'opencode');
export const databaseOf = (sessionDir: string): string => join(opencodeDir(sessionDir), 'opencode.db');

export const prepareSession = (sessionDir: string): Promise<unknown> =>
  mkdir(opencodeDir(sessionDir), { recursive: true, mode: 0o700 });

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

export const writeSession = (sessionDir: string, session: string): Promise<void> =>
  writeFile(pathOf(sessionDir), JSON.stringify({ session }));

export async function probeSession({ sessionDir }: { sessionDir: string }): Promise<SessionProbe> {
  if (!(await stat(sessionDir).catch(() => null))) return 'lost';
  const session = await readSession(sessionDir);
  if (session === null) return 'empty';
  const record = await recordOf(sessionDir).catch(() => null);
  if (record === null) return 'lost';
  return record.some(({ info }) => info.sessionID === session) ? 'resumable' : 'empty';
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
