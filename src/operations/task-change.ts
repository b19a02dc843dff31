/** What a task changes, file by file: where its work stands, or what of it landed. */
import type { Context } from '../context.ts';
import { parsePatch } from '../core/change/patch.ts';
import type { Task } from '../core/task.ts';
import { UserError } from '../errors.ts';
import { gitRepository } from '../git/repository.ts';
import { findTask } from './reference.ts';

interface ChangeView {
  task: string;
  /** Null while there is nothing to compare. */
  base: string | null;
  head: string | null;
  files: {
    path: string;
    from: string | null;
    kind: 'added' | 'deleted' | 'modified';
    added: number;
    removed: number;
  }[];
  /** Of the file that was asked for; `isCut` when it goes on. */
  patch: string | null;
  isCut: boolean;
}

const MOST_CHARS = 1024 * 1024;

export async function showChange(
  context: Context,
  input: { task: string; file?: string | undefined },
): Promise<ChangeView> {
  const { task } = await findTask(await context.reading(), input.task);
  const between = await commitsOf(context, task);
  const none = { task: task.id, base: null, head: null, files: [], patch: null, isCut: false };
  if (!between) return none;
  const [base, head] = between;
  const files = parsePatch((await gitRepository(context.git).diff(base, head)).patch);
  const asked = input.file === undefined ? null : (files.find(({ path }) => path === input.file) ?? null);
  if (input.file !== undefined && !asked)
    throw new UserError(`Task ${task.id} does not change ${input.file}.`);
  return {
    task: task.id,
    base,
    head,
    files: files.map(({ path, from, kind, added, removed }) => ({
      path,
      from,
      kind,
      added: added.length,
      removed: removed.length,
    })),
    patch: asked ? asked.text.slice(0, MOST_CHARS) : null,
    isCut: (asked?.text.length ?? 0) > MOST_CHARS,
  };
}

/** Its branch may be gone; then what landed still tells. */
async function commitsOf({ git }: Context, task: Task): Promise<[string, string] | null> {
  const { baseSha, headSha, mergedSha } = task;
  const isHere = async (commit: string): Promise<boolean> =>
    (await git(['cat-file', '-e', `${commit}^{commit}`], { allow: [1, 128] })).exitCode === 0;
  const base = task.mergedIn ?? baseSha;
  if (base && headSha && (await isHere(base)) && (await isHere(headSha))) return [base, headSha];
  if (mergedSha && (await isHere(`${mergedSha}~1`))) return [`${mergedSha}~1`, mergedSha];
  return null;
}
