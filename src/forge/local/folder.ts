/**
 * A folder of Markdown files, read again only where something changed.
 *
 * A file whose identity, size and times are those of the last look is not opened. One that was written within the
 * clock's grain of that look could have changed again unseen, so it is read once more.
 */
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { BadMarkdown } from '../../front-matter.ts';

export interface Look<T> {
  /** In the order of their names. */
  files: ReadonlyMap<string, T>;
  bad: readonly BadFile[];
}

interface BadFile {
  name: string;
  line: number;
  problem: string;
}

interface Folder<T> {
  readonly path: string;
  /** The same object as before when nothing changed. */
  look(): Look<T>;
  /** What the last look found in this file, while that is still so; null when it takes another look. */
  unchanged(name: string): T | null;
}

/** `parse` throws BadMarkdown for a file it can't make sense of; the others are not affected. */
export function openFolder<T>(
  path: string,
  accepts: (name: string) => boolean,
  parse: (name: string, text: string, stat: Stats) => T,
): Folder<T> {
  type Seen = {
    stat: Stats;
    settled: boolean;
    /** Kept as long as it may have to be compared. */
    text: string | null;
    value: T | null;
    bad: BadFile | null;
  };
  let seen = new Map<string, Seen>();
  let last: Look<T> | null = null;

  const read = (name: string, stat: Stats, before: Seen | undefined): Seen => {
    const settled = Date.now() - stat.ctimeMs > GRAIN_MS;
    try {
      const found = decode(readFileSync(join(path, name)));
      const text = settled ? null : found;
      if (before?.text === found && isSame(before.stat, stat))
        return Object.assign(before, { settled, text });
      return { stat, settled, text, value: parse(name, found, stat), bad: null };
    } catch (error) {
      // A file that can't be read at all (permissions, gone this instant) is as bad as one that makes no sense.
      const line = error instanceof BadMarkdown ? error.line : 1;
      const bad = { name, line, problem: (error as Error).message };
      return { stat, settled, text: null, value: null, bad };
    }
  };

  /** What is known of the file, read again where it may have changed. */
  const current = (name: string): Seen | null => {
    const stat = statSync(join(path, name), { throwIfNoEntry: false });
    if (!stat?.isFile()) return null;
    const before = seen.get(name);
    return before?.settled && isSame(before.stat, stat) ? before : read(name, stat, before);
  };

  const look = (): Look<T> => {
    const now = new Map<string, Seen>();
    let changed = last === null;
    for (const name of names(path)) {
      if (!accepts(name)) continue;
      const one = current(name);
      if (!one) continue;
      changed ||= one !== seen.get(name);
      now.set(name, one);
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

  const unchanged = (name: string): T | null => {
    const before = seen.get(name);
    return before && current(name) === before ? before.value : null;
  };
  return { path, look, unchanged };
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
