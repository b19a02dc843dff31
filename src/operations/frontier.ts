/** The stated direction: what the loop reads of `.forge/frontier.yaml`, and a new text for it. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FRONTIER_SCAFFOLD, frontierProblem, type ReadFrontier, readFrontier } from '../config/frontier.ts';
import type { Context } from '../context.ts';
import type { Frontier } from '../core/direction/frontier.ts';
import { UserError } from '../errors.ts';

interface ShownFrontier extends Frontier {
  path: string;
  /** False where nobody wrote the file yet. */
  isWritten: boolean;
  problems: { line: number; level: 'error' | 'warning'; text: string; hint: string | null }[];
  /** The file as it stands, or what a new one says. */
  text: string;
}

const pathOf = (context: Context): string => join(context.forgeDir, 'frontier.yaml');

export async function showFrontier(context: Context): Promise<ShownFrontier> {
  const text = await readFile(pathOf(context), 'utf8').catch(() => null);
  return shown(context, await context.frontier(), text);
}

/** Refused with an error in it, where the loop would leave something out: nobody writes that on purpose. */
export async function editFrontier(
  context: Context,
  { text, file }: { text: string; file: string },
): Promise<ShownFrontier> {
  const read = readFrontier(text);
  const errors = read.problems.filter(({ level }) => level === 'error');
  if (errors.length > 0)
    throw new UserError(
      errors.map(({ line, text: said }) => `${file}:${line}: ${said}`).join('\n'),
      'Nothing was changed.',
    );
  const path = pathOf(context);
  await context.excludeForge();
  await mkdir(dirname(path), { recursive: true });
  // A loop that reads it now has all of the old text or all of the new one.
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
  return shown(context, read, text);
}

function shown(context: Context, { frontier, problems }: ReadFrontier, text: string | null): ShownFrontier {
  return {
    path: pathOf(context),
    isWritten: text !== null,
    ...frontier,
    problems: problems.map(({ line, level, text: said, hint }) => ({ line, level, text: said, hint })),
    text: text ?? FRONTIER_SCAFFOLD,
  };
}

/** For doctor: each is a warning, since the loop goes on without. */
export const frontierProblems = async (context: Context): Promise<{ what: string; fix: string }[]> =>
  (await context.frontier()).problems.map((one) => ({
    what: frontierProblem({ ...one, hint: null }),
    fix: one.hint ?? 'Correct it with `forge-loop frontier edit`.',
  }));
