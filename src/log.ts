/**
 * The runner's own log, for whoever looks into a problem later. The file is opened by the first line.
 *
 * A line about a task says which issue that is and in which session. Errors are told to the person as well, the same one at most once a minute: when the disk is full or the database is
 * gone, neither an event nor a file can tell. A log that can't be written is no reason to stop.
 */
import type { Logger } from 'pino';
import { BY_SHAPE, type Redaction, redactValue } from './core/access/redact.ts';
import { visible } from './core/words/visible.ts';
import { createRotation } from './log-rotation.ts';
import type { Log } from './loop/ports.ts';

export function fileLog(
  path: string,
  redact: Redaction = BY_SHAPE,
  tell: (line: string) => void = toStderr,
  about: (task: string) => Promise<object> = async () => ({}),
): Log {
  const told = new Map<string, number>();
  let opened: Promise<Opened> | null = null;
  let written = Promise.resolve();
  return (level, said, given = {}) => {
    const message = redact.text(said);
    const fields = redactValue(given, redact);
    if (level === 'error' && performance.now() >= (told.get(message) ?? 0)) {
      told.set(message, performance.now() + AGAIN_AFTER_MS);
      tell(`error: ${visible(message)}\n`);
    }
    opened ??= open(path);
    const { task } = given;
    const known = typeof task === 'string' ? about(task).catch(() => ({})) : {};
    const line = Promise.all([opened, known, written]).then(([{ logger, rotate }, more]) => {
      rotate();
      logger[level]({ ...fields, ...more }, message);
    });
    written = line.catch(() => {});
  };
}

const AGAIN_AFTER_MS = 60_000;

interface Opened {
  logger: Logger;
  rotate(): void;
}

async function open(path: string): Promise<Opened> {
  const { pino } = await import('pino');
  // At once: a kill loses no line, and nothing is left to be written at an exit, when a file that was never opened throws.
  const destination = pino.destination({ dest: path, mkdir: true, sync: true });
  destination.on('error', () => {});
  const logger = pino(
    { level: 'debug', base: { pid: process.pid }, hooks: { streamWrite: (line) => visible(line) } },
    destination,
  );
  return { logger, rotate: createRotation(path, destination) };
}

const toStderr = (line: string): void => void process.stderr.write(line);
