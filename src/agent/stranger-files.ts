/**
 * Files that an agent may have left for us: in its session, its home, its workspace. Whoever runs confined can write there,
 * and we read outside of any confinement. So no link is followed on the way, nothing but a plain file is read, and nothing
 * without a limit: a link leads to what is the operator's, a pipe never ends, a device never runs dry.
 *
 * Each is named by a folder (`root`) whose place is ours, since a sandbox mounts it, and a path below it.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { strangeJson } from '../core/text/strange-json.ts';
import { StrangeFile } from '../errors.ts';

const MIB = 1024 ** 2;
/** A file of ours, or a small one of the agent's own. */
const LONGEST_TEXT = 16 * MIB;
/** Records of a long session have tens of megabytes, and lines of several. */
const LONGEST_LINE = 64 * MIB;
const MOST_LINES = 4_000_000;
const MOST_BYTES = 384 * MIB;
const MOST_ENTRIES = 50_000;
const DEEPEST = 16;
const PIECE_BYTES = 256 * 1024;

/** Null when nothing is there. Throws `StrangeFile` for what can't be read as a plain file of that size. */
export async function textBelow(
  root: string,
  name: string,
  limitBytes = LONGEST_TEXT,
): Promise<string | null> {
  const file = await opened(root, name, limitBytes);
  if (file === null) return null;
  const pieces: Buffer[] = [];
  for await (const piece of piecesOf(file, join(root, name), { bytes: limitBytes })) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

/** Null for whatever is no JSON in a plain file. */
export async function jsonBelow(root: string, name: string): Promise<unknown> {
  try {
    return strangeJson((await textBelow(root, name)) ?? 'null');
  } catch {
    return null;
  }
}

/** The lines of all of them that are there, one file after the other, without empty ones. The limits are those of all. */
export async function* linesBelow(
  root: string,
  names: readonly string[],
): AsyncGenerator<{ name: string; line: string }> {
  const room = { bytes: MOST_BYTES };
  let lines = 0;
  for (const name of names) {
    const file = await opened(root, name, room.bytes);
    if (file === null) continue;
    const path = join(root, name);
    let begun: Buffer[] = [];
    let length = 0;
    for await (const piece of piecesOf(file, path, room)) {
      let from = 0;
      for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
        const line = lineOf([...begun, piece.subarray(from, end)]);
        [begun, length, from] = [[], 0, end + 1];
        if (line === '') continue;
        if (++lines > MOST_LINES) throw new StrangeFile(`${path}: there are more than ${MOST_LINES} lines`);
        yield { name, line };
      }
      length += piece.length - from;
      if (length > LONGEST_LINE)
        throw new StrangeFile(`${path} has a line of more than ${LONGEST_LINE} bytes`);
      if (from < piece.length) begun.push(piece.subarray(from));
    }
    const line = lineOf(begun);
    if (line !== '') yield { name, line };
  }
}

const NEWLINE = 0x0a;
const lineOf = (pieces: readonly Buffer[]): string =>
  Buffer.concat(pieces).toString('utf8').replace(/\r$/, '');

interface Entry {
  /** Below the root. */
  name: string;
  isFile: boolean;
}

/**
 * Everything below a folder that is no folder, in the order of names; nothing when there is no such folder. Of a link, and of
 * a folder that is deeper than asked for, there is its name. Throws `StrangeFile` for a folder that is behind a link or can't be listed, and for too many entries.
 */
export async function entriesBelow(root: string, folder: string, depth = DEEPEST): Promise<Entry[]> {
  const found: Entry[] = [];
  let seen = 0;
  await walk(folder, depth);
  return found.sort((one, other) => (one.name < other.name ? -1 : 1));

  async function walk(name: string, left: number): Promise<void> {
    const path = join(root, name);
    const place = await placeOf(root, name);
    if (place === null || (await unlessMissing(lstat(path), path)) === null) return;
    if ((await unlessMissing(realpath(path), path)) !== place)
      throw new StrangeFile(`${path} is, or is behind, a link`);
    const listing = await unlessMissing(opendir(path), path);
    if (listing === null) return;
    for await (const entry of listing) {
      if (++seen > MOST_ENTRIES)
        throw new StrangeFile(`${join(root, folder)} has more than ${MOST_ENTRIES} entries`);
      const inner = join(name, entry.name);
      if (entry.isDirectory() && left > 1) await walk(inner, left - 1);
      else if (entry.isDirectory() && depth === DEEPEST)
        throw new StrangeFile(`${path} is more than ${DEEPEST} folders deep`);
      else found.push({ name: inner, isFile: entry.isFile() });
    }
  }
}

/** Null for what a strange file would have told. */
export async function unlessStrange<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof StrangeFile) return null;
    throw error;
  }
}

/** Copies a plain file to a place of ours. False when nothing is there. */
export async function copyBelow(
  root: string,
  name: string,
  to: string,
  limitBytes: number,
): Promise<boolean> {
  const file = await opened(root, name, limitBytes);
  if (file === null) return false;
  const copy = await open(to, 'wx', 0o600).catch(async (error) => {
    await file.close();
    throw error;
  });
  try {
    for await (const piece of piecesOf(file, join(root, name), { bytes: limitBytes }))
      await copy.writeFile(piece);
  } finally {
    await copy.close();
  }
  return true;
}

/** Null when nothing is there; else open, and proved to be a plain file at its own place. Whoever reads it closes it. */
async function opened(root: string, name: string, limitBytes: number): Promise<FileHandle | null> {
  const path = join(root, name);
  const place = await placeOf(root, name);
  const folder = place && (await unlessMissing(realpath(dirname(path)), path));
  if (folder === null) return null;
  // Before it is opened, which has an effect on some devices, and after, when nobody can replace it any more.
  if (folder !== dirname(place ?? '')) throw new StrangeFile(`${path} is behind a link`);
  const file = await unlessMissing(open(path, FLAGS), path);
  if (file === null) return null;
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new StrangeFile(`${path} is not a plain file`);
    if (!(await isAt(file, path, place ?? ''))) throw new StrangeFile(`${path} is behind a link`);
    if (found.size > limitBytes)
      throw new StrangeFile(`${path} has ${found.size} bytes, more than ${limitBytes}`);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Without waiting for the other end of a pipe. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Where a path below a root has to be found, if there is no link on it; above the root is the operator's own affair. */
async function placeOf(root: string, name: string): Promise<string | null> {
  const above = await unlessMissing(realpath(dirname(root)), root);
  return above === null ? null : join(above, basename(root), name);
}

/** Linux tells it of what is open; elsewhere there is only the path to ask. */
async function isAt(file: FileHandle, path: string, place: string): Promise<boolean> {
  const told = await readlink(`/proc/self/fd/${file.fd}`).catch(() => realpath(path));
  return told === place || told === `${place} (deleted)`;
}

/** Reads to the end and closes it. What grows meanwhile is read no further than there is room. */
async function* piecesOf(file: FileHandle, path: string, room: { bytes: number }): AsyncGenerator<Buffer> {
  try {
    while (true) {
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      const { bytesRead } = await file.read(piece, 0, piece.length, null);
      if (bytesRead === 0) return;
      room.bytes -= bytesRead;
      if (room.bytes < 0) throw new StrangeFile(`${path} is more than may be read`);
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

async function unlessMissing<T>(asked: Promise<T>, path: string): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code === 'ELOOP' || code === 'EMLINK') throw new StrangeFile(`${path} is a link`);
    throw new StrangeFile(`${path} can't be read (${code})`, { cause: error });
  }
}
