/** `task export`: the file is written here, where the person is who named it. */
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { UserError, whyUnreadable } from '../errors.ts';
import { perform } from '../operations.ts';
import type { Session } from './commands.ts';

export async function writeExport(
  { context, terminal }: Session,
  task: string,
  output: string | undefined,
): Promise<number> {
  const exported = await perform(context, 'task.export', { task });
  const text = JSON.stringify(exported);
  if (output === '-') {
    terminal.print(text);
    return 0;
  }
  const file = output ?? `forge-loop-${exported.row.id}.json.gz`;
  try {
    writeFileSync(file, file.endsWith('.json') ? text : gzipSync(text), { flag: 'wx', mode: 0o600 });
  } catch (cause) {
    const isThere = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    const why = isThere ? 'it already exists' : whyUnreadable(cause as Error);
    throw new UserError(`${file} can't be written: ${why}`, 'Name another one with --output.', { cause });
  }
  const bare = exported.events.length;
  terminal.print(
    terminal.json
      ? JSON.stringify({ file, events: bare })
      : `Wrote ${file}: ${bare} events. It has the issue's text, prompts and diffs: look at it before you share it.\nReplay it with \`forge-loop replay ${file}\`.`,
  );
  return 0;
}
