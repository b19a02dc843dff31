/** `plan edit`: the text goes through the operator's editor, or comes from a file. */
import type { Context } from '../context.ts';
import { perform, type Result } from '../operations.ts';
import { textFrom } from './arguments.ts';
import { inEditor } from './in-editor.ts';

export async function editPlan(
  context: Context,
  plan: string,
  { file, edit }: { file: string | undefined; edit: (path: string) => Promise<void> },
): Promise<Result<'plan.edit'>> {
  if (file !== undefined)
    return perform(context, 'plan.edit', { plan, text: textFrom({ bodyFile: file }), file });
  const { id, name, text } = await perform(context, 'plan.show', { plan });
  return inEditor(text, {
    name: `${name}.md`,
    edit,
    store: (edited, path) => perform(context, 'plan.edit', { plan: id, text: edited, file: path }),
    again: (path) => `forge-loop plan edit ${id} --file ${path}`,
  });
}
