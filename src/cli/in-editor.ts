/** A text goes through the operator's editor; one that could not be stored is kept for them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { UserError } from '../errors.ts';

export async function inEditor<T>(
  text: string,
  {
    name,
    edit,
    store,
    again,
  }: {
    /** Of the file that the editor opens. */
    name: string;
    edit: (path: string) => Promise<void>;
    store: (text: string, path: string) => Promise<T>;
    /** The command that stores the file after it was corrected. */
    again: (path: string) => string;
  },
): Promise<T> {
  const path = join(mkdtempSync(join(tmpdir(), 'forge-edit-')), name);
  writeFileSync(path, text);
  try {
    await edit(path);
    const stored = await store(readFileSync(path, 'utf8'), path);
    rmSync(dirname(path), { recursive: true, force: true });
    return stored;
  } catch (problem) {
    if (!(problem instanceof UserError)) throw problem;
    const kept = `Your text is kept: fix it, then \`${again(path)}\`.`;
    throw new UserError(problem.message, [problem.hint, kept].filter(Boolean).join('\n'), { cause: problem });
  }
}
