/**
 * The record of an opencode session: opencode's own database, in the session's directory. Its API can't be asked for it, since
 * it fails on every session that was asked for a structured answer.
 *
 * Whoever opens a database does what its files say: SQLite rolls back a journal that lies beside it, and deletes the files that
 * one names; a table may be a question without end. The agent could have written all of that. So the database itself is never
 * opened here: it is copied, with the log that opencode writes and without any journal, and a program of its own reads
 * the copy, in a limited time.
 */
import { execFile } from 'node:child_process';
import { lstat, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StrangeFile } from '../../errors.ts';
import { copyBelow } from '../stranger-files.ts';
import { type Messages, messages } from './message.ts';

export const DATABASE = join('opencode', 'opencode.db');

const PROGRAM = fileURLToPath(new URL('./record-program.js', import.meta.url));
const MOST_BYTES = 1024 ** 3;
const MOST_TOLD_BYTES = 256 * 1024 ** 2;
const LONGEST_READING_MS = 30_000;
const MOST_TRIES = 3;

/** Every message of the session and of its subagents, oldest first, with what tells of them. */
export async function recordOf(sessionDir: string): Promise<Messages> {
  if (!(await lstat(join(sessionDir, DATABASE)).catch(() => null))) return [];
  // Beside the session, where a confined agent does not see it.
  const folder = await mkdtemp(`${sessionDir}-record-`);
  try {
    const copy = join(folder, 'opencode.db');
    if (!(await copied(sessionDir, copy))) return [];
    const { data, error } = messages.safeParse(JSON.parse(await told(copy)));
    if (error)
      throw new StrangeFile(`the record of the session has other fields than it should: ${error.message}`);
    return data;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Again when its server wrote to the database meanwhile; what it adds to the log does no harm. False when there is none. */
async function copied(sessionDir: string, copy: string): Promise<boolean> {
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    for (const file of [copy, `${copy}-wal`]) await rm(file, { force: true });
    const before = await stampOf(join(sessionDir, DATABASE));
    if (!(await copyBelow(sessionDir, DATABASE, copy, MOST_BYTES))) return false;
    await copyBelow(sessionDir, `${DATABASE}-wal`, `${copy}-wal`, MOST_BYTES);
    if ((await stampOf(join(sessionDir, DATABASE))) === before) return true;
  }
  throw new StrangeFile(`${join(sessionDir, DATABASE)} is written to all the time`);
}

const stampOf = (path: string): Promise<string> =>
  lstat(path, { bigint: true }).then(
    ({ ino, size, mtimeNs }) => [ino, size, mtimeNs].join(' '),
    () => '',
  );

function told(copy: string): Promise<string> {
  const limits = { timeout: LONGEST_READING_MS, killSignal: 'SIGKILL', maxBuffer: MOST_TOLD_BYTES } as const;
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['--max-old-space-size=1024', PROGRAM, copy],
      { env: {}, ...limits },
      (error, stdout, stderr) => {
        if (!error) return resolve(stdout);
        const why = error.killed ? 'it took too long, or told too much' : stderr.trim().slice(-500);
        reject(new StrangeFile(`the record of the session can't be read: ${why}`));
      },
    );
  });
}
