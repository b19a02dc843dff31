/**
 * A folder of Markdown files, read again only where something changed.
 *
 * A file whose identity, size and times are those of the last look is not opened. One that was written within the
 * clock's grain of that look could have changed again unseen, so it is read once more.
 */
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { BadMarkdown } from './markdown.ts';

export interface Look<T> {
  /** In the order of their names. */
  files: ReadonlyMap<string, T>;
  bad: readonly BadFile[];
}

export interface BadFile {
  name: string;
  line: number;
  problem: string;
}

export interface Folder<T> {
  readonly path: string;
  /** The same object as before when nothing changed. */
  look(): Look<T>;
  /** Is this file still what the last look found? */
  isCurrent(name: string): boolean;
}

/** `parse` throws BadMarkdown for a file it can't make sense of; the others are not affected. */
export function openFolder<T>(
  path: string,
  accepts: (name: string) => boolean,
  parse: (name: string, text: string, stat: Stats) => T,
): Folder<T> {
  type Seen = { stat: Stats; settled: boolean; value: T | null; bad: BadFile | null };
  let seen = new Map<string, Seen>();
  let last: Look<T> | null = null;

  const read = (name: string, stat: Stats): Seen => {
    const settled = Date.now() - stat.ctimeMs > GRAIN_MS;
    try {
      const text = decode(readFileSync(join(path, name)));
      return { stat, settled, value: parse(name, text, stat), bad: null };
    } catch (error) {
      // A file that can't be read at all (permissions, gone this instant) is as bad as one that makes no sense.
      const line = error instanceof BadMarkdown ? error.line : 1;
      return { stat, settled, value: null, bad: { name, line, problem: (error as Error).message } };
    }
  };

  const look = (): Look<T> => {
    const now = new Map<string, Seen>();
    let changed = last === null;
    for (const name of names(path)) {
      if (!accepts(name)) continue;
      const stat = statSync(join(path, name), { throwIfNoEntry: false });
      if (!stat?.isFile()) continue;
      const before = seen.get(name);
      const same = before?.settled && isSame(before.stat, stat);
      changed ||= !same;
      now.set(name, same ? before : read(name, stat));
    }
    changed ||= now.size !== seen.size;
    seen = now;
    if (changed || last === null) {
      const files = new Map<string, T>();
      const bad: BadFile[] = [];
      for (const [name, one] of [...now].sort(([a], [b]) => (a < b ? -1 : 1))) {
        if (one.value !== null) files.set(name, one.value);
        if (one.bad) bad.push(one.bad);
      }
      last = { files, bad };
    }
    return last;
  };

  const isCurrent = (name: string): boolean => {
    const before = seen.get(name);
    const stat = statSync(join(path, name), { throwIfNoEntry: false });
    return before !== undefined && stat !== undefined && before.settled && isSame(before.stat, stat);
  };
  return { path, look, isCurrent };
}

const GRAIN_MS = 100;

function names(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return [];
  }
}

function isSame(a: Stats, b: Stats): boolean {
  return a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.size === b.size && a.ino === b.ino;
}

/** Text we could not write back as it was is refused, not repaired. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new BadMarkdown(1, 'the file is not UTF-8 text');
  }
}
