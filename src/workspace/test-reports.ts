/**
 * The tests of one command, from what it reports: JUnit files it wrote into the tree it ran on, else TAP in its
 * output. Project code writes both, so no link is followed, sizes are bounded, and what can't be read whole is no report.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { readJUnit } from '../core/change/junit.ts';
import { readTap } from '../core/change/tap.ts';
import { type TestCase, type TestReport, testReport } from '../core/change/test-report.ts';
import { list, lstatOrNull, plainDirectories, readPlain } from './plain-files.ts';

interface Watched {
  tree: string;
  logPath: string;
  /** Where in the tree its reports are, as globs. */
  patterns: readonly string[];
}

const OUTPUT_LIMIT_BYTES = 32 * 1024 * 1024;
const FILE_LIMIT_BYTES = 8 * 1024 * 1024;
const MOST_FILES = 5000;
const MOST_FOLDERS = 20_000;

/** Begun before the command; the answer, after it: null when no report tells. */
export async function watchTestReports(watched: Watched): Promise<() => Promise<TestReport | null>> {
  const { tree, logPath, patterns } = watched;
  const from = lstatOrNull(logPath)?.size ?? 0;
  const before = await stamps(tree, patterns);
  return async () => {
    const after = await stamps(tree, patterns);
    if (before === null || after === null) return null;
    // A time of change can't be set back: a file that is as it was is of an earlier run.
    const written = [...after].filter(([path, stamp]) => before.get(path) !== stamp).map(([path]) => path);
    const cases = written.length > 0 ? readFiles(tree, written) : readOutput(logPath, from, tree);
    return cases && testReport(cases);
  };
}

function readFiles(tree: string, paths: readonly string[]): TestCase[] | null {
  const cases: TestCase[] = [];
  for (const path of paths.toSorted()) {
    const read = readOne(join(tree, path), tree);
    if (read === null) return null;
    cases.push(...read);
  }
  return cases;
}

function readOne(path: string, tree: string): TestCase[] | null {
  try {
    const xml = readPlain(path, FILE_LIMIT_BYTES);
    return xml === null ? null : readJUnit(xml, tree);
  } catch {
    return null;
  }
}

/** The log may have an earlier run in it. */
function readOutput(logPath: string, from: number, tree: string): TestCase[] | null {
  try {
    const file = openSync(logPath, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const length = fstatSync(file).size - from;
      if (length <= 0 || length > OUTPUT_LIMIT_BYTES) return null;
      const output = Buffer.alloc(length);
      return readTap(output.toString('utf8', 0, readSync(file, output, 0, length, from)), tree);
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}

/** Plain files at these paths, each with what changes when it is written; null when there are too many to tell. */
async function stamps(tree: string, patterns: readonly string[]): Promise<Map<string, string> | null> {
  const found = new Map<string, string>();
  let folders = 0;
  try {
    for (const pattern of patterns) await search(pattern);
    return found;
  } catch {
    return null;
  }

  async function search(pattern: string): Promise<void> {
    const parts = pattern.split('/');
    const fixed = parts.slice(0, -1);
    const wild = fixed.findIndex((part) => /[*?]/.test(part));
    const start = wild < 0 ? fixed : fixed.slice(0, wild);
    if (plainDirectories(tree, start) !== null) await walk(start.join('/'), asRegExp(pattern));
  }

  async function walk(folder: string, wanted: RegExp): Promise<void> {
    if (++folders > MOST_FOLDERS) throw new Error('too many folders');
    for (const entry of await list(join(tree, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && entry.name !== '.git') await walk(path, wanted);
      else if (entry.isFile() && wanted.test(path)) found.set(path, stampOf(join(tree, path)));
      if (found.size > MOST_FILES) throw new Error('too many files');
    }
  }
}

function stampOf(path: string): string {
  const { ino, size, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}

/** `*` and `?` within a name, a name `**` for any folders. */
function asRegExp(pattern: string): RegExp {
  const parts = pattern.split('/').map((part) => {
    if (part === '**') return '(?:[^/]+/)*';
    const escaped = part.replace(/[.+^${}()|[\]\\]/g, '\\$&');
    return `${escaped.replaceAll('*', '[^/]*').replaceAll('?', '[^/]')}/`;
  });
  return new RegExp(`^${parts.join('').replace(/\/$/, '')}$`);
}
