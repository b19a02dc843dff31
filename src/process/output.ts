/**
 * A child's output on its way to the log.
 *
 * The next chunk is read when the last one is written, so a flood waits in the pipe and not in our memory. Past its
 * limit the log says that it was cut; the tail goes on. A log that can't be written (a full disk) costs the log, never
 * the child. Neither has the secrets that the child prints.
 */
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redact } from '../core/access/redact.ts';
import { redactBytes, redactedLines } from './redacted-lines.ts';

export interface Output {
  /** Drains what is left, but does not wait for a stranger that keeps the pipe open. Returns the tail. */
  finish(): Promise<string>;
  /** A line of ours, in the log and in the tail. */
  note(text: string): Promise<void>;
}

export const LOG_LIMIT_BYTES = 64 * 1024 * 1024;
const TAIL_BYTES = 16 * 1024;
/** A secret that begins before the tail is still seen whole. */
const WINDOW_BYTES = 2 * TAIL_BYTES;
const DRAIN_MS = 2_000;
const LAST_LOOK_MS = 100;

export async function collectOutput(
  stream: Readable,
  logPath: string,
  onOutput: () => void,
  redact: Redact,
): Promise<Output> {
  await mkdir(dirname(logPath), { recursive: true });
  const log = await open(logPath, 'a', 0o600);
  let room = LOG_LIMIT_BYTES;
  let broken = false;
  let tail: Buffer = Buffer.alloc(0);
  const lines = redactedLines(redact);

  const keep = (chunk: Buffer) => {
    tail = Buffer.from(Buffer.concat([tail, chunk.subarray(-WINDOW_BYTES)]).subarray(-WINDOW_BYTES));
  };
  const write = async (chunk: Buffer) => {
    if (broken) return;
    try {
      await log.appendFile(chunk);
    } catch (error) {
      broken = true;
      keep(ours(`the log ${logPath} could not be written: ${(error as Error).message}`));
    }
  };
  const take = async (chunk: Buffer) => {
    keep(chunk);
    if (room <= 0) return;
    await write(lines.take(chunk.subarray(0, room)));
    room -= chunk.length;
    if (room > 0) return;
    await write(lines.rest());
    await write(ours(`the log was cut here, after ${LOG_LIMIT_BYTES} bytes`));
  };

  const drained = (async () => {
    for await (const chunk of stream) {
      onOutput();
      await take(chunk as Buffer);
    }
  })().catch(() => {
    // Destroyed by finish: what a stranger writes from now on is not ours.
  });

  return {
    async note(text) {
      keep(ours(text));
      await write(Buffer.concat([lines.rest(), ours(text)]));
    },
    async finish() {
      // After a standstill of our own the time is up before anything was read: what is there then is still taken.
      for (const patienceMs of [DRAIN_MS, LAST_LOOK_MS]) {
        const patience = new AbortController();
        await Promise.race([drained, delay(patienceMs, null, patience).catch(() => {})]);
        patience.abort();
      }
      stream.destroy();
      await drained;
      await write(lines.rest());
      await log.close();
      const shown = redactBytes(tail, redact).subarray(-TAIL_BYTES);
      return shown.toString('utf8').replace(/^\uFFFD+/, '');
    },
  };
}

const ours = (text: string): Buffer => Buffer.from(`\n[forge-loop] ${text}\n`);
