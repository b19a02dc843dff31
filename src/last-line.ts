/** What a command that runs printed last, from the newest log of a folder. People look at it; nothing is decided by it. */
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ANSI } from './core/change/signature.ts';
import { plain } from './core/words/fence.ts';

const TAIL_BYTES = 4096;
const LINE_CHARS = 200;
/** Clocks of files and processes are not quite the same. */
const LEEWAY_MS = 1000;

/** Null when it printed nothing yet: a log that was written before `since` is an earlier command's. */
export async function lastLineIn(
  folder: string,
  names: RegExp,
  since: number | null,
): Promise<string | null> {
  try {
    const logs = (await readdir(folder)).filter((name) => names.test(name)).map((name) => join(folder, name));
    const found = await Promise.all(logs.map(async (path) => ({ path, ...(await sizeAndTime(path)) })));
    const newest = found.sort((a, b) => b.at - a.at)[0];
    if (!newest || newest.at < (since ?? 0) - LEEWAY_MS) return null;
    return lastLineOf(await tailOf(newest.path, newest.size));
  } catch {
    // Removed just now, or not made yet.
    return null;
  }
}

async function sizeAndTime(path: string): Promise<{ size: number; at: number }> {
  const { size, mtimeMs } = await stat(path);
  return { size, at: mtimeMs };
}

async function tailOf(path: string, size: number): Promise<string> {
  const file = await open(path, 'r');
  try {
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, size - bytes.length);
    return bytes.subarray(0, bytesRead).toString('utf8');
  } finally {
    await file.close();
  }
}

/** A line that is drawn over and over, as progress bars are, counts as it was drawn last. */
export function lastLineOf(output: string): string | null {
  const lines = output.replace(ANSI, '').split(/[\n\r]/);
  const last = lines.map((line) => plain(line.replace(/\s+/g, ' ')).trim()).findLast((line) => line !== '');
  return last === undefined ? null : last.slice(0, LINE_CHARS);
}
