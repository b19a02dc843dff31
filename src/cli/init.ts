/** `init`: asks on a terminal, takes the options as they are elsewhere. */
import { existsSync } from 'node:fs';
import type { Context } from '../context.ts';
import { proposedGate, proposedTracker, proposedTrunk } from '../operations/init.ts';
import { perform } from '../operations.ts';
import type { Session } from './commands.ts';

export async function initialise(
  { context, terminal }: Session,
  options: Record<string, unknown>,
): Promise<number> {
  const { agent, command, script, gate, tracker, trunk, createLabels } = options;
  const canAsk = Boolean(process.stdin.isTTY) && terminal.isTty && !terminal.json;
  const isAsked = canAsk && !options.yes && !existsSync(context.configPath);
  const given = { agent, command, script, gate, tracker, trunk, createLabels };
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
  const { text, select, confirm, isCancel, intro, outro } = await import('@clack/prompts');
  intro('forge-loop');
  const agent =
    given.agent ??
    (given.command !== undefined
      ? 'command'
      : await select({
          message: 'Which agent does the work?',
          options: [
            {
              value: 'claude',
              label: 'Claude',
              hint: 'through its Agent SDK, which you install beside forge-loop',
            },
            { value: 'codex', label: 'Codex', hint: 'through `codex app-server`' },
            { value: 'opencode', label: 'OpenCode', hint: 'through a server of its own' },
            { value: 'acp', label: 'Another that speaks ACP', hint: 'a preset or a command' },
            { value: 'command', label: 'any other program', hint: 'it gets the prompt on stdin' },
          ],
        }));
  if (isCancel(agent)) return null;
  const command =
    given.command ??
    (agent === 'command'
      ? await text({
          message: 'Which shell command runs your agent? It gets the prompt on stdin.',
          placeholder: 'my-agent --headless (leave empty to fill it in later)',
        })
      : undefined);
  if (isCancel(command)) return null;
  const proposal = (await proposedGate(context)).commands;
  const gate =
    given.gate ??
    (await text({
      message: 'Which command must pass before anything is merged?',
      // Not a value to begin with: what one types then would be added to it.
      placeholder: proposal.join(' && ') || 'npm test (leave empty to fill it in later)',
      defaultValue: proposal.join(' && '),
    }));
  if (isCancel(gate)) return null;
  const isOnGitHub = (await proposedTracker(context)) === 'github';
  const tracker =
    given.tracker ??
    (isOnGitHub
      ? await select({
          message: 'Where are the issues and pull requests?',
          options: [
            { value: 'github', label: 'on GitHub' },
            { value: 'local', label: 'in this repository', hint: 'Markdown files under .forge/' },
          ],
        })
      : undefined);
  if (isCancel(tracker)) return null;
  const branch = (await proposedTrunk(context)) ?? '';
  const trunk =
    given.trunk ??
    (await text({
      message: 'Which branch does work start from and land on?',
      placeholder: branch,
      defaultValue: branch,
      validate: (name) =>
        name?.trim() || branch ? undefined : 'Name a branch: HEAD is detached, so none is proposed.',
    }));
  if (isCancel(trunk)) return null;
  const createLabels =
    given.createLabels ??
    (tracker === 'github'
      ? await confirm({ message: 'Make the labels of the loop there (loop:ready and six others)?' })
      : undefined);
  if (isCancel(createLabels)) return null;
  outro('Thank you.');
  const isProposal = gate === proposal.join(' && ');
  const commands = typeof gate === 'string' ? [gate].filter((one) => one.trim() !== '') : gate;
  return {
    ...given,
    agent,
    command: command || undefined,
    gate: isProposal ? undefined : commands,
    tracker,
    trunk,
    createLabels,
  };
}
