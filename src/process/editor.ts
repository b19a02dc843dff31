/** The operator's own editor, on their own terminal and with their own environment. */
import { spawnSync } from 'node:child_process';
import { UserError } from '../errors.ts';

/** Returns when it was closed. `$EDITOR` may have arguments, as git has it. */
export function openEditor(path: string): void {
  const editor = process.env.VISUAL || process.env.EDITOR;
  if (!editor) throw new UserError('There is no editor: $EDITOR is not set.', 'Set it, or give --file.');
  const { status, signal } = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit' });
  if (status !== 0) throw new UserError(`The editor (${editor}) ended with ${status ?? signal}.`);
}
