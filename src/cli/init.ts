/** `init`: asks on a terminal, takes the options as they are elsewhere. */
import { existsSync } from 'node:fs';
import type { Context } from '../context.ts';
import { proposedGate } from '../operations/init.ts';
import { perform } from '../operations.ts';
import type { Session } from './commands.ts';

export async function initialise(
  { context, terminal }: Session,
  options: Record<string, unknown>,
): Promise<number> {
  const { agent, command, script, gate, tracker, createLabels } = options;
  const canAsk = Boolean(process.stdin.isTTY) && terminal.isTty && !terminal.json;
  const isAsked = canAsk && !options.yes && !existsSync(context.configPath);
  const given = { agent, command, script, gate, tracker, createLabels };
  const choices = isAsked ? await askFor(context, given) : given;
  if (!choices) {
    terminal.note('Nothing was written.');
    return 1;
  }
  const made = await perform(context, 'init', choices);
  const { TEXT } = await import('./text.ts');
  terminal.print(terminal.json ? JSON.stringify(made, null, 2) : TEXT.init(made, terminal));
  return 0;
}

/** Null when the person gave up. */
async function askFor(
  context: Context,
  given: Record<string, unknown>,
): Promise<Record<string, unknown> | null> {
  const { text, isCancel, intro, outro } = await import('@clack/prompts');
  intro('forge-loop');
  const command =
    given.command ??
    (given.agent === 'command'
      ? await text({
          message: 'Which shell command runs your agent? It gets the prompt on stdin.',
          placeholder: 'my-agent --headless (leave empty to fill it in later)',
        })
      : undefined);
  if (isCancel(command)) return null;
  const proposal = proposedGate(context);
  const gate =
    given.gate ??
    (await text({
      message: 'Which command must pass before anything is merged?',
      placeholder: 'npm test',
      initialValue: proposal.join(' && '),
    }));
  if (isCancel(gate)) return null;
  outro('Thank you.');
  const isProposal = gate === proposal.join(' && ');
  const commands = typeof gate === 'string' ? [gate].filter((one) => one.trim() !== '') : gate;
  return { ...given, command: command || undefined, gate: isProposal ? undefined : commands };
}
