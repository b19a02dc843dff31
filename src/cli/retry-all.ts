/** `task retry --reason`: shows what it would do and asks on a terminal; elsewhere, and with `--yes`, it does it. */
import { perform } from '../operations.ts';
import type { Session } from './commands.ts';
import { TEXT } from './text.ts';

export async function retryByReason(
  { context, terminal }: Session,
  { reason, yes }: { reason: string; yes: boolean },
): Promise<number> {
  const canAsk = Boolean(process.stdin.isTTY) && terminal.isTty && !terminal.json;
  if (canAsk && !yes) {
    const preview = await perform(context, 'task.retry_all', { reason, preview: true });
    terminal.print(TEXT['task.retry_all'](preview, terminal));
    if (preview.issues.length === 0) return 0;
    const { confirm } = await import('@clack/prompts');
    if ((await confirm({ message: 'Start them?' })) !== true) {
      terminal.note('Nothing was started.');
      return 1;
    }
  }
  const done = await perform(context, 'task.retry_all', { reason });
  terminal.print(terminal.json ? JSON.stringify(done, null, 2) : TEXT['task.retry_all'](done, terminal));
  return 0;
}
