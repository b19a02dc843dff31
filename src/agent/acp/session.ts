/**
 * The session of an agent that speaks ACP. The agent chooses its id, which we write down before the first token is spent;
 * and how the conversation began, so that a session that is loaded again can be asked to show that it remembers.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { SessionProbe } from '../agent.ts';
import { replaceFile } from '../replace-file.ts';
import { jsonBelow } from '../stranger-files.ts';
import { usageReport } from '../usage-report.ts';

const sessionFile = z.object({
  session: z.string().min(1),
  /** How its first prompt began; null until the agent took it up. */
  opening: z.string().nullable(),
  /** What the session has cost so far, in US dollars, where the agent tells it. */
  costUsd: z.number().nonnegative().catch(0),
});
export type KnownSession = z.output<typeof sessionFile>;

const SESSION = 'acp-session.json';

export async function readSession(sessionDir: string): Promise<KnownSession | null> {
  return sessionFile.safeParse(await jsonBelow(sessionDir, SESSION)).data ?? null;
}

export const writeSession = async (sessionDir: string, session: KnownSession): Promise<void> =>
  replaceFile(join(sessionDir, SESSION), JSON.stringify(session));

const endFile = z.object({
  number: z.int(),
  endedAt: z.number(),
  text: z.string(),
  structured: z.unknown(),
  usageKnown: z.boolean(),
  used: z.array(usageReport),
});
type KnownEnd = z.output<typeof endFile>;

const END = 'acp-end.json';

/** How its last turn that finished ended: no record of an agent's that the protocol has tells it. */
export async function readEnd(sessionDir: string): Promise<KnownEnd | null> {
  return endFile.safeParse(await jsonBelow(sessionDir, END)).data ?? null;
}

export const writeEnd = async (sessionDir: string, end: KnownEnd): Promise<void> =>
  replaceFile(join(sessionDir, END), JSON.stringify(end));

export async function probeSession({ sessionDir }: { sessionDir: string }): Promise<SessionProbe> {
  if (!(await stat(sessionDir).catch(() => null))) return 'lost';
  return (await readSession(sessionDir))?.opening == null ? 'empty' : 'resumable';
}

const OPENING = 500;
const words = (text: string): string => text.split(/\s+/).filter(Boolean).join(' ');

export const openingOf = (prompt: string): string => words(prompt.slice(0, OPENING));

/** Whether what the agent replays has the beginning of the conversation, however it is cut into pieces. */
export const remembers = (replayed: string, opening: string): boolean => words(replayed).includes(opening);
