/**
 * The file a program may leave its result in. It was written by a stranger: links are not followed, nothing but an
 * ordinary file of bounded size is read, and the content is validated before anybody sees it.
 */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, type Stats } from 'node:fs';
import { z } from 'zod';
import { strangeJson } from '../core/text/strange-json.ts';
import { coderSummary } from '../core/words/turn-tools.ts';

const LIMIT_BYTES = 4 * 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

const count = z.number().int().nonnegative().nullish();

/** What a program may say went wrong, so that the loop waits for the right thing. */
const ERROR_CODES = ['rate_limit', 'usage_limit', 'overload', 'network', 'auth', 'try_later'] as const;

const programError = z
  .object({
    code: z.enum(ERROR_CODES, { error: `not one of ${ERROR_CODES.join(', ')}` }),
    message: z.string().nullish(),
    /** When to come again, if that is known. */
    retry_at: z.iso.datetime({ offset: true, error: 'not a time such as 2026-01-31T06:00:00Z' }).nullish(),
  })
  .transform(({ code, message, retry_at }) => ({
    code: code === 'try_later' ? ('overload' as const) : code,
    message: message || `it said ${code}`,
    retryAt: retry_at ? Date.parse(retry_at) : null,
  }));

const programResult = z.object({
  error: programError.nullish().transform((said) => said ?? null),
  text: z
    .string()
    .nullish()
    .transform((value) => value ?? null),
  structured: z.unknown().optional(),
  /** A coder's, of the work that it calls finished. */
  summary: coderSummary.nullish().transform((said) => said ?? null),
  usage: z
    .object({ input: count, output: count, cacheRead: count, cacheWrite: count, reasoning: count })
    .nullish()
    .transform((said) => {
      // Under names that are not ours nothing was said about it, in particular not that nothing was used.
      if (!said || Object.values(said).every((one) => one == null)) return null;
      const { input, output, cacheRead, cacheWrite, reasoning } = said;
      return {
        input: input ?? 0,
        output: output ?? 0,
        cacheRead: cacheRead ?? 0,
        cacheWrite: cacheWrite ?? 0,
        reasoning: reasoning ?? 0,
      };
    }),
  costUsd: z
    .number()
    .nonnegative()
    .nullish()
    .transform((value) => value ?? null),
});
type ProgramResult = z.infer<typeof programResult>;

export type ResultReading =
  | { status: 'absent' }
  | { status: 'invalid'; problem: string }
  | { status: 'read'; result: ProgramResult };

/** `path` must be canonical, so that a link anywhere on it shows. */
export function readResult(path: string): ResultReading {
  try {
    const parsed = programResult.safeParse(strangeJson(contentOf(path)));
    if (parsed.success) return { status: 'read', result: parsed.data };
    const issue = parsed.error.issues[0];
    return { status: 'invalid', problem: `${issue?.path.join('.') || 'the whole'}: ${issue?.message}` };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { status: 'absent' };
    return { status: 'invalid', problem: (error as Error).message };
  }
}

function contentOf(path: string): string {
  // O_NONBLOCK: a named pipe in its place must not keep us waiting for a writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = opened(path, flags);
  try {
    if (realpathSync.native(path) !== path) throw new Error('its directory was replaced by a link');
    const { size, nlink } = refuseUnlessFile(fstatSync(file));
    if (nlink > 1) throw new Error('it is a hard link to another file');
    if (size > LIMIT_BYTES) throw new Error(`it has ${size} bytes, more than ${LIMIT_BYTES}`);
    const pieces: Buffer[] = [];
    for (let length = 0, read = -1; read !== 0; length += read) {
      if (length > LIMIT_BYTES) throw new Error(`it has more than ${LIMIT_BYTES} bytes`);
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      read = readSync(file, piece);
      pieces.push(piece.subarray(0, read));
    }
    return Buffer.concat(pieces).toString('utf8');
  } finally {
    closeSync(file);
  }
}

function opened(path: string, flags: number): number {
  try {
    return openSync(path, flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP' || code === 'EMLINK') throw new Error('it is a symbolic link');
    if (code === 'ENXIO') throw new Error('it is not a regular file');
    throw error;
  }
}

function refuseUnlessFile(stats: Stats): Stats {
  if (!stats.isFile()) throw new Error('it is not a regular file');
  return stats;
}
