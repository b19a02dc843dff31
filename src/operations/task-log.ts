/** What a task's turns and commands said and printed, from the files that the loop keeps of them; a piece at a time. */
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../context.ts';
import { ANSI } from '../core/change/signature.ts';
import { UserError } from '../errors.ts';
import { iso } from '../view.ts';
import { findTask } from './reference.ts';

interface LogView {
  task: string;
  /** In the order they were written last. */
  logs: { name: string; bytes: number; changedAt: string }[];
  /** Of these, the one that was asked for, or the newest: of an agent that tells what it does, its transcript. */
  log: string | null;
  text: string;
  /** From which byte the text is, and where the next piece begins. */
  from: number;
  next: number;
  bytes: number;
}

const PIECE_BYTES = 64 * 1024;
const SHOWN = /\.(log|md|transcript\.jsonl)$/;

/** Without `after` it is the end, which is where one looks first. */
export async function readLog(
  context: Context,
  input: { task: string; log?: string | undefined; after?: number | undefined },
): Promise<LogView> {
  const { task } = await findTask(await context.reading(), input.task);
  const folder = (await context.places()).log(task.id, '');
  const names = (await readdir(folder).catch(() => [])).filter((name) => SHOWN.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      const { size, mtimeMs } = await stat(join(folder, name));
      return { name, bytes: size, at: mtimeMs };
    }),
  );
  found.sort((a, b) => a.at - b.at || a.name.localeCompare(b.name));
  const logs = found.map(({ name, bytes, at }) => ({ name, bytes, changedAt: iso(Math.round(at))! }));
  const newest = logs.findLast(({ name }) => !name.endsWith('.md')) ?? logs.at(-1);
  const told = logs.find(({ name }) => name === newest?.name.replace(/\.log$/, '.transcript.jsonl'));
  const asked = input.log === undefined ? (told ?? newest) : logs.find(({ name }) => name === input.log);
  if (input.log !== undefined && !asked)
    throw new UserError(
      `Task ${task.id} has no log ${input.log}.`,
      logs.length === 0 ? 'It has none.' : `It has ${logs.map(({ name }) => name).join(', ')}.`,
    );
  if (!asked) return { task: task.id, logs, log: null, text: '', from: 0, next: 0, bytes: 0 };
  const { bytes } = asked;
  const from = Math.min(input.after ?? Math.max(0, bytes - PIECE_BYTES), bytes);
  const piece = await pieceOf(join(folder, asked.name), from, Math.min(PIECE_BYTES, bytes - from));
  const text = piece.toString('utf8').replace(ANSI, '');
  return { task: task.id, logs, log: asked.name, text, from, next: from + piece.length, bytes };
}

/** It ends with a whole line where it can, and never within a letter. */
async function pieceOf(path: string, from: number, length: number): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const bytes = Buffer.alloc(length);
    const { bytesRead } = await file.read(bytes, 0, length, from);
    const piece = bytes.subarray(0, bytesRead);
    if (bytesRead < PIECE_BYTES) return piece;
    const last = piece.lastIndexOf(0x0a);
    return last === -1 ? piece : piece.subarray(0, last + 1);
  } finally {
    await file.close();
  }
}
