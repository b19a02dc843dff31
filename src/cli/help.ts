/** What stands below a command's options: wrapped as the rest of its help is. */
import type { AddHelpTextContext, Command } from 'commander';
import { wrapped } from './layout.ts';

export const below =
  (text: string) =>
  ({ command }: AddHelpTextContext): string =>
    wrapped(`\n${text}`, command.configureOutput().getOutHelpWidth?.() ?? WIDTH, HANG);

/** Commander's own, where nobody says how wide the screen is. */
const WIDTH = 80;
const HANG = 4;

/** Commander would rather not wrap than have fewer columns than this for a description. */
export const LEAST_COLUMNS = 20;

const CARE = 'Set up and maintain:';

/** The help lists commands by what a person wants to do. */
export const COMMAND_GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Work:': ['init', 'demo', 'run', 'pause', 'resume', 'stop'],
  'Look:': 'morning why status watch dashboard report cost events logs replay brief boot'.split(' '),
  'Steer:': ['issue', 'task', 'attach', 'findings', 'plan', 'loop', 'pull', 'frontier'],
  [CARE]: [
    ...['doctor', 'config', 'notify', 'service', 'mcp', 'completion', 'refresh', 'recover'],
    ...['backup', 'restore', 'gc', 'prune', 'uninstall'],
  ],
};

export function group(program: Command): void {
  for (const [heading, names] of Object.entries(COMMAND_GROUPS))
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading);
  // Of `help`, which Commander adds.
  program.commandsGroup(CARE);
}
