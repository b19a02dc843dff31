/**
 * The session of an agent that speaks ACP. The agent chooses its id, which we write down before the first token is spent;
 * and how the conversation began, so that a session that is loaded again can be asked to show that it remembers.
 */
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { SessionProbe } from '../agent.ts';

const sessionFile = z.object({
  session: z.string().min(1),
  /** How its first prompt began; null until the agent took it up. */
  opening: z.string().nullable(),
  /** What the session has cost so far, in US dollars, where the agent tells it. */
  costUsd: z.number().nonnegative().catch(0),
});
export type KnownSession = z.output<typeof sessionFile>;

const pathOf = (sessionDir: string): string => join(sessionDir, 'acp-session.json');

export async function readSession(sessionDir: string): Promise<KnownSession | null> {
  const { data } = sessionFile.safeParse(
    await readFile(pathOf(sessionDir), 'utf8')
      .then(JSON.parse)
      .catch(() => null),
  );
  return data ?? null;
}

/** In one step: a runner that is killed leaves the one before or this one. */
export async function writeSession(sessionDir: string, session: KnownSession): Promise<void> {
  const draft = `${pathOf(sessionDir)}.new`;
  await writeFile(draft, JSON.stringify(session));
  await rename(draft, pathOf(sessionDir));
}

export async function probeSession({ sessionDir }: { sessionDir: string }): Promise<SessionProbe> {
  if (!(await stat(sessionDir).catch(() => null))) return 'lost';
  return (await readSession(sessionDir))?.opening == null ? 'empty' : 'resumable';
}

const OPENING = 500;
const words = (text: string): string => text.split(/\s+/).filter(Boolean).join(' ');

export const openingOf = (prompt: string): string => words(prompt.slice(0, OPENING));

/** Whether what the agent replays has the beginning of the conversation, however it is cut into pieces. */
export const remembers = (replayed: string, opening: string): boolean => words(replayed).includes(opening);
