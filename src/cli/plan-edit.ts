/** `plan edit`: the text goes through the operator's editor; what could not be stored is kept for them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Context } from '../context.ts';
import { UserError } from '../errors.ts';
import { perform, type Result } from '../operations.ts';
import { textFrom } from './arguments.ts';

type Edited = Result<'plan.edit'>;

export function editPlan(
  context: Context,
  plan: string,
  { file, edit }: { file: string | undefined; edit: (path: string) => Promise<void> },
): Promise<Edited> {
  if (file === undefined) return inEditor(context, plan, edit);
  return perform(context, 'plan.edit', { plan, text: textFrom({ bodyFile: file }), file });
}

async function inEditor(
  context: Context,
  reference: string,
  edit: (path: string) => Promise<void>,
): Promise<Edited> {
  const { id, name, text } = await perform(context, 'plan.show', { plan: reference });
  const path = join(mkdtempSync(join(tmpdir(), 'forge-plan-')), `${name}.md`);
  writeFileSync(path, text);
  try {
    await edit(path);
    const edited = await perform(context, 'plan.edit', {
      plan: id,
      text: readFileSync(path, 'utf8'),
      file: path,
    });
    rmSync(dirname(path), { recursive: true, force: true });
    return edited;
  } catch (problem) {
    if (!(problem instanceof UserError)) throw problem;
    const again = `Your text is kept: fix it, then \`forge-loop plan edit ${id} --file ${path}\`.`;
    throw new UserError(problem.message, [problem.hint, again].filter(Boolean).join('\n'), {
      cause: problem,
    });
  }
}
