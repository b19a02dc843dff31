/**
 * What is kept of a program's turn, so that whoever did not hear it end can still tell what it came to: its result, how it
 * exited, and the usage it was told to have had. Only the folder of the result is the program's; the rest is beside it,
 * where a confined one can't write. It stays until the session's next turn.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { TurnRequest, UsageReport } from './agent.ts';
import { removeLeft, replaceFile } from './replace-file.ts';
import { usageReport } from './usage-report.ts';

export interface TurnRecord {
  /** Canonical, so that a link anywhere on it shows. */
  resultPath: string;
  exitPath: string;
  /** Names this run of the turn: one that is run again under its number is another. */
  launch: string;
  /** Every delta of its usage so far. */
  reported: readonly UsageReport[];
  /** Writes one down before anybody hears of it. */
  report(delta: UsageReport): void;
}

type Kept = Pick<TurnRequest, 'sessionDir' | 'number' | 'logPath'>;

/** Of a turn that is about to begin; what was kept of earlier ones goes. */
export function newRecord(turn: Kept): TurnRecord {
  const folder = folderOf(turn);
  removeLeft(dirname(folder));
  mkdirSync(join(folder, 'result'), { recursive: true, mode: 0o700 });
  const launch = randomBytes(6).toString('hex');
  const kept = { launch, logAt: statOrNull(turn.logPath)?.size ?? 0, reported: [] };
  keep(folder, kept);
  return recordIn(folder, kept);
}

/** Null when there is none of this turn. */
export function keptRecord(turn: Kept): (TurnRecord & Exit) | null {
  const folder = folderOf(turn);
  const kept = keptFile.safeParse(jsonIn(join(folder, 'kept.json'))).data;
  if (!kept) return null;
  const record = recordIn(folder, kept);
  const exit = exitFile.safeParse(jsonIn(record.exitPath)).data;
  const endedAt = statOrNull(record.exitPath)?.mtimeMs;
  if (!exit || endedAt === undefined) return null;
  return { ...record, code: exit.code, endedAt, tail: endOf(turn.logPath, kept.logAt) };
}

/** How a program ended. */
interface Exit {
  code: number;
  endedAt: number;
  /** The last it said. */
  tail: string;
}

function recordIn(folder: string, kept: z.output<typeof keptFile>): TurnRecord {
  const { launch } = kept;
  const reported = [...kept.reported];
  const real = realpathSync.native(folder);
  return {
    resultPath: join(real, 'result', 'result.json'),
    exitPath: join(real, 'exit.json'),
    launch,
    reported,
    report(delta) {
      reported.push(delta);
      keep(folder, { ...kept, reported });
    },
  };
}

const keep = (folder: string, kept: z.output<typeof keptFile>): void =>
  replaceFile(join(folder, 'kept.json'), JSON.stringify(kept));

const folderOf = ({ sessionDir, number }: Kept): string =>
  join(dirname(sessionDir), `${basename(sessionDir)}-results`, String(number));

const keptFile = z
  .object({
    launch: z.string(),
    /** Where its output begins in the log, which an earlier run of the turn may have begun. */
    logAt: z.int().nonnegative(),
    reported: z.array(usageReport).optional(),
    /** What older versions call it. */
    told: z.array(usageReport).optional(),
  })
  .transform(({ launch, logAt, told = [], reported = told }) => ({ launch, logAt, reported }));
const exitFile = z.object({ code: z.int() });

function jsonIn(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** What lies there may be the program's: a loop of links, or a folder nobody may enter, is nothing either. */
export function statOrNull(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

const TAIL_BYTES = 16 * 1024;

function endOf(logPath: string, from: number): string {
  if (!statOrNull(logPath)) return '';
  const file = openSync(logPath, 'r');
  try {
    const { size } = fstatSync(file);
    const start = Math.max(from, size - TAIL_BYTES);
    const piece = Buffer.alloc(Math.max(0, size - start));
    return piece.toString('utf8', 0, readSync(file, piece, 0, piece.length, start)).replace(/^\uFFFD+/, '');
  } finally {
    closeSync(file);
  }
}
