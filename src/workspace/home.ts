/**
 * A private home, with entries of the operator's offered in it by name: a small file as a copy, a folder as a link. A
 * copy can't be written through; a link can, until a sandbox keeps it from that.
 *
 * Project code writes here, so nothing is reached through a link it may have planted: what stands in the way of an
 * offer, or of the folders above it, is replaced. What was offered is noted beside the home, so that an offer which is
 * taken back is gone from homes that had it, and is not kept with what a setup made.
 *
 * An entry in a folder of the operator's that agents may write to could have been made a link to anything: what leads out of there
 * is not offered.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  constants,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import {
  type ChildPolicy,
  CREDENTIAL_ENTRIES,
  isWithin,
  TOOLCHAIN_ENTRIES,
} from '../core/access/toolchains.ts';
import { lstatOrNull, readPlain, replacePlain } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';

const COPY_LIMIT_BYTES = 1024 * 1024;

/** Idempotent, and a few looks at the file system where all is in place. `stays`: whether no agent has led a path elsewhere. */
export async function prepareHome(
  home: string,
  { home: whose, homeEntries }: Pick<ChildPolicy, 'home' | 'homeEntries'>,
  operatorHome: string,
  stays: (path: string) => boolean,
): Promise<string[]> {
  mkdirSync(dirname(home), { recursive: true, mode: 0o700 });
  await ownDirectory(dirname(home), [basename(home)]);
  const wanted = whose === 'private' ? outermost(homeEntries) : [];
  const offers = wanted.flatMap((entry) => {
    const found = stays(join(operatorHome, entry)) ? sourceOf(operatorHome, entry) : null;
    return found === null ? [] : [{ entry, ...found }];
  });
  const names = offers.map(({ entry }) => entry);
  const before = offersIn(home);
  const withdrawn = before.filter((entry) => !names.includes(entry));
  await takeBack(home, withdrawn);
  // Noted before they are made: what a crash leaves is then known as offered.
  if (String(before) !== String(names)) replacePlain(noteOf(home), JSON.stringify(names));
  const linked: string[] = [];
  for (const { entry, from, stats } of offers) {
    const parts = entry.split('/');
    await ownDirectory(home, parts.slice(0, -1));
    if (stats.isDirectory() || stats.size > COPY_LIMIT_BYTES) {
      await offerLink(join(home, entry), from);
      linked.push(from);
    } else await offerCopy(join(home, entry), from, stats);
  }
  return whose === 'operator' ? [realpathSync.native(operatorHome)] : linked;
}

/**
 * What was offered in this home, as paths in it. Where the note can't be read (after a power loss it may be there without
 * what was written to it), all that is known to be offered anywhere.
 */
export function offersIn(home: string): string[] {
  const text = readPlain(noteOf(home), COPY_LIMIT_BYTES);
  if (text === null) return [];
  try {
    return z.array(z.string()).parse(JSON.parse(text));
  } catch {
    return [...TOOLCHAIN_ENTRIES, ...CREDENTIAL_ENTRIES];
  }
}

/** Removes offers from a home, or from a copy of one. */
export async function takeBack(home: string, entries: readonly string[]): Promise<void> {
  for (const entry of entries) {
    const parts = entry.split('/');
    // Below a link, or something else that is no folder, is nothing of ours.
    const isOurs = parts.slice(0, -1).every((_, index) => {
      const above = lstatOrNull(join(home, ...parts.slice(0, index + 1)));
      return above?.isDirectory() ?? false;
    });
    if (isOurs) await removeTree(join(home, entry));
  }
}

const noteOf = (home: string): string => `${home}.offers.json`;

/** An entry below another one is offered with it. */
const outermost = (entries: readonly string[]): string[] =>
  entries.filter((entry) => !entries.some((other) => other !== entry && isWithin(entry, other)));

/** The operator may well keep an entry behind a link of their own. */
function sourceOf(operatorHome: string, entry: string): { from: string; stats: Stats } | null {
  try {
    const from = realpathSync.native(join(operatorHome, entry));
    const stats = statSync(from);
    return stats.isDirectory() || stats.isFile() ? { from, stats } : null;
  } catch {
    return null;
  }
}

/** Each of these directories, one inside the other, is a real one. */
async function ownDirectory(start: string, parts: readonly string[]): Promise<void> {
  for (let depth = 1; depth <= parts.length; depth++) {
    const path = join(start, ...parts.slice(0, depth));
    const found = lstatOrNull(path);
    if (found?.isDirectory()) continue;
    if (found !== null) await removeTree(path);
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }
}

async function offerLink(path: string, from: string): Promise<void> {
  const found = lstatOrNull(path);
  if (found?.isSymbolicLink() && readlinkSync(path) === from) return;
  if (found?.isDirectory()) await removeTree(path);
  const beside = besides(path);
  symlinkSync(from, beside);
  renameSync(beside, path);
}

async function offerCopy(path: string, from: string, { mode }: Stats): Promise<void> {
  const content = readFileSync(from);
  const found = lstatOrNull(path);
  if (found?.isFile() && found.size === content.length && isSame(path, content)) return;
  if (found?.isDirectory()) await removeTree(path);
  const beside = besides(path);
  writeFileSync(beside, content, { flag: 'wx', mode: 0o600 });
  if (mode & constants.S_IXUSR) chmodSync(beside, 0o700);
  renameSync(beside, path);
}

const isSame = (path: string, content: Buffer): boolean =>
  readPlain(path, COPY_LIMIT_BYTES) === content.toString('utf8');

const besides = (path: string): string => `${path}.${randomBytes(6).toString('hex')}.new`;
