/**
 * The file a program may leave its result in. It was written by a stranger: links are not followed, nothing but an
 * ordinary file of bounded size is read, and the content is validated before anybody sees it.
 */
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { z } from 'zod';

const LIMIT_BYTES = 4 * 1024 * 1024;

const count = z.number().int().nonnegative().nullish();

const programResult = z.object({
  text: z
    .string()
    .nullish()
    .transform((value) => value ?? null),
  structured: z.unknown().optional(),
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
export type ProgramResult = z.infer<typeof programResult>;

export type ResultReading =
  | { status: 'absent' }
  | { status: 'invalid'; problem: string }
  | { status: 'read'; result: ProgramResult };

/** `path` must be canonical, so that a link anywhere on it shows. */
export async function readResult(path: string): Promise<ResultReading> {
  try {
    const parsed = programResult.safeParse(JSON.parse(await contentOf(path)));
    if (parsed.success) return { status: 'read', result: parsed.data };
    const issue = parsed.error.issues[0];
    return { status: 'invalid', problem: `${issue?.path.join('.') || 'the whole'}: ${issue?.message}` };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { status: 'absent' };
    return { status: 'invalid', problem: (error as Error).message };
  }
}

async function contentOf(path: string): Promise<string> {
  // O_NONBLOCK: a named pipe in its place must not keep us waiting for a writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ELOOP' || error.code === 'EMLINK') throw new Error('it is a symbolic link');
    if (error.code === 'ENXIO') throw new Error('it is not a regular file');
    throw error;
  });
  try {
    if ((await realpath(path)) !== path) throw new Error('its directory was replaced by a link');
    const { size, nlink } = await file.stat().then(refuseUnlessFile);
    if (nlink > 1) throw new Error('it is a hard link to another file');
    if (size > LIMIT_BYTES) throw new Error(`it has ${size} bytes, more than ${LIMIT_BYTES}`);
    const buffer = Buffer.alloc(LIMIT_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      ({ bytesRead: read } = await file.read(buffer, length, buffer.length - length));
    }
    if (length > LIMIT_BYTES) throw new Error(`it has more than ${LIMIT_BYTES} bytes`);
    return buffer.toString('utf8', 0, length);
  } finally {
    await file.close();
  }
}

function refuseUnlessFile<S extends { isFile(): boolean }>(stats: S): S {
  if (!stats.isFile()) throw new Error('it is not a regular file');
  return stats;
}
